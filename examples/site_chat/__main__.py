"""
Tells the story; ends with 1 when something that it states does not hold.
"""

import logging
import sys
import tempfile
import time
from pathlib import Path

from examples.site_chat.scenes import SCENES
from examples.site_chat.terminal import Terminal


def main() -> int:
    """Play all scenes on files in a temporary folder."""
    # The library logs what went wrong for operators; on this stage things go wrong on purpose.
    logging.getLogger("nr_agent_core").setLevel(logging.CRITICAL)
    terminal, began = Terminal(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="site_chat_") as folder:
        for scene in SCENES:
            scene(Path(folder), terminal)
    seconds = time.monotonic() - began
    held = len(SCENES) - len(terminal.broken)
    terminal.scene("=", f"{held} of {len(SCENES)} scenes hold, in {seconds:.1f} seconds")
    return 1 if terminal.broken else 0


if __name__ == "__main__":
    sys.exit(main())
