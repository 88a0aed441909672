"""
The report for programs: one JSON object with ``summary`` and ``answers``.
"""

import json
from typing import TextIO

from nr_agent_core.cli.audit.report import AS_JSON, Judged, Report
from nr_agent_core.domain.bounding import well_formed


def write_json(report: Report, out: TextIO) -> None:
    """
    Writes *report* to *out*, in ASCII, one answer a line: safe on any terminal and easy to search.
    """
    # File names of other encodings come with lone surrogates, which JSON text must not hold.
    out.write(f'{{"summary": {json.dumps(_plain(report.summary()))},\n"answers": [')
    for number, judged in enumerate(report.answers):
        out.write(",\n" if number else "\n")
        out.write(json.dumps(_entry(judged)))
    out.write("\n]}\n")


def _entry(judged: Judged) -> dict[str, object]:
    return {
        "id": well_formed(judged.id),
        "file": well_formed(judged.file),
        "line": judged.line,
        "claims": [
            {
                "start": claim.start,
                "end": claim.end,
                "word": well_formed(claim.word),
                "language": claim.language,
                "why": claim.why,
            }
            for claim in judged.claims
        ],
        "wrote": AS_JSON[judged.wrote],
        "notice": judged.notice.value if judged.notice else None,
        "notices": [code.value for code in judged.notices],
    }


def _plain(value: object) -> object:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
