"""
Django's catalogues as the translator of the chat: its sentences are translated like those of the site.
"""

import re
from collections.abc import Mapping

from django.utils import translation

CONTEXT = "nr_agent_core"
"""The ``msgctxt`` of the entries; their ``msgid`` is the key, such as ``notice.nothingSaved``."""

_ARGUMENT = re.compile(r"\{([A-Za-z]\w*)\}")


class DjangoTranslator:
    """
    Asks the ``.po`` files of all applications. What they lack, the library says in its own words.

    A text names its arguments, ``{count}``, and can do nothing else with them: it is data, not a format.
    """

    def translate(self, key: str, arguments: Mapping[str, object], language: str) -> str | None:
        """The text of *key*, with its arguments; a number by the name ``count`` chooses the plural."""
        count = arguments.get("count")
        with translation.override(language):
            text = (
                translation.npgettext(CONTEXT, key, key, count)
                if isinstance(count, int)
                else translation.pgettext(CONTEXT, key)
            )
        return None if text == key else _ARGUMENT.sub(lambda found: str(arguments[found[1]]), text)
