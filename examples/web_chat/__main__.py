"""
``python -m examples.web_chat``: the server on this machine, started anew when it is killed.
"""

import argparse
import contextlib
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import uvicorn

from examples.web_chat.app import app_of
from examples.web_chat.script import paced
from examples.web_chat.wiring import host_over

ADDRESS = "127.0.0.1"
"""This machine only: whoever reaches the page can be anybody."""


def main() -> int:
    """Serve, or see to it that somebody does."""
    options = _options()
    folder = options.folder or Path(tempfile.gettempdir()) / "nr_agent_core_web_chat"
    folder.mkdir(parents=True, exist_ok=True)
    if options.serve:
        return _serve(options.port, folder, options.pace)
    return _see_to_it(options.port, folder, options.pace)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m examples.web_chat", description=__doc__)
    parser.add_argument("--port", type=int, default=8017, help="0 for a free one")
    parser.add_argument("--folder", type=Path, help="where the files are kept")
    parser.add_argument("--pace", type=float, default=0.03, help="seconds between two words of an answer")
    parser.add_argument("--serve", action="store_true", help="be the server itself, and stay dead when killed")
    return parser.parse_args()


def _serve(port: int, folder: Path, pace: float) -> int:
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((ADDRESS, port))
        except OSError as error:
            print(
                f"port {port} of {ADDRESS} cannot be used ({error.strerror}); choose another, 0 for a free one",
                flush=True,
            )
            return 1
        listening.listen(128)
        app = app_of(host_over(folder, pause=paced(pace)))
        print(f"http://{ADDRESS}:{listening.getsockname()[1]}/  files: {folder}", flush=True)
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=3)
        uvicorn.Server(config).run(sockets=[listening])
    return 0


def _see_to_it(port: int, folder: Path, pace: float) -> int:
    command = [sys.executable, "-m", "examples.web_chat", "--serve"]
    command += ["--port", str(port), "--folder", str(folder), "--pace", str(pace)]
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            code = subprocess.run(command, check=False).returncode
            if code != -signal.SIGKILL:
                return code
            print("The server was killed; here is the next one.", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
