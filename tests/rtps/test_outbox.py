"""What waits to be sent leaves in as few datagrams as it fits into, each for one participant, none too large."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rookery.rtps.identity import UNKNOWN_PREFIX
from rookery.rtps.locators import Address
from rookery.rtps.messages import decode_message
from rookery.rtps.outbox import Outbox
from rookery.rtps.peers import Destination
from rookery.rtps.submessages import Data, InfoTimestamp, ToParticipant

OURS = b"ours........"
PLACES = [
    Destination(prefix, Address("127.0.0.1", port))
    for prefix in (b"one.........", b"other.......", UNKNOWN_PREFIX)
    for port in (1, 2)
]
ENTRIES = st.lists(st.tuples(st.sampled_from(PLACES), st.integers(0, 600), st.none() | st.integers(0, 2)), max_size=30)


@given(ENTRIES)
def test_everything_arrives_in_order_for_whom_and_with_the_time_it_is_meant(
    entries: list[tuple[Destination, int, int | None]],
) -> None:
    outbox = Outbox(OURS, datagram_bytes=700, permit=lambda *_: True)
    for number, (place, size, time) in enumerate(entries, start=1):
        outbox.add(place, Data(0, 3, number, bytes(size - size % 4)), timestamp=time)
    arrived: dict[Address, list[tuple[bytes, int, int | None]]] = {}
    for address, datagram in outbox.sends():
        message = decode_message(datagram)
        assert message.fault is None
        assert message.prefix == OURS
        assert len(datagram) <= 700 or sum(isinstance(s, Data) for s in message.submessages) == 1
        prefix, time = UNKNOWN_PREFIX, None
        for submessage in message.submessages:
            if isinstance(submessage, ToParticipant):
                prefix = submessage.prefix
            elif isinstance(submessage, InfoTimestamp):
                time = submessage.microseconds
            elif isinstance(submessage, Data):
                arrived.setdefault(address, []).append((prefix, submessage.sequence, time))
    for address in {place.address for place in PLACES}:
        meant = [
            (place.prefix, number, time)
            for number, (place, _, time) in enumerate(entries, start=1)
            if place.address == address
        ]
        got = arrived.get(address, [])
        assert [entry[:2] for entry in got] == [entry[:2] for entry in meant]
        # Whoever gave no time does not care which one is in force.
        assert all(time is None or time == seen for (_, _, time), (_, _, seen) in zip(meant, got, strict=True))
    assert outbox.sends() == []


def test_what_is_not_permitted_is_not_sent() -> None:
    asked: list[tuple[Destination, int]] = []

    def permit(destination: Destination, octets: int) -> bool:
        asked.append((destination, octets))
        return destination != PLACES[0]

    outbox = Outbox(OURS, datagram_bytes=700, permit=permit)
    for place in PLACES[:4]:
        outbox.add(place, Data(0, 3, 1, bytes(8)))
    sent = outbox.sends()
    assert [destination for destination, _ in asked] == [PLACES[0], PLACES[2], PLACES[1], PLACES[3]]
    assert len(sent) == 3
    assert {len(datagram) for _, datagram in sent} == {octets for _, octets in asked}
