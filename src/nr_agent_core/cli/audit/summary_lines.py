"""
The figures of a report for people.
"""

from nr_agent_core.cli.audit.notice_words import NOTICE_WORDS
from nr_agent_core.cli.audit.report import Report
from nr_agent_core.domain.write_evidence import Wrote


def summary_lines(report: Report) -> list[tuple[str, int]]:
    """
    What was counted, in the order in which it is read.
    """
    answers = report.answers
    notices = [code for judged in answers for code in judged.notices]
    return [
        ("completed answers", len(answers)),
        ("whose turn wrote", _count(report, Wrote.YES)),
        ("whose turn wrote nothing", _count(report, Wrote.NO)),
        ("of whose turn it cannot be told", _count(report, Wrote.CANNOT_TELL)),
        ("that claim a change", sum(bool(judged.claims) for judged in answers)),
        *((f"{code.value}: {words}", notices.count(code)) for code, words in NOTICE_WORDS.items()),
        ("lines or messages left out", len(report.malformed)),
    ]


def _count(report: Report, wrote: Wrote) -> int:
    return sum(judged.wrote is wrote for judged in report.answers)
