"""The tables of endpoints are by topic, and a pair needs the same type, the same kind of key, and enough quality."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rookery.participant.endpoints import ByTopic, obstacles
from rookery.rtps import Address, Guid, QualityOfService, Reliability
from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.peers import Destination
from rookery.rtps.sedp import RemoteEndpoint

PLACE = Destination(b"p" * 12, Address("127.0.0.1", 1))
STEPS = st.lists(st.tuples(st.booleans(), st.integers(1, 8), st.sampled_from("abc")))


def endpoint(number: int, topic: str) -> RemoteEndpoint:
    return RemoteEndpoint(EndpointAnnouncement(Guid(b"p" * 12, number << 8 | 3), topic, "T"), PLACE)


@given(STEPS)
def test_a_topic_has_those_that_were_added_and_not_removed(steps: list[tuple[bool, int, str]]) -> None:
    table: ByTopic[RemoteEndpoint] = ByTopic()
    plain: dict[Guid, RemoteEndpoint] = {}
    for adds, number, topic in steps:
        one = endpoint(number, topic)
        guid = one.announcement.guid
        if adds and guid not in plain:
            table.add(one)
            plain[guid] = one
        elif not adds:
            assert table.remove(guid) == plain.pop(guid, None)
    assert list(table) == list(plain.values())
    for topic in "abc":
        assert list(table.of_topic(topic)) == [one for one in plain.values() if one.announcement.topic == topic]
    for number in range(1, 9):
        guid = Guid(b"p" * 12, number << 8 | 3)
        assert table.get(guid) == plain.get(guid)


def test_what_keeps_two_apart() -> None:
    writer = EndpointAnnouncement(Guid(b"w" * 12, 0x103), "topic", "T")
    reader = EndpointAnnouncement(Guid(b"r" * 12, 0x204), "topic", "T")
    assert obstacles(writer=writer, reader=reader) == ()
    assert obstacles(writer=writer, reader=replace(reader, type_name="Other")) == ("type_name",)
    assert obstacles(writer=writer, reader=replace(reader, guid=Guid(b"r" * 12, 0x207))) == ("keyed",)
    demanding = replace(reader, qos=QualityOfService(reliability=Reliability.RELIABLE))
    assert obstacles(writer=replace(writer, qos=QualityOfService()), reader=demanding) == ("reliability",)
