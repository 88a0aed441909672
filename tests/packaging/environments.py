"""
Distributions of this checkout, and clean environments that have nothing but what is installed into them.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def built(folder: Path) -> tuple[Path, Path]:
    """
    The sdist and the wheel: those in the folder that PACKAGE_DIST names, or new ones in *folder*.

    The wheel is built from the sdist, so what is in the one was in the other.
    """
    given = os.environ.get("PACKAGE_DIST")
    folder = ROOT / given if given else folder
    if not given:
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
        subprocess.run(command, check=True, capture_output=True)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


class Environment:
    """
    A virtual environment in which no checkout can be found: programs run elsewhere, isolated.
    """

    def __init__(self, folder: Path, requirement: str) -> None:
        self.folder = folder / "environment"
        self.elsewhere = folder / "elsewhere"
        self.elsewhere.mkdir(parents=True)
        venv.create(self.folder, with_pip=False)
        pip = [sys.executable, "-m", "pip", "--python", str(self.folder), "--disable-pip-version-check"]
        install = [*pip, "install", "--quiet", "-c", str(ROOT / "constraints.txt"), requirement]
        done = subprocess.run(install, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def run(self, program: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """What *program* did, in this environment and nothing else."""
        command = [str(self.folder / "bin" / "python"), "-I", "-W", "error", "-c", program]
        return self._run(command, environment)

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What the installed command did."""
        return self._run([str(self.folder / "bin" / "nr-agent-core"), *arguments], {})

    def _run(self, command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        kept = {"PATH": os.environ["PATH"], "HOME": str(self.elsewhere), "LANG": "C.UTF-8"}
        return subprocess.run(
            command,
            cwd=self.elsewhere,
            env=kept | environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
        )
