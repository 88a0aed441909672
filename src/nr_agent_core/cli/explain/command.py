"""
The command ``explain``: its arguments, its input, its exit code.
"""

import argparse
import importlib.util
import io
import sys
from typing import Final

from nr_agent_core.cli.command import ExitCode

STANDARD_INPUT: Final = "-"
FORMATS: Final = ("terminal", "plain", "json")
POLICIES: Final = ("asserted", "seed_rule")

_PREFIX: Final = "nr-agent-core explain:"
_RICH_MISSING: Final = (
    "--format terminal needs rich: pip install 'nr-agent-core[cli]', or choose --format plain or --format json"
)
_DESCRIPTION: Final = """\
Shows where a text claims that something was changed, and of every other place
that was looked at, which rule says that it is no claim.
"""
_EPILOG: Final = """\
exit codes:
  0  the text was explained
  2  wrong arguments, or rich is missing for the terminal

examples:
  nr-agent-core explain "The page is not published. I have renamed it."
  nr-agent-core explain --format json - < answer.txt
"""


class ExplainCommand:
    """
    ``nr-agent-core explain TEXT``
    """

    name = "explain"
    summary = "show where a text claims a change, and why other places claim none"
    description = _DESCRIPTION

    def declare(self, parser: argparse.ArgumentParser) -> None:
        """
        Adds the arguments of ``explain``.
        """
        parser.epilog = _EPILOG
        parser.add_argument("text", metavar="TEXT", help="the answer; - reads standard input")
        parser.add_argument(
            "--language", action="append", metavar="CODE", help="read this language only; may come again (default: all)"
        )
        parser.add_argument(
            "--policy",
            choices=POLICIES,
            default=POLICIES[0],
            help="asserted looks at how a word is used (default), seed_rule at the word alone",
        )
        parser.add_argument(
            "--format", choices=FORMATS, default=FORMATS[0], help="terminal (default, needs rich), plain or json"
        )

    def run(self, arguments: argparse.Namespace) -> int:
        """
        Writes the text with its marks to standard output.
        """
        if arguments.format == "terminal" and importlib.util.find_spec("rich") is None:
            print(_PREFIX, _RICH_MISSING, file=sys.stderr)
            return ExitCode.UNUSABLE
        return _explain(arguments)


def _explain(arguments: argparse.Namespace) -> int:
    from nr_agent_core.cli.explain import marked_text
    from nr_agent_core.domain.claims import ClaimDetector, ClaimPolicy
    from nr_agent_core.domain.errors import InvalidValueError

    text = sys.stdin.read() if arguments.text == STANDARD_INPUT else arguments.text
    try:
        detector = ClaimDetector(ClaimPolicy(arguments.policy), arguments.language)
    except InvalidValueError as error:
        print(_PREFIX, error, file=sys.stderr)
        return ExitCode.UNUSABLE
    # A letter that the terminal cannot show must not cost the explanation.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    marked_text.WRITERS[arguments.format](text, detector.claims(text, explain=True), sys.stdout)
    return ExitCode.DONE
