"""
Trust zones and data classes (G2).
"""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.trust_zones import TrustZones

ALLOWED = {
    "local": "public editorContent sourceCode internalConfiguration systemDiagnostics secretAdjacent",
    "privateHosted": "public editorContent sourceCode internalConfiguration systemDiagnostics",
    "externalEu": "public editorContent sourceCode internalConfiguration",
    "externalGlobal": "public editorContent",
}
CLASSES = ALLOWED["local"].split()


@pytest.mark.parametrize(("zone", "data_class"), list(itertools.product(ALLOWED, CLASSES)))
def test_every_zone_against_every_class(zone, data_class):
    """The default ceilings, cell by cell (G2)."""
    assert TrustZones().allows(zone, data_class) is (data_class in ALLOWED[zone].split())


@given(st.none() | st.text(), st.none() | st.text())
def test_what_is_not_known_counts_as_the_worst(zone, data_class):
    """An unknown zone is the last one, an unknown or undeclared class the last one too (G2)."""
    zones = TrustZones()

    assert zones.zone(zone) == (zone if zone in ALLOWED else "externalGlobal")
    assert zones.data_class(data_class) == (data_class if data_class in CLASSES else "secretAdjacent")
    assert zones.allows(zone, data_class) is zones.allows(zones.zone(zone), zones.data_class(data_class))


@given(st.data())
def test_trust_only_falls_along_the_zones(data):
    """Whatever a zone may carry, every more trusted one may carry too, for lists of a host as well (G2)."""
    classes = data.draw(st.lists(st.text(min_size=1), min_size=1, max_size=5, unique=True))
    names = data.draw(st.lists(st.text(min_size=1), min_size=2, max_size=5, unique=True))
    ranks = data.draw(st.lists(st.integers(0, len(classes) - 1), min_size=len(names), max_size=len(names)))
    zones = TrustZones(names, classes, [classes[rank] for rank in sorted(ranks, reverse=True)])

    for (trusted, less), data_class in itertools.product(itertools.pairwise(names), classes):
        assert zones.allows(trusted, data_class) or not zones.allows(less, data_class)


@pytest.mark.parametrize(
    "arguments",
    [
        {"zones": []},
        {"zones": ["a", "a", "b", "c"]},
        {"zones": ["a", "b", "c"]},
        {"zones": ["a", "b", "c", ""]},
        {"zones": "abcd"},
        {"classes": []},
        {"classes": "public"},
        {"classes": ["public", "public"]},
        {"ceilings": ["secretAdjacent"] * 3},
        {"ceilings": ["unknown"] * 4},
        {"ceilings": ["public", "public", "public", "editorContent"]},
    ],
    ids=repr,
)
def test_lists_that_do_not_fit_are_refused(arguments):
    """Lists that are empty, repeat names, or whose last zone is not the strictest make no zones."""
    with pytest.raises(InvalidValueError):
        TrustZones(**arguments)
