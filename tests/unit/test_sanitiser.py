"""
The sanitiser: no secret, address, path or SQL survives, on no way into a text (F3, T10, P9).
"""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.sanitiser import (
    CUT,
    HEAD,
    STORED_LIMIT,
    WITHHELD,
    sanitise,
)
from tests.unit.secrets_in_texts import CARRIERS, MARK, PASSWORDS, leaks, marked

VENDOR_KEYS = st.one_of(
    marked(12).map("sk-{}".format),
    marked(12).map("sk-proj-{}".format),
    marked(12).map("sk_live_{}".format),
    marked(16).map("ghp_{}".format),
    marked(16).map("github_pat_11AA_{}".format),
    marked(12, alphabet="ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789").map(lambda key: f"AKIA{key.upper()}"),
    marked(20).map("AIza{}".format),
    marked(12).map("xoxb-1-{}".format),
    marked(12).map("glpat-{}".format),
    marked(12).map("hf_{}".format),
    st.builds("eyJhbGci{}.{}.{}".format, marked(8), marked(8), marked(8)),
    st.builds("-----BEGIN RSA PRIVATE KEY-----\n{}\n{}\n-----END RSA PRIVATE KEY-----".format, marked(30), marked(30)),
    st.builds("-----BEGIN PRIVATE KEY-----\n{}".format, marked(30)),
)
PLACES = st.sampled_from(
    [
        "https://zq7.example:8443/v1",
        "zq7.internal",
        "db.zq7.example.com",
        "zq7:5432",
        "zq7-db:8080",
        "host=zq7",
        "host zq7",
        "hostname 'zq7'",
        "host: zq7",
        'could not translate host name "zq7" to address',
        'connection to server at "zq7", port 5432 failed',
        "Failed to resolve 'zq7'",
        "Cannot connect to zq7-1",
        "somebody@zq7.example",
        "'root'@'zq7'",
        'user "zq7"',
        "user=zq7",
    ]
)
NETWORK = st.one_of(
    st.ip_addresses(v=4).map(str),
    st.builds("{}:{}".format, st.ip_addresses(v=4), st.integers(1, 65535)),
    st.ip_addresses(v=6).filter(lambda address: ":" in str(address)[1:]).map(str),
    st.builds("[{}]:{}".format, st.ip_addresses(v=6), st.integers(10, 65535)),
)
PATHS = st.sampled_from(
    [
        "/srv/zq7/app.py",
        "'/srv/my zq7 files/zq7.txt'",
        "/srv/my zq7/zq7 files/a",
        "~/zq7/x",
        "../zq7",
        "src/zq7/app.py",
        "C:\\Users\\zq7\\x.txt",
        "C:\\Program Files\\zq7\\x y\\z",
        "c:/zq7/x",
        "\\\\zq7\\share\\x",
        "zq7\\lib\\x.dll",
        'File "/srv/zq7/x.py", line 3',
        "zq7.php:42",
    ]
)
SQL = st.sampled_from(
    [
        "[SQL: SELECT zq7 FROM t WHERE a = ']' AND b = 'zq7']\n[parameters: ('zq7',)]",
        "SELECT 1\nFROM zq7\n\nWHERE x = 'zq7'",
        "select id, name from zq7",
        "select * from zq7",
        "INSERT INTO zq7 VALUES ('zq7')",
        "insert into zq7 (a) values (1)",
        "update zq7 set a = 1",
        "UPDATE zq7 SET a = 'x; zq7'",
        "DELETE FROM zq7",
        "delete from zq7 where zq7 = 1",
        "create table zq7 (a)",
        "LINE 1: ... zq7 ...",
    ]
)
PROSE = st.sampled_from(["", "could not go on: ", "(", "\n", "error='", "first line\nthen ", "[", "x, ", "\\n", "—"])


@given(VENDOR_KEYS, PROSE)
def test_keys_of_known_shape_go_wherever_they_stand(key, before):
    """A vendor's key needs no word before it (F3)."""
    assert not leaks(sanitise(f"{before}{key} was refused", limit=None))


@given(st.sampled_from(CARRIERS), PASSWORDS, PROSE)
def test_announced_secrets_go_whatever_they_look_like(carrier, secret, before):
    """A name, a header or an address announces a secret; its shape does not matter (F3)."""
    assert not leaks(sanitise(before + carrier.format(secret, secret), limit=None))


@given(st.one_of(PLACES, PATHS, SQL), PROSE)
def test_hosts_paths_and_statements_go(found, before):
    """Hosts, accounts, paths and SQL are nothing for a reader (F3, P9)."""
    assert not leaks(sanitise(f"{before}{found}", limit=None))


@given(NETWORK)
@example("10.9.8.7:7860")
@example("::1")
@example("fe80::1%eth0")
@example("::ffff:10.0.0.1")
def test_addresses_of_both_versions_go(address):
    """Private and public addresses go, with their ports (F3)."""
    assert sanitise(f"no route to {address} now") == "no route to [address] now"


def test_memory_addresses_go():
    """An object's address says nothing to a reader."""
    assert sanitise("<Page object at 0x7f00aa>") == "<Page object at [address]>"


@pytest.mark.parametrize(
    "text",
    [
        "429 Too Many Requests, please retry after 20 seconds",
        "iteration 0, retry 2/5 in 1186ms: quota",
        "API key identifier is required for provider OpenAI",
        "The model `gpt-4o-mini-2024-07-18` does not exist or you do not have access to it.",
        "model meta-llama/Llama-3 and/or gemma-3-5-instruct-20241022",
        "maximum context length is 8192 tokens, requested 9001 tokens, max_tokens: 4096",
        "Expecting value: line 1 column 1 (char 0)",
        "unsupported operand type(s) for +: 'int' and 'str'",
        "run '0f8fad5b-d9cb-469f-a165-70867728950e' is at event 7; this append expected 6",
        "UNIQUE constraint failed: page.title",
        "please select a provider at 12:30:45",
        "KeyError: 'title'",
        "The token expired; the password was rejected; the server returned 503",
        "the model's answer was filtered by nr_agent_core.domain.errors.ProviderError",
    ],
)
def test_the_true_reason_stays(text):
    """What tells an administrator what is wrong is not removed with the rest."""
    assert sanitise(text) == text


TEXTS = st.one_of(
    st.text(),
    st.text("ab1 :=/\\\"'[]().@-\n%"),
    st.lists(
        st.one_of(
            st.sampled_from(
                ["key", "=", ":", " ", "'", '"', "[secret]", "[", "]", "\\", "/", "://", "@", "sk-", "host"]
            ),
            st.sampled_from(["password ", "select ", "is ", "1.2.3.4", "::", "0x", CUT, "-----BEGIN A-----", "token"]),
            PASSWORDS,
        )
    ).map("".join),
)


@given(TEXTS, st.one_of(st.none(), st.integers(0, 60)))
def test_sanitising_again_changes_nothing(text, limit):
    """A sanitised text is a fixed point (F3)."""
    once = sanitise(text, limit=limit)

    assert sanitise(once, limit=limit) == once


@given(TEXTS, st.integers(0, 60) | st.integers(61, 600))
@example("@@0;", 9)
@example("000000PASSWORT 0 ", 23)
def test_the_cut_holds(text, limit):
    """A result that fits is whole; any other is a beginning of the whole one and says that it was cut."""
    whole = sanitise(text, limit=None)

    cut = sanitise(text, limit=limit)

    assert len(cut) <= limit
    if len(whole) <= limit:
        assert cut == whole
    else:
        assert cut.endswith(CUT[:limit])
        assert whole.startswith(cut.removesuffix(CUT[:limit]))


@given(
    st.lists(st.sampled_from(["@a", "1.2.3.4", "/a/b", "password 1", "select * from a", " ", "x"]), max_size=8).map(
        "".join
    )
)
def test_the_cut_parts_no_mark(text):
    """What stands for a secret is there as a whole or not at all."""
    whole = sanitise(text, limit=None)

    for limit in range(len(CUT), len(whole)):
        shown = sanitise(text, limit=limit).removesuffix(CUT)

        assert "[" not in shown[shown.rfind("]") + 1 :]


@given(st.integers(HEAD, HEAD + 60), st.sampled_from(["https://a.example/", "select * from ", "password ", "word "]))
def test_a_long_text_of_which_only_the_head_was_looked_at_says_so(length, start):
    """However little is left of the head, the rest of the text was not looked at."""
    shown = sanitise(start.ljust(length - 9, "x") + " y" * 20)

    assert shown.endswith((CUT, WITHHELD))


def test_the_limit_is_500_characters():
    """Stored text is cut at 500 characters (F3)."""
    assert len(sanitise("too much " * 500)) == STORED_LIMIT == 500


@pytest.mark.parametrize("limit", [-1, True, 2.5, "9"])
def test_a_strange_limit_is_refused(limit):
    """A limit is an integer from 0, or None."""
    with pytest.raises(InvalidValueError):
        sanitise("x", limit=limit)


@given(st.integers(HEAD - 60, HEAD + 10))
@example(HEAD - len("@x"))
def test_no_secret_shows_at_the_end_of_a_long_texts_head(length):
    """Only the beginning of a very long text is looked at; what its end cuts has lost its shape, so it goes whole."""
    start = "https://a.example/".ljust(length - len(f" {MARK}abc"), "x")
    text = f"{start} {MARK}abc@shop.example {'y' * 2 * HEAD}"

    assert not leaks(sanitise(text))


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [" ", "a", "/", "\\", '"', "'", ":", "a.", "a:", "a/", "://'", "key ", "key=", "token x ", "sk-", "a@", "select x ",
     "-----BEGIN A-----", "[", "key=(", "c:\\a b", "/a b", "a-", "1.", "f:", "create x ", "token" + " " * 50],
)  # fmt: skip
def test_time_grows_no_faster_than_the_text(unit):
    """No text makes the sanitiser slow: four times the text takes about four times the time."""

    def seconds(size):
        text = unit * (size // len(unit))
        started = time.process_time()
        sanitise(text, limit=None)
        return time.process_time() - started

    seconds(1000)

    assert min(seconds(48_000), seconds(48_000)) < 9 * max(min(seconds(12_000) for _ in range(3)), 0.015)


@given(st.text(st.characters(categories=["Cs", "Cc", "Cf"])))
def test_what_no_store_can_hold_is_replaced(text):
    """Lone surrogates and control characters leave the text, line ends and tabs stay."""
    clean = sanitise(text, limit=None)

    clean.encode("utf-8")
    assert "\x00" not in clean
    assert "\x1b" not in clean


def test_invisible_characters_hide_no_key():
    """A zero-width space inside a key does not save it."""
    assert sanitise("s\u200bk-Zq7abcdefgh\u200bijk") == "[secret]"
