"""
How a report for people names a notice.
"""

from typing import Final

from nr_agent_core.domain.notices import NoticeCode

NOTICE_WORDS: Final = {
    NoticeCode.NOTHING_SAVED: "claims a change; nothing was written in its turn",
    NoticeCode.WRITE_OUTCOME_UNKNOWN: "follows a writing call of unknown outcome",
}
