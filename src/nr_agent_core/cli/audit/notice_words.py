"""
How a report for people names a notice.
"""

from typing import Final

from nr_agent_core.domain.notices import NoticeCode

NOTICE_WORDS: Final = {
    NoticeCode.CALL_NOT_MADE: "spells out a call that its turn did not make",
    NoticeCode.NOTHING_SAVED: "claims a change; nothing was written in its turn",
    NoticeCode.SAVED_NONETHELESS: "denies any change; its turn wrote",
    NoticeCode.UNKNOWN_REFERENCE: "names a record that nothing before it names",
    NoticeCode.WRITE_OUTCOME_UNKNOWN: "follows a writing call of unknown outcome",
}
