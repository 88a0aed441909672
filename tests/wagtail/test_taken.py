"""
The example in a site that was just made: what the how-to says is done, step by step.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOW_TO = ROOT / "docs/how-to/wagtail.md"
SAYS = """
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse
user = get_user_model().objects.create_superuser("root", "root@site.test", "password")
browser = Client(headers={"host": "localhost"})
browser.force_login(user)
asked = browser.post(reverse("chat:begin"), {"text": "Lege eine Seite 'Team' an (unter pages:3)"}, follow=True)
print(asked.status_code, asked.resolver_match.view_name, "Team" in asked.content.decode())
print(browser.get(reverse("chat:inbox")).content.decode().count("create_page_draft"))
"""


def blocks() -> list[tuple[str, str]]:
    """The blocks of the section, each with its language."""
    section = HOW_TO.read_text().split("## Put it into your site")[1].split("\n## ")[0]
    return [(found[1], found[2]) for found in re.finditer(r"```(\w+)[^\n]*\n(.*?)```", section, re.DOTALL)]


def test_the_how_to_puts_the_chat_into_a_new_site(tmp_path: Path) -> None:
    """Copied, set up and migrated as the page says; nothing is left to migrate, and a call waits for a decision."""
    (tmp_path / "nr_agent_core").symlink_to(ROOT)
    site = tmp_path / "site"
    site.mkdir()
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO_", "WAGTAIL_", "CHAT_"))}
    environment = {**kept, "PATH": beside, "PYTHONPATH": str(ROOT / "src")}

    def run(command: str, given: str | None = None) -> str:
        # The commands of the page, as a shell takes them.
        options = {"cwd": site, "env": environment, "input": given, "capture_output": True, "text": True}
        done = subprocess.run(["sh", "-c", command], check=False, timeout=300, **options)
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout

    run("wagtail start mysite .")
    for language, text in blocks():
        if language == "python":
            with (site / "mysite/settings/base.py").open("a") as settings:
                settings.write(text)
        for command in re.findall(r"^\$ (.+)$", text, re.MULTILINE) if language == "console" else ():
            if not command.endswith(("createsuperuser", "runserver")):
                run(command)

    assert "no issues" in run("python manage.py check")
    assert "No changes detected" in run("python manage.py makemigrations --check --dry-run")
    assert run("python manage.py shell --verbosity 0", SAYS).splitlines() == ["200 chat:show True", "1"]
