"""
Points in time as one language writes them, for pages of a host (V10).

No label holds a date: labels say how long ago or how long still, which needs no time zone.
"""

import datetime

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.texts.rendering import Translating, render


def moment(at: float, zone: datetime.tzinfo, language: str, translator: Translating | None = None) -> str:
    """
    Date and time of *at*, such as ``Message.at`` or ``Card.expires_at``, in the order of *language*.

    Args:
        at: seconds since 1970, as views and cards have them.
        zone: the reader's time zone, which the host knows and this library does not.
        language: the reader's language.
        translator: the host's own texts; the key is ``shown.moment``.

    Raises:
        InvalidValueError: *at* is no time that a calendar has.
    """
    try:
        when = datetime.datetime.fromtimestamp(at, zone)
    except (OverflowError, OSError, ValueError, TypeError):
        raise InvalidValueError("a point in time", at, "seconds since 1970 within the calendar") from None
    parts = {"year": f"{when:%Y}", "month": f"{when:%m}", "day": f"{when:%d}", "hour": f"{when:%H}"}
    return render("shown.moment", {**parts, "minute": f"{when:%M}"}, language, translator)
