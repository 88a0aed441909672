"""
What is plain Django of the example stands apart: it runs without Wagtail.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLAIN = sorted((ROOT / "examples" / "wagtail_site" / "django_chat").rglob("*.py"))


def test_nothing_of_it_knows_wagtail_or_the_site() -> None:
    """Its imports are the standard library, Django, this library and itself."""
    for path in PLAIN:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert not name.startswith("wagtail"), (path, name)
                assert not name.startswith("examples.") or name.startswith("examples.wagtail_site.django_chat"), path


def test_a_django_application_without_wagtail_has_the_chat(tmp_path: Path) -> None:
    """Django's own applications, this one, two settings, and a function that says what the site brings."""
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "wagtail" / "plain_site.py"],
        cwd=tmp_path,
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith(("DJANGO", "WAGTAIL"))},
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "a note was written, once"
