"""Whatever can be said can be read back, in both byte orders; whatever cannot be read never raises."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import WireFormatError
from rookery.rtps.announcements import (
    EndpointAnnouncement,
    ParticipantAnnouncement,
    decode_endpoint,
    decode_participant,
)
from rookery.rtps.identity import WRITER_KEYED, Guid
from rookery.rtps.locators import Locator
from rookery.rtps.messages import decode_message, encode_header, encode_message
from rookery.rtps.octets import Cursor
from rookery.rtps.parameters import Parameter, encode_list, read_list
from rookery.rtps.qos import (
    INFINITE,
    DestinationOrder,
    Durability,
    Liveliness,
    Ownership,
    Presentation,
    QualityOfService,
    Reliability,
    TypeConsistency,
)
from rookery.rtps.sequences import NumberSet
from rookery.rtps.submessages import (
    AckNack,
    Data,
    DataFragment,
    Gap,
    Heartbeat,
    HeartbeatFragment,
    InfoTimestamp,
    NackFragment,
    Pad,
    SourceChange,
    ToParticipant,
)

prefixes = st.binary(min_size=12, max_size=12)
entities = st.integers(0, 0xFFFFFFFF)
sequences = st.integers(1, 1 << 62)
counts = st.integers(0, 0xFFFFFFFF)
words = st.integers(1, 0xFFFFFFFF)
quads = st.binary(max_size=64).map(lambda octets: octets + bytes(-len(octets) % 4))


@st.composite
def number_sets(draw: st.DrawFn, base: st.SearchStrategy[int] = sequences) -> NumberSet:
    length = draw(st.integers(0, 256))
    return NumberSet(draw(base), length, draw(st.integers(0, (1 << length) - 1)))


inline = st.lists(st.builds(Parameter, st.integers(2, 0x3FFF) | st.integers(0x8000, 0xBFFF), quads), max_size=4).map(
    tuple
)


@st.composite
def data(draw: st.DrawFn) -> Data:
    payload = draw(st.none() | quads)
    key_only = payload is not None and draw(st.booleans())
    return Data(draw(entities), draw(entities), draw(sequences), payload, key_only, draw(inline))


@st.composite
def fragments(draw: st.DrawFn) -> DataFragment:
    size, first, count = draw(st.integers(1, 64)), draw(st.integers(1, 1_000)), draw(st.integers(1, 5))
    sample_size = draw(st.integers((first - 1) * size + 1, (first + 10) * size))
    length = min(count * size, sample_size - (first - 1) * size)
    payload = draw(st.binary(min_size=length, max_size=length))
    return DataFragment(
        draw(entities), draw(entities), draw(sequences), first, count, size, sample_size, payload,
        draw(st.booleans()), draw(inline),
    )  # fmt: skip


@st.composite
def heartbeats(draw: st.DrawFn) -> Heartbeat:
    first = draw(sequences)
    last = draw(st.integers(first - 1, 1 << 62 | 1))
    return Heartbeat(
        draw(entities), draw(entities), first, last, draw(counts), draw(st.booleans()), draw(st.booleans())
    )


@st.composite
def gaps(draw: st.DrawFn) -> Gap:
    start = draw(st.integers(1, 1 << 40))
    return Gap(draw(entities), draw(entities), start, draw(number_sets(st.integers(start, 1 << 41))))


submessages = st.one_of(
    st.builds(Pad),
    st.builds(InfoTimestamp, st.none() | st.integers(0, 0xFFFFFFFF * 1_000_000)),
    st.builds(ToParticipant, prefixes),
    st.builds(SourceChange, st.tuples(st.just(2), st.integers(0, 255)), st.binary(min_size=2, max_size=2), prefixes),
    data(),
    fragments(),
    heartbeats(),
    st.builds(HeartbeatFragment, entities, entities, sequences, words, counts),
    st.builds(AckNack, entities, entities, number_sets(), counts, st.booleans()),
    st.builds(NackFragment, entities, entities, sequences, number_sets(st.integers(1, 1 << 31)), counts),
    gaps(),
)


@given(prefixes, st.lists(submessages, max_size=6), st.booleans())
def test_messages_come_back(prefix: bytes, said: list[object], little: bool) -> None:
    message = decode_message(encode_message(prefix, said, little=little))  # type: ignore[arg-type]
    assert message.fault is None
    assert message.prefix == prefix
    assert list(message.submessages) == said


@given(prefixes, st.lists(submessages, min_size=1, max_size=3), st.data())
def test_a_message_cut_short_gives_what_came_before(prefix: bytes, said: list[object], choose: st.DataObject) -> None:
    octets = encode_message(prefix, said)  # type: ignore[arg-type]
    cut = choose.draw(st.integers(0, len(octets) - 1))
    message = decode_message(octets[:cut])
    # The last one of them may be read differently: a submessage of length 0 reaches to wherever the message ends.
    assert len(message.submessages) <= len(said)
    assert list(message.submessages[:-1]) == said[: max(0, len(message.submessages) - 1)]


@given(st.binary(max_size=400))
def test_noise_never_raises(octets: bytes) -> None:
    decode_message(octets)
    decode_message(encode_header(bytes(range(12))) + octets)


@given(st.lists(st.builds(Parameter, st.integers(2, 0xFFFF), quads), max_size=6), st.booleans())
def test_parameter_lists_come_back(parameters: list[Parameter], little: bool) -> None:
    octets = encode_list(parameters, little=little)
    assert read_list(Cursor(octets, little=little)) == parameters


@given(number_sets())
def test_number_sets_hold_what_they_were_given(numbers: NumberSet) -> None:
    members = [numbers.base + i for i in range(numbers.length) if numbers.bits >> i & 1]
    assert list(numbers) == members
    assert list(NumberSet.of(members, base=numbers.base)) == members


durations = st.integers(0, INFINITE - 1) | st.just(INFINITE)
names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
qualities = st.builds(
    QualityOfService,
    st.sampled_from(Reliability),
    st.sampled_from(Durability),
    st.none() | st.integers(1, 0x7FFFFFFF),
    durations,
    st.lists(names, max_size=3).map(tuple),
    st.sampled_from(Ownership),
    st.sampled_from(Liveliness),
    durations,
    durations,
    st.sampled_from(DestinationOrder),
    st.sampled_from(Presentation),
    st.booleans(),
    st.booleans(),
    st.lists(st.integers(0, 2), min_size=1, max_size=3).map(tuple),
    ownership_strength=st.integers(-(1 << 31), (1 << 31) - 1),
    type_consistency=st.builds(TypeConsistency, *[st.booleans()] * 6),
)
locators = st.lists(
    st.builds(Locator, st.integers(-1, 4), st.integers(0, 0xFFFFFFFF), st.binary(min_size=16, max_size=16)), max_size=3
).map(tuple)
guids = st.builds(Guid, prefixes, st.integers(0, 0xFFFFFF).map(lambda n: n << 8 | WRITER_KEYED))


@given(st.builds(EndpointAnnouncement, guids, names, names, qualities, locators), st.booleans())
def test_endpoint_announcements_come_back(endpoint: EndpointAnnouncement, little: bool) -> None:
    # INFINITE is the only value whose microseconds the wire does not hold: it says "infinite" instead.
    assert decode_endpoint(endpoint.encode(little=little)) == endpoint


participants = st.builds(
    ParticipantAnnouncement,
    prefixes,
    durations,
    locators,
    locators,
    st.none() | st.integers(0, 232),
    st.just("") | names,
    st.integers(0, 0xFFFFFFFF),
    st.tuples(st.just(2), st.integers(1, 5)),
    st.binary(min_size=2, max_size=2),
    st.just("") | names,
    st.lists(st.tuples(names, names), max_size=3).map(tuple),
    st.lists(st.builds(Parameter, st.integers(0x8000, 0xBFFF), quads), max_size=3).map(tuple),
)


@given(participants, st.booleans())
def test_participant_announcements_come_back(participant: ParticipantAnnouncement, little: bool) -> None:
    assert decode_participant(participant.encode(little=little)) == participant


@pytest.mark.parametrize(
    ("octets", "reason"),
    [
        (b"RTPX" + bytes(16), "no RTPS header"),
        (b"RTPS\x03\x00" + bytes(14), "version 3.0"),
        (encode_header(bytes(12)) + b"\x15\x01", "cut short"),
        (encode_header(bytes(12)) + b"\x15\x01\xff\x00" + bytes(8), "255 octets, 8 left"),
        (encode_header(bytes(12)) + b"\x0e\x01\x04\x00" + bytes(4), "12 octets expected"),
        (encode_header(bytes(12)) + struct.pack("<BBHIIiIiII", 7, 1, 28, 0, 0, 0, 5, 0, 3, 1), "from 5 to 3"),
        (encode_header(bytes(12)) + struct.pack("<BBHIIiIiII", 7, 1, 28, 0, 0, 0, 0, 0, 0, 1), "heartbeat from 0"),
        (encode_header(bytes(12)) + struct.pack("<BBHIIiIII", 6, 1, 24, 0, 0, 0, 1, 1 << 31, 1), "2147483648 bits"),
        (encode_header(bytes(12)) + struct.pack("<BBHIIiII9II", 6, 1, 60, 0, 0, 0, 1, 257, *[0] * 10), "257 bits"),
        (
            encode_header(bytes(12)) + struct.pack("<BBHHHIIiIIHHI", 0x16, 1, 32, 0, 28, 0, 0, 0, 1, 1, 1, 0, 9),
            "of 0 octets",
        ),
        (encode_header(bytes(12)) + struct.pack("<BBHHHIIiI", 0x15, 1, 20, 0, 16, 0, 0, -1, 0), "sequence number -"),
        (encode_header(bytes(12)) + struct.pack("<BBHHHIIiI", 0x15, 13, 20, 0, 16, 0, 0, 0, 1), "both a sample and"),
    ],
)
def test_malformed_messages_say_why(octets: bytes, reason: str) -> None:
    message = decode_message(octets)
    assert message.fault is not None
    assert reason in message.fault


def test_unknown_submessages_are_skipped() -> None:
    heartbeat = Heartbeat(1, 2, 1, 5, 3)
    octets = encode_header(bytes(12)) + b"\x7f\x01\x08\x00" + bytes(8) + heartbeat.encode()
    assert decode_message(octets).submessages == (heartbeat,)


def test_a_parameter_that_must_be_understood_refuses_the_announcement() -> None:
    endpoint = EndpointAnnouncement(Guid(bytes(range(12)), 0x102), "t", "T")
    octets = endpoint.encode()
    assert decode_endpoint(octets) == replace(endpoint)
    for identity, refused in ((0x7001, True), (0xCF01, True), (0x3001, False), (0x8F01, False)):
        changed = octets[:-4] + struct.pack("<HH", identity, 0) + octets[-4:]
        if refused:
            with pytest.raises(WireFormatError, match="must be understood"):
                decode_endpoint(changed)
        else:
            assert decode_endpoint(changed) == endpoint
