"""
The host's own texts, and languages beyond the shipped ones (V10).
"""

from collections.abc import Mapping
from typing import Protocol


class Translator(Protocol):
    """
    Asked for every text before the shipped catalogues.

    ``Catalogues`` and ``CatalogueFiles`` of :mod:`nr_agent_core.adapters.catalogues` are translators over
    plain mappings and over files.
    """

    def translate(self, key: str, arguments: Mapping[str, object], language: str) -> str | None:
        """
        The host's text for *key* in *language*, or None to use the shipped one.

        It may be asked often and from any thread, and must not block. When it raises, or returns
        anything but a text that is not blank, the shipped text is used; the reader never notices. Where
        none ships in *language*, it is asked once more for English.

        Args:
            key: a key of the shipped catalogues, such as ``notice.nothingSaved``.
            arguments: by name, already fit to be shown: texts, and numbers such as ``count``. One
                that the stored notice lacks is left out.
            language: the reader's language tag, as the reader has it.
        """
        ...
