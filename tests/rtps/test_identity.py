"""Names: a GUID survives bytes and text, and its entity says what it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.rtps.identity import (
    READER_KEYED,
    READER_KEYLESS,
    SPDP_WRITER,
    WRITER_KEYED,
    WRITER_KEYLESS,
    Guid,
    guid_from_octets,
    guid_from_text,
    is_builtin,
    is_keyed,
    is_reader,
    is_writer,
)

GUIDS = st.builds(Guid, st.binary(min_size=12, max_size=12), st.integers(0, 0xFFFFFFFF))


@given(GUIDS)
def test_a_guid_survives_bytes_and_text(guid: Guid) -> None:
    assert guid_from_octets(guid.octets()) == guid
    assert len(guid.octets()) == 16
    assert guid_from_text(str(guid)) == guid


@pytest.mark.parametrize(
    ("kind", "writes", "keyed"),
    [
        (WRITER_KEYED, True, True),
        (WRITER_KEYLESS, True, False),
        (READER_KEYED, False, True),
        (READER_KEYLESS, False, False),
    ],
)
def test_the_kind_says_what_an_entity_is(kind: int, writes: bool, keyed: bool) -> None:
    entity = 5 << 8 | kind
    assert (is_writer(entity), is_reader(entity), is_keyed(entity)) == (writes, not writes, keyed)
    assert not is_builtin(entity)
    assert is_builtin(SPDP_WRITER)
