"""
What the sanitiser finds in a text, and what it puts there (F3): the rules of its passes, as data.

Each rule is linear in the text, and leaves what a rule put there as it is.
"""

import functools
import itertools
import re
from collections.abc import Callable


def _path_kept(match: re.Match[str]) -> str:
    """Words with one slash ("and/or", a model's name) stay; several slashes or a file's ending are a path."""
    found = match[0]
    return "[path]" if found.count("/") > 1 or _names_a_file(found.rpartition("/")[2]) else found


def _backslash_path_kept(match: re.Match[str]) -> str:
    """Words between escaped line breaks stay; a file's ending makes a path."""
    found = match[0]
    return "[path]" if _names_a_file(found.rpartition("\\")[2]) else found


def _address_kept(match: re.Match[str]) -> str:
    """An address stays when it holds neither an account nor values."""
    found = match[0].lower()
    return "[address]" if any(mark in found for mark in ("@", "=", "%40", "%3d")) else match[0]


def _names_a_file(last: str) -> bool:
    _, dot, ending = last.rpartition(".")
    return bool(dot) and ending.isalnum() and ending[:1].isalpha()


def _v6_kept(match: re.Match[str]) -> str:
    """Times of the day look like an address of version 6."""
    parts = match[0].split(":")
    is_time = len(parts) == 3 and all(part.isdigit() and len(part) <= 2 for part in parts)
    return match[0] if is_time else "[address]"


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else _ENTITIES.get(match[2], "'" if match[2][-1] in "79" else '"')


_ENTITIES = {"amp": "&", "apos": "'", "lt": "<", "gt": ">"}


def _port_kept(match: re.Match[str]) -> str:
    return match[0] if match[0].partition(":")[0].lower() in _COUNTED else "[address]"


_COUNTED = frozenset(
    (
        "status",
        "code",
        "line",
        "error",
        "errno",
        "attempt",
        "retry",
        "column",
        "pos",
        "position",
        "char",
        "index",
        "exit",
    )
)


def _random_kept(match: re.Match[str]) -> str:
    """
    Long words stay when all of their pieces read like words, numbers or versions.

    Names of models, of exceptions and UUIDs pass; keys, digests and base64 do not.
    """
    found = match[0]
    if _uuid().fullmatch(found):
        return found
    return "[secret]" if any(_reads_random(piece) for piece in _piece_ends().split(found)) else found


_SHORT_MIX, _LONG_NUMBER, _LONG_WORD = 6, 10, 12


def _reads_random(piece: str) -> bool:
    if piece.isdigit():
        return len(piece) > _LONG_NUMBER
    if not piece.isalpha():
        return len(piece) > _SHORT_MIX and not _numbered_word().fullmatch(piece)
    changes = sum(1 for left, right in itertools.pairwise(piece) if left.isupper() != right.isupper())
    return len(piece) > _LONG_WORD and changes * 5 > len(piece) * 2


@functools.cache
def _uuid() -> re.Pattern[str]:
    return re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


@functools.cache
def _numbered_word() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z]?[a-z]+\d{1,2}")


@functools.cache
def _piece_ends() -> re.Pattern[str]:
    return re.compile(r"[^A-Za-z0-9]+")


# ----------------------------------------------------------------------------- the rules, as data

# What the rules themselves put there is no value again, nor is the mark of the cut at the end.
_DONE = r"""(?!\[(?:secret|address|path|sql|withheld)\](?:[\s,;:&)}\]"'\\]|(?:\[\.{3}\])?\Z)|\[\.{3}\]\Z)"""
# A value: quoted (to the closing quote, or to the end without one), bracketed, or up to a blank.
_QUOTED_VALUE = r"""\\*"(?:[^"\\]|\\[^"])*+\\*"?|\\*'(?:[^'\\]|\\[^'])*+\\*'?"""
_VALUE = rf"""{_DONE}(?:{_QUOTED_VALUE}|[\[({{][^\])}}]*+[\])}}]?\S*+|\S++)"""
_SEPARATOR = r"""[\\"'`\])]*+\s*+(?:::=|:=|=>|->|=|:|%3[AaDd])[=:>]*+\s*+"""
# The start of a word; in a text that shows another one, an escaped line break stands directly before it.
_WORD = r"(?:\b|(?<=\\[nrt]))"
_START = r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2})|(?<=\\[nrt]))"

# The start of a name before a separator that is neither a type of an exception nor what a rule put there.
_NAME = (
    rf"(?i)(?<![\w.\-])(?=[\w.\-]++{_SEPARATOR})(?!(?:secret|address)\])"
    r"(?![\w.\-]*(?:error|exception|warning|failure|group)\b)"
)

# Names whose value is a secret, an account or a place.
_KEY_NAMES = (
    r"key(?!words?)|token|secret|passw|passphrase|pwd|kennwort|schlüssel|credential|zugangsdaten|auth(?!or)|signature|jwt|cookie"
    r"|session|bearer|dsn|connection_?string|private|account|konto"
)
_PLACE_NAMES = r"host|server|endpoint|base_?ur[li]|addr|proxy|database|dbname|data_?source|user|login|owner|mail"
_EXACT_NAMES = r"(?<=data )source|pass|sig|sas|uid|pid|ip|ur[li]|port|db|id|role|peer|node|netloc|pin|otp|code_verifier"

# Words that may follow "token", "host" and the like without being the thing itself.
_HARMLESS = (
    r"(?:a|an|and|are|as|at|auth\w*|be|been|but|by|can|cannot|could|count|did|do|does|error|exceed\w*|expired|fail\w*|for|found|"
    r"from|given|has|have|id|identifier|if|in|invalid|is|ist|it|length|limit|lookup|malformed|manager|may|mismatch|missing|must|name|"
    r"not|of|on|or|please|provided|reached|refused|rejected|required|resolution|revoked|returned|set|should|so|than|that|the|this|to|"
    r"token|type|unavailable|unexpected|unknown|unreachable|usage|used|validation|value|verification|was|were|when|which|will|with|"
    r"without|wrong|you|your|und|oder|fehlt|ungültig|abgelaufen|wurde|nicht|für|der|die|das|up|down|key|system|side)"
    r"(?![\w@/+=-])"
)
_PLAIN_END = rf"(?!{_HARMLESS})"
_HAS_DIGIT_OR_MARK = r"""(?!\d+\b)(?=["'`]|[\w.@/+=*-]*?[\d@/+=*]|[A-Za-z]++[._-]\w|[a-z]+[A-Z])"""

_SQL = (
    rf"\[SQL\b|\[parameters:|{_WORD}(?:LINE \d+:|(?:SELECT|INSERT|UPDATE|DELETE|WHERE)\b"
    r"|Failing row contains|Duplicate entry|(?:EXEC|EXECUTE|PRAGMA)\s++\w|CALL\s++[\w.]++\s*+\(|GRANT\s++[A-Z])"
    rf"|{_WORD}(?i:select\s++(?:\*|distinct\b|top\b|all\b|[\w.\"`\[\]]{{1,80}}\s*+(?:,|\(|from\b|as\b))"
    r"|(?:insert\s++(?:or\s++\w++\s++|ignore\s++)?into|replace\s++into|merge\s++into|delete\s++from|truncate\s++table"
    r"|update\s++(?:only\s++)?[\w.\"'`\[\]]{1,80}\s++(?:as\s++\w++\s++)?set"
    r"|(?:create|alter|drop)\s++(?:\w++\s++){0,2}?(?:table|view|index|user|role|database|schema|trigger|function)"
    r"|where\s++[\w.\"'`\[\]]{1,80}\s*+(?:=|<|>|!=|in\s*+\(|like\s)|values\s*+\())"
)

_VENDOR_KEYS = (
    r"(?:(?:sk|pk|rk|xai|gsk|hf|r8|npm|pypi|glpat|glrt|ghs|tvly|pplx|nvapi|whsec|shpat|shpss|dop|lsv2|ntn|figd|key|pat|tok)[-_]"
    r"[A-Za-z0-9_\-.+/=%*]{6,}"
    r"|gh[a-z]_[A-Za-z0-9]{6,}|github_pat_\w{6,}|(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{8,}|AIza[\w\-]{8,}|ya29\.[\w\-.]{6,}"
    r"|xox[a-z]-[\w\-]{4,}|xapp-[\w\-]{4,}|SG\.[\w\-.]{8,}|AC[0-9a-f]{32}|AGE-SECRET-KEY-\w+|eyJ[\w\-]{6,}(?:\.[\w\-=]*)*)\S*+"
)

_DOMAIN_ENDS = (
    r"(?:com|net|org|info|biz|io|dev|app|cloud|local|localdomain|internal|intern|lan|corp|home|arpa|intranet|private|example|"
    r"invalid|localhost|host|site|online|tech|systems|services|network|agency|company|team|digital|gmbh|berlin|svc|cluster|[a-z]{2})"
)

_ANNOUNCING = (
    rf"{_WORD}((?:\w{{0,40}}_)?(?:(?:api|access|secret|private|licen[cs]e|signing)[ _-]?key|\w{{0,20}}schlüssel|secret"
    r"|\w{0,20}?(?:token|passwor[td]|kennwort)|passwd|pwd|passphrase|passcode|credentials?|bearer|basic|digest|apikey"
    r"|cookie|session[ _-]?id|signature))\b"
)
_STORED_IN = (
    rf"{_WORD}((?:user|username|account|login|role|database|schema|catalog|table|relation|column|constraint|index"
    r"|bucket|benutzer|datenbank|tabelle|spalte)s?\s+)"
)
_KEY_OF = rf"{_WORD}(key|secret|token|password|passwort)\b((?:\s+\w{{1,20}}){{1,4}}\s*[:=]\s*)"
_DRIVE = (
    r"(?:(?<![A-Za-z])|(?<=\\[nrt]))(?:[A-Za-z]:[\\/]|\\\\(?=\w))"
    r"[^\s\"'<>|]*+(?: [^\s\"'<>|\\/]{1,40}[\\/][^\s\"'<>|]*+)*+"
)
_ROOTED = (
    r"(?:(?<![\w/.\])}>~])|(?<=\\[nrt]))(?:~[\w.\-]{0,40}|\.{1,2})?/{1,2}(?=[\w.~%@\-*{$<])"
    r"[^\s\"'<>|]*+(?: [^\s\"'<>|/]{1,40}/[^\s\"'<>|]*+)*+"
)
_MACHINES = (
    rf"{_WORD}((?:server|node|instance|machine|peer|upstream|backend|proxy|gateway|cluster|resolve|resolving|reach|lookup"
    r"|getaddrinfo|enotfound|econnrefused|tcp|(?:connect|connected|connecting|connection)\s+(?:to|with|from)"
    r"|rechner|dienst)(?:\s+(?:is|at|on|named|name|for|to))?[\s:=(]+)"
)
# What can only be followed by the name of a machine that was not found.
_NAMELESS = rf"{_WORD}((?:enotfound|eai_again|nslookup|tcp:? lookup|name resolution|service not known)[\s:=]+)"
_SCHEME = r"(?i)(?:(?<![a-z0-9+.\-])[a-z0-9+.\-]++)?(?::(?:\\*/){2}|%3a%2f%2f)"
_HEADERS = r"((?:proxy-)?authorization|(?:set-)?cookie|x-[a-z0-9\-]{0,40}(?:key|token|auth|secret)|api-key)"
_QUOTED = r"(?:'[^'\n]{0,80}'|\"[^\"\n]{0,80}\"|`[^`\n]{0,80}`)"
_V6 = r"(?:[0-9A-Fa-f]{0,4}:){2,}(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]{0,4})(?:%\w+)?"

# Addresses that may hold a password.
_ADDRESS = rf"{_SCHEME}[^\s\"'<>]*+(?:[\"'][^\s\"'<>]{{0,64}}@[^\s\"'<>]*+)?"
_QUOTED_ACCOUNT = rf"{_QUOTED}@(?:{_QUOTED}|\S++)"
_ACCOUNT = r"(?<![\w.+\-%:/~!$*#&])[\w.+\-%:/~!$*#&]*+@[\w.\-:\[\]]++"

RULES: tuple[tuple[str, "str | Callable[[re.Match[str]], str]"], ...] = (
    # What no log line should carry, and what could hide a shape from the rules below.
    ("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]", ""),
    ("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", "\ufffd"),
    # Quotes and signs as JSON and HTML escape them.
    (r"(?<!\\)\\++u00(2[267]|3[acdeACDE])|&(quot|amp|apos|lt|gt|#0?3[49]|#x2[27]);", _unescaped),
    (r"(?s)-----BEGIN (?:[A-Z0-9 ]{0,60})-----.*?(?:-----END [A-Z0-9 ]{0,60}-----|\Z)", "[secret]"),
    # Addresses with a scheme, whole: they may hold a password, a host, a path and a query.
    (_ADDRESS, "[address]"),
    # SQL, to the end of the text: a string literal may hold anything, a closing bracket or a blank line too.
    (rf"(?s)(?:{_SQL}).*", "[sql]"),
    # Headers, to the end of the line or quote.
    (rf"(?i){_HEADERS}({_SEPARATOR}){_DONE}(?:\\*\"[^\"\n]*+\"?|\\*'[^'\n]*+'?|[^\"'\n]++)", r"\1\2[secret]"),
    # ("name", "value") and <name>value</name>.
    (
        rf"(?i)([\"'](?=[\w.\-]*?(?:{_KEY_NAMES}))[\w.\-]++\\*[\"']\s*+,\s*+b?){_DONE}(?:{_QUOTED_VALUE})",
        r"\1[secret]",
    ),
    (rf"(?i)(<(?=[\w.:\-]*?(?:{_KEY_NAMES}|{_PLACE_NAMES}))[^<>]++>)(?:<!\[CDATA\[)?[^<>]++(?=>?</)", r"\1[secret]"),
    (r"(?<![\w\-])(-u|--user)([\"']?,?\s+[\"']?)[^\s:\"']+:[^\s\"']++", r"\1\2[secret]"),
    # name=value, name: value, "name": "value", name -> value; a number of tokens is no token.
    (
        rf"{_NAME}(?![\w.\-]*?tokens[\"']?[:=\s]+\d+\b)(?=[\w.\-]*?(?:{_KEY_NAMES}))([\w.\-]++{_SEPARATOR}){_VALUE}",
        r"\1[secret]",
    ),
    (
        rf"{_NAME}((?:(?=[\w.\-]*?(?:{_PLACE_NAMES}))[\w.\-]++|(?:{_EXACT_NAMES}))(?![\w.\-]){_SEPARATOR}){_VALUE}",
        r"\1[address]",
    ),
    # "password is x", "API key x", "key of the shop: x".
    (
        rf"(?i){_ANNOUNCING}([\"']?(?:\s+(?:is|was|ist|war|lautet|of|value))*+(?:\s*+:)?+\s+){_PLAIN_END}{_VALUE}",
        r"\1\2[secret]",
    ),
    (rf"(?i){_KEY_OF}{_PLAIN_END}(?-i:{_HAS_DIGIT_OR_MARK}){_VALUE}", r"\1\2[secret]"),
    (_START + _VENDOR_KEYS, "[secret]"),
    # Accounts and other names that a database or a server is known by.
    (_QUOTED_ACCOUNT, "[address]"),
    (_ACCOUNT, "[address]"),
    (rf"(?i){_STORED_IN}{_PLAIN_END}(?-i:{_HAS_DIGIT_OR_MARK}){_VALUE}", r"\1[address]"),
    # Addresses without a scheme.
    (rf"(?:(?<![\w:.])|(?<=\\[nrt]))\[?{_V6}(?:\]:\d+|\](?!\w))?", _v6_kept),
    (r"(?<!\d)(?:\d{1,3}\.){3,}\d++(?:[:/]\d+)?", "[address]"),
    (rf"(?i){_WORD}(host(?:s|name)?(?:\s+(?:is|at|on|named|name))?[\s:=]+){_PLAIN_END}{_VALUE}", r"\1[address]"),
    (rf"(?i){_MACHINES}{_PLAIN_END}(?-i:{_HAS_DIGIT_OR_MARK}){_VALUE}", r"\1[address]"),
    (rf"(?i){_NAMELESS}{_PLAIN_END}{_VALUE}", r"\1[address]"),
    (rf"(?i){_WORD}(connection to )\S++(?= timed out)", r"\1[address]"),
    (r"(?<=\()([\"'])[^\"'\n]{1,255}\1, ?\d{2,5}(?=[,)])", "[address]"),
    (r"(?<![\w.\-])[A-Za-z_][\w.\-]*+:\d{2,5}(?!\d)", _port_kept),
    (r"(?i)\blocalhost\b", "[address]"),
    (rf"(?<![\w.\-/])(?:[\w\-]+\.)+{_DOMAIN_ENDS}(?![\w\-])", "[address]"),
    # Paths: quoted ones whole, then those with a root (blanks inside only before a further part), then relative ones.
    (r"([\"'`])(?:~?/|\.{1,2}/|[A-Za-z]:[\\/]|\\\\)[^\"'`\n]*+", r"\1[path]"),
    (_DRIVE, "[path]"),
    (_ROOTED, "[path]"),
    (r"(?<![\w./~@+%\-])[\w.~@+%\-]++(?:/[\w.~@+%\-]*+)++", _path_kept),
    (r"(?<![\w.\-\\])\\?[\w.\-]++(?:\\[\w.\-]++)++", _backslash_path_kept),
    (r"0[xX][0-9A-Fa-f]+", "[address]"),
    (r"(?<![A-Za-z0-9_+/=~.\-])[A-Za-z0-9_+/=~.\-]{16,}+", _random_kept),
    # A row of the same is one.
    (r"(\[(?:secret|address|path|sql)\])\1+", r"\1"),
)
"""In the order of their use: what is found, and what stands for it."""


_PLACES = (_path_kept, _backslash_path_kept, _v6_kept, _port_kept)
_WITH_ACCOUNT = {_ADDRESS: _address_kept, _QUOTED_ACCOUNT: "[address]", _ACCOUNT: "[address]"}


def _removes_places(replacement: "str | Callable[[re.Match[str]], str]") -> bool:
    if isinstance(replacement, str):
        return any(mark in replacement for mark in ("[address]", "[path]", "[sql]"))
    return replacement in _PLACES


SECRET_RULES = tuple(
    (pattern, _WITH_ACCOUNT.get(pattern, replacement))
    for pattern, replacement in RULES
    if pattern in _WITH_ACCOUNT or not _removes_places(replacement)
)
"""The same without those that remove places alone: what the redactor of stored content uses (E4)."""

PREPARING_RULES = RULES[:3]
"""The first of them: they remove nothing, but show what the others look for."""

SECRET_NAME = rf"(?i)(?:{_KEY_NAMES}|authori[sz])|\A(?:pass|pin|otp|sig|sas|code_verifier)\Z"
"""A name whose value is a secret, wherever values stand by name."""
