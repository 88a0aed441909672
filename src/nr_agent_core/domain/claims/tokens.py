"""
The tokens of a sentence: words, numbers, names, and the marks that cut.

A reference is one token, whatever stands in it: a record (pages:42), a file name, an identifier with an underscore, an
address, a path, a mail address, a UUID, a number with its sign (#12). Its colon is no colon of the sentence, its words
claim nothing.
"""

import re
from typing import Final

from nr_agent_core.domain.claims.normalise import QUOTE

MARKS: Final = "\u2705\u2714\u2611\u2713"
ARROWS: Final = "\u2192\u279c\u21d2"

_ENDING: Final = (
    "txt|md|rst|csv|tsv|json|jsonl|xml|ya?ml|toml|ini|cfg|conf|log|html?|s?css|less|jsx?|tsx?|py|php|rb|rs|java|kt|cpp"
    "|sql|sh|typoscript|twig|pdf|docx?|xlsx?|pptx?|od[tspg]|rtf|png|jpe?g|gif|svg|webp|avif|tiff?|ico|mp[34]|mov|wav"
    "|zip|gz|tar|7z|eml|ics|vcf|bak|tmp|com|org|net|io|eu|de"
)
_REST: Final = (
    "(?:"
    ":{1,2}~?\\w++(?:[.~:-]++\\w++)*+"
    "|_++[^\\W_]\\w*+(?:[.:/-]\\w++)*+"
    "|@\\w++(?:[.-]\\w++)*+"
    f"|(?:[./\\\\-]\\w++){{0,6}}?\\.(?:{_ENDING})(?:/[\\w./-]*+)?(?!\\w)"
    ")?"
)
TOKEN: Final = re.compile(
    f"{QUOTE}+"
    "|(?>\\d+(?:[.,:/'-]\\d+)*)(?![^\\W\\d_])"
    f"|[^\\W_]+(?:['-][^\\W_]+)*+{_REST}"
    "|->|-(?=\\s)|[#@]\\w++(?:[.-]\\w++)*+|(?<![^\\s(])/\\w++(?:[./-]\\w++)*+"
    f"|[,;:()\\[\\]|\u2013\u2014\u2022{MARKS}{ARROWS}]"
)
"""A word, a number, a quoted name, a reference, or a mark that cuts."""

_MEASURE: Final = re.compile("\\d+[^\\W\\d_]{1,3}")


def is_number(token: str) -> bool:
    """
    Whether *token*, which begins with a digit, counts or measures: "12", "12:30", "2nd", "5kg"; other ones are names.
    """
    return not any(map(str.isalpha, token)) or _MEASURE.fullmatch(token) is not None


def is_name(token: str) -> bool:
    """
    Whether *token* holds a sign that no word has: it is a reference.
    """
    return not {*token}.isdisjoint("_:@./\\#")
