"""
The cipher: what it sealed it opens, at its place, with its key; anything else is refused (E7).
"""

import logging
import subprocess
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nr_agent_core.adapters.aes_gcm_cipher import AesGcmCipher
from nr_agent_core.domain.errors import (
    ContentDamagedError,
    ContentKeyError,
    InvalidValueError,
    StoredFormError,
    StoreUnavailableError,
)

OLD, NEW, OTHER = (bytes([number]) * 32 for number in (1, 2, 3))
CIPHER = AesGcmCipher({"old": OLD}, current="old")
REFUSED = (ContentDamagedError, ContentKeyError)

contents = st.binary(max_size=200)
places = st.binary(max_size=40)


@given(contents, places)
def test_what_was_sealed_is_opened_at_its_place(content: bytes, place: bytes) -> None:
    """Nothing is lost, nothing is added."""
    assert CIPHER.open(CIPHER.seal(content, place), place) == content


@given(contents, places, places)
def test_nothing_is_opened_at_another_place(content: bytes, place: bytes, other: bytes) -> None:
    """Content cannot be moved to another run, number, conversation or position."""
    assume(place != other)

    with pytest.raises(ContentDamagedError):
        CIPHER.open(CIPHER.seal(content, place), other)


@given(contents, st.data())
def test_a_flipped_bit_is_refused(content: bytes, data: st.DataObject) -> None:
    """Wherever it is, in the form, the key's id, its check, the nonce, the content or the tag."""
    sealed = bytearray(CIPHER.seal(content, b"place"))
    at = data.draw(st.integers(0, len(sealed) * 8 - 1))
    sealed[at // 8] ^= 1 << at % 8

    with pytest.raises(REFUSED):
        CIPHER.open(bytes(sealed), b"place")


@given(contents, st.data())
def test_what_is_cut_short_or_longer_is_refused(content: bytes, data: st.DataObject) -> None:
    """Anything but the whole is nothing."""
    sealed = CIPHER.seal(content, b"place")
    cut = data.draw(st.integers(0, len(sealed) - 1))

    for broken in (sealed[:cut], sealed[cut + 1 :], sealed + b"\0"):
        with pytest.raises(REFUSED):
            CIPHER.open(broken, b"place")


@given(st.binary(max_size=100))
def test_any_other_bytes_are_refused(sealed: bytes) -> None:
    """Nothing but these errors ever comes of what a store holds."""
    with pytest.raises(REFUSED):
        CIPHER.open(sealed, b"place")
    assert not CIPHER.is_current(sealed)


@given(contents)
def test_a_key_that_is_not_here_is_told_from_damage(content: bytes) -> None:
    """With the key the content could be read: nobody may take it for lost (E7)."""
    sealed = CIPHER.seal(content, b"place")

    for ring in (AesGcmCipher({"new": NEW}, current="new"), AesGcmCipher({"old": OTHER}, current="old")):
        with pytest.raises(ContentKeyError) as refused:
            ring.open(sealed, b"place")
        assert isinstance(refused.value, StoreUnavailableError)
        assert not isinstance(refused.value, StoredFormError)
        assert not ring.is_current(sealed)


def test_old_keys_are_read_and_the_current_one_seals() -> None:
    """A ring rotates."""
    ring = AesGcmCipher({"old": OLD, "new": NEW}, current="new")
    before, after = CIPHER.seal(b"text", b"place"), ring.seal(b"text", b"place")

    assert ring.open(before, b"place") == ring.open(after, b"place") == b"text"
    assert (ring.is_current(before), ring.is_current(after)) == (False, True)
    with pytest.raises(ContentKeyError, match="'new'"):
        CIPHER.open(after, b"place")


def test_the_same_is_never_sealed_alike() -> None:
    """Nobody sees that two contents are equal."""
    assert len({CIPHER.seal(b"text", b"place") for _ in range(1000)}) == 1000


@pytest.mark.parametrize("key", [b"", b"k" * 31, b"k" * 33, "k" * 32, None, bytearray(32)])
def test_a_key_is_32_bytes_and_is_never_shown(key: object) -> None:
    """What is no key is refused without showing it."""
    with pytest.raises(InvalidValueError) as refused:
        AesGcmCipher({"k1": key}, current="k1")  # type: ignore[dict-item]
    assert "kk" not in str(refused.value)


@pytest.mark.parametrize("key_id", ["", "a b", "ä", "x" * 65, 1, None, "a\n"])
def test_an_id_is_a_plain_word(key_id: object) -> None:
    """It stands beside what is sealed."""
    with pytest.raises(InvalidValueError):
        AesGcmCipher({key_id: OLD}, current=key_id)  # type: ignore[dict-item,arg-type]


def test_the_current_key_is_one_of_the_ring() -> None:
    """Nothing can be sealed with a key that is not there."""
    with pytest.raises(InvalidValueError):
        AesGcmCipher({"old": OLD}, current="new")
    with pytest.raises(InvalidValueError):
        AesGcmCipher({}, current="new")


def test_no_text_shows_a_key(caplog: pytest.LogCaptureFixture) -> None:
    """Neither the object nor an error of it, nor its attributes."""
    secret = b"s3cr3t-s3cr3t-s3cr3t-s3cr3t-s3cr"
    ring = AesGcmCipher({"k1": secret}, current="k1")
    sealed = ring.seal(b"text", b"place")
    texts = [repr(ring), str(ring), repr([getattr(ring, name) for name in ring.__slots__])]
    for broken in (sealed[:-1], b"", sealed.replace(b"k1", b"k2")):
        with pytest.raises(REFUSED) as refused:
            ring.open(broken, b"place")
        texts += [str(refused.value), repr(refused.value)]
    logging.getLogger("nr_agent_core").warning("%r", ring)

    assert "s3cr3t" not in "".join([*texts, caplog.text])


def test_a_missing_library_names_the_extra() -> None:
    """Whoever has to install something is told what."""
    code = (
        "import sys; sys.modules['cryptography'] = None\n"
        "try: import nr_agent_core.adapters.aes_gcm_cipher\n"
        "except ModuleNotFoundError as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "nr-agent-core[crypto]" in said.stdout
