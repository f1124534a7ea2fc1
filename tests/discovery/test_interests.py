"""What an endpoint is in a summary: kinds turned around, and the halves of a service as one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rookery.discovery.interests import interest_of, interest_of_endpoint
from rookery.filters import endpoint_key
from rookery.rtps import Guid
from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.identity import READER_KEYED, WRITER_KEYLESS

NAMES = st.one_of(st.text(min_size=1), st.sampled_from(["rr/addReply", "rq/addRequest", "rt/odom", "rr/Reply"]))
TYPES = st.one_of(st.text(min_size=1), st.sampled_from(["p::Add_Response_", "p::Add_Request_", "_Response_"]))


@given(topic=NAMES, type_name=TYPES)
def test_what_a_writer_seeks_is_what_the_reader_has(topic: str, type_name: str) -> None:
    writer = interest_of(kind="W", topic=topic, type_name=type_name)
    reader = interest_of(kind="R", topic=topic, type_name=type_name)
    assert (writer.own, writer.sought) == (reader.sought, reader.own)
    assert writer.own != writer.sought


def test_an_endpoint_has_the_key_of_the_specification() -> None:
    found = interest_of(kind="W", topic="rt/odom", type_name="nav::Odometry_")
    assert found.own == endpoint_key(kind="W", topic="rt/odom", type_name="nav::Odometry_")
    assert found.sought == endpoint_key(kind="R", topic="rt/odom", type_name="nav::Odometry_")


def test_request_and_reply_of_a_service_are_one_interest() -> None:
    request = {"topic": "rq/addRequest", "type_name": "srv::dds_::Add_Request_"}
    reply = {"topic": "rr/addReply", "type_name": "srv::dds_::Add_Response_"}
    client = {interest_of(kind="W", **request), interest_of(kind="R", **reply)}
    server = {interest_of(kind="R", **request), interest_of(kind="W", **reply)}
    assert len(client) == len(server) == 1
    assert client.pop().sought == server.pop().own


def test_the_kind_of_an_announced_endpoint_is_in_its_name() -> None:
    writer = EndpointAnnouncement(Guid(b"p" * 12, 0x100 | WRITER_KEYLESS), "t", "T")
    reader = EndpointAnnouncement(Guid(b"p" * 12, 0x200 | READER_KEYED), "t", "T")
    assert interest_of_endpoint(writer) == interest_of(kind="W", topic="t", type_name="T")
    assert interest_of_endpoint(reader) == interest_of(kind="R", topic="t", type_name="T")
