"""
Every extra brings what its adapter needs, alone; without it, an error says which one is missing. Run by `make extras`.
"""

import pytest

from tests.packaging.environments import Environment
from tests.packaging.extras import ON_A_SERVER, TOOLS, USES, extras, modules_that_need, use_of


def test_every_extra_is_used_or_says_why_not():
    """An extra that is added is tested by what needs it, or has a reason in TOOLS."""
    unknown = [extra for extra in extras() if extra not in TOOLS and not modules_that_need(extra)]

    assert unknown == [], "say 'Needs the extra ``name``' in the first lines of a module, or why not in TOOLS"
    assert [extra for extra in TOOLS if modules_that_need(extra)] == []
    assert set(USES) | ON_A_SERVER <= set(extras())


def _on_a_server(extra: str, request: pytest.FixtureRequest) -> dict[str, str]:
    """Where the server is that the use of *extra* needs; without one the test is skipped and says so."""
    if extra not in ON_A_SERVER:
        return {}
    server = request.getfixturevalue("postgres")
    return {"DSN": server.dsn(), "SCHEMA": server.emptied_schema()}


@pytest.mark.extras
@pytest.mark.parametrize("extra", extras())
def test_an_extra_brings_what_its_adapter_needs(extra, distributions, bare, tmp_path, request):
    """In a clean environment with this extra alone the adapter works; without it, the error names the extra."""
    if extra in TOOLS:
        pytest.skip(f"NOT TESTED: {extra}: {TOOLS[extra]}")
    where = _on_a_server(extra, request)
    without = bare.run(use_of(extra), **where)
    alone = Environment(tmp_path, f"{distributions[1]}[{extra}]").run(use_of(extra), **where)

    assert alone.returncode == 0, alone.stderr
    assert without.returncode != 0
    assert f"nr-agent-core[{extra}]" in without.stderr, without.stderr
