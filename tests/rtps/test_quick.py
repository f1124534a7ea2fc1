"""The short way of reading submessages reads what the decoders read, and never anything else."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import WireFormatError
from rookery.rtps.octets import Cursor
from rookery.rtps.quick import QUICK
from rookery.rtps.submessages import DECODERS, Data, Heartbeat, InfoTimestamp, ToParticipant, encode_sample_data

ENTITIES = st.integers(0, (1 << 32) - 1)
NUMBERS = st.integers(1, (1 << 63) - 1)


@given(st.sampled_from(sorted(QUICK)), st.binary(max_size=48), st.integers(0, 3), st.integers(0, 3))
def test_any_octets_are_read_alike_or_declined(kind: bytes, body: bytes, before: int, after: int) -> None:
    data = b"\xaa" * before + body + b"\xbb" * after
    end = before + len(body)
    found = QUICK[kind](data, before, end)
    try:
        plain = DECODERS[kind[0]](Cursor(data, little=True, start=before, end=end), kind[1])
    except WireFormatError:
        assert found is None
    else:
        assert found is None or found == plain


@given(ENTITIES, ENTITIES, NUMBERS, st.integers(0, 9), st.binary(max_size=40), st.booleans())
def test_what_is_regular_is_not_declined(
    reader: int, writer: int, first: int, more: int, payload: bytes, final: bool
) -> None:
    last = min(first - 1 + more, (1 << 63) - 1)
    for said in (
        Data(reader, writer, first, payload),
        Heartbeat(reader, writer, first, last, more, final),
        InfoTimestamp(1_700_000_000_123_456),
        ToParticipant(b"participant."),
    ):
        octets = said.encode()
        assert QUICK[octets[:2]](octets, 4, len(octets)) == said


@given(ENTITIES, ENTITIES, NUMBERS, st.integers(0, 70_000))
def test_the_template_of_a_sample_is_data(reader: int, writer: int, sequence: int, size: int) -> None:
    payload = bytes(size)
    octets = encode_sample_data(struct.pack(">II", reader, writer), sequence, payload)
    assert octets == Data(reader, writer, sequence, payload).encode()
