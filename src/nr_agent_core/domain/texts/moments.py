"""
Points in time as one language writes them, for pages of a host (V10).

No label holds a date: labels say how long ago or how long still, which needs no time zone.
"""

from typing import TYPE_CHECKING

from nr_agent_core.domain.texts.rendering import Translating, render

if TYPE_CHECKING:
    import datetime as dt


def moment(when: "dt.datetime", language: str, translator: Translating | None = None) -> str:
    """
    Date and time of *when*, in the order of *language*: ``05.03.2026, 09:07 Uhr``.

    >>> import datetime
    >>> moment(datetime.datetime.fromtimestamp(0, datetime.UTC), "nl")
    '01-01-1970 00:00'

    Args:
        when: the point in time, in the zone of the reader, which the host knows and this library does not.
        language: the reader's language.
        translator: the host's own texts; the key is ``shown.moment``.
    """
    parts = {"year": f"{when.year:04}", "month": f"{when.month:02}", "day": f"{when.day:02}"}
    parts |= {"hour": f"{when.hour:02}", "minute": f"{when.minute:02}"}
    return render("shown.moment", parts, language, translator)
