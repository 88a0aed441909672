"""
``python -m nr_agent_core.cli`` is the script ``nr-agent-core`` under another name.
"""

import sys

from nr_agent_core.cli.program import main

if __name__ == "__main__":
    sys.exit(main())
