"""Whose samples are taken: of the strongest writer that is there, and the newest; beside a plain twin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.errors import UnsupportedPolicyError
from rookery.participant.arbitration import Arbitration
from rookery.participant.event_types import event_type
from rookery.participant.exchange import Exchange
from rookery.participant.instances import InstanceState
from rookery.rtps.announcements import EndpointAnnouncement, decode_endpoint
from rookery.rtps.cdr import encode_key, encode_sample, key_hash
from rookery.rtps.events import QualityIncompatible, SampleKind, SampleReceived, SampleSuperseded
from rookery.rtps.identity import READER_KEYED, WRITER_KEYED, Guid
from rookery.rtps.qos import (
    INFINITE,
    XCDR1,
    XCDR2,
    DestinationOrder,
    Liveliness,
    Ownership,
    QualityOfService,
    Reliability,
    require_supported,
)
from rookery.rtps.types import CdrMember, CdrStruct, Primitive
from rookery.simulated.domain import SimulatedNetwork

SECOND = 1_000_000
RELIABLE = QualityOfService(reliability=Reliability.RELIABLE, history_depth=None)
EXCLUSIVE = replace(RELIABLE, ownership=Ownership.EXCLUSIVE)
BY_SOURCE = replace(RELIABLE, destination_order=DestinationOrder.BY_SOURCE)
KEYED = CdrStruct("T", (CdrMember("k", Primitive.INT32, key=True), CdrMember("v", Primitive.INT64, key=True)))
READER = Guid(b"0123456789ab", 0x100 | READER_KEYED)
WRITERS = [Guid(bytes([number]) * 12, 0x100 | WRITER_KEYED) for number in (3, 1, 2)]
TYPE = event_type({"symbol": "string", "price": "float64"}, type_name="Quote", key=("symbol",))


def strong(strength: int, **policies: Any) -> QualityOfService:
    return replace(EXCLUSIVE, ownership_strength=strength, **policies)


# ---- beside a twin -----------------------------------------------------------------------------------------------


def taken_by_definition(
    said: list[tuple[int, int, int, int, bool]], qos: QualityOfService, offers: list[Any]
) -> list[bool]:
    """Judge each of some samples (writer, key, written, now, end of instance) by all that were taken before it."""
    verdicts: list[bool] = []
    for place, (writer, key, written, now, _) in enumerate(said):
        before = [one for one, taken in zip(said[:place], verdicts, strict=True) if taken and one[1] == key]
        taken = True
        if before and qos.ownership is Ownership.EXCLUSIVE:
            owner, _, _, heard, ended = before[-1]
            rules = owner != writer and not ended and now - heard <= qos.deadline and offers[owner] is not None
            ranks = [(-offers[one].ownership_strength, WRITERS[one]) for one in (writer, owner)] if rules else [0, 0]
            taken = not rules or ranks[0] < ranks[1]
        if before and qos.destination_order is DestinationOrder.BY_SOURCE:
            last = before[-1]
            taken = taken and (written, -order(writer)) >= (last[2], -order(last[0]))
        verdicts.append(taken)
    return verdicts


def order(writer: int) -> int:
    return sorted(WRITERS).index(WRITERS[writer])


@settings(max_examples=300)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 5), st.integers(0, 4), st.booleans()),
        max_size=14,
    ),
    st.sampled_from(
        [EXCLUSIVE, replace(EXCLUSIVE, deadline=5), BY_SOURCE, replace(BY_SOURCE, ownership=Ownership.EXCLUSIVE)]
    ),
    st.lists(st.integers(-1, 1), min_size=3, max_size=3),
)
def test_what_is_taken_is_what_the_definition_says(said, qos, strengths) -> None:
    offers = [strong(strength) for strength in strengths]
    arbitration = Arbitration(epoch=0, offer_of=lambda guid: offers[WRITERS.index(guid)])
    arbitration.begin(READER, qos, KEYED)
    now, history, found = 0, [], []
    for writer, key, written, later, ended in said:
        now += later
        kind = SampleKind.UNREGISTERED if ended else SampleKind.ALIVE
        value = {"k": key, "v": 7}
        payload = (encode_key if ended else encode_sample)(KEYED, value)
        sample = SampleReceived(READER, WRITERS[writer], 1, kind, payload, written)
        judged = arbitration.judge(sample, now)
        assert judged == sample or judged == SampleSuperseded(sample)
        history.append((writer, key, written, now, ended))
        found.append(judged is sample)
    assert found == taken_by_definition(history, qos, offers)


def test_a_writer_that_is_gone_has_nothing_and_one_that_has_not_written_neither() -> None:
    offers = dict(zip(WRITERS, (strong(1), strong(2), strong(3)), strict=True))
    arbitration = Arbitration(epoch=0, offer_of=offers.get)
    arbitration.begin(READER, EXCLUSIVE, KEYED)

    def takes(writer: int, key: int = 1) -> bool:
        payload = encode_sample(KEYED, {"k": key, "v": 0})
        return isinstance(
            arbitration.judge(SampleReceived(READER, WRITERS[writer], 1, SampleKind.ALIVE, payload, 0), 0),
            SampleReceived,
        )

    assert takes(0)
    assert takes(1)
    assert not takes(0)
    assert takes(0, key=2)  # the strong ones have not written this one
    del offers[WRITERS[1]]
    assert takes(0)
    arbitration.forget(READER)
    assert [takes(0), takes(2), takes(0)] == [True, True, True]


def test_writers_of_two_representations_mean_the_same_instance() -> None:
    """A key of 32 and of 64 bits: the hash that a sample brings along is not that of another version of XCDR."""
    arbitration = Arbitration(epoch=0, offer_of=lambda guid: strong(WRITERS.index(guid)))
    arbitration.begin(READER, EXCLUSIVE, KEYED)
    value, verdicts = {"k": 1, "v": 2}, []
    assert key_hash(KEYED, value, representation=XCDR1) != key_hash(KEYED, value, representation=XCDR2)
    for writer, representation in ((1, XCDR1), (0, XCDR2)):
        payload = encode_sample(KEYED, value, representation=representation)
        name = key_hash(KEYED, value, representation=representation)
        sample = SampleReceived(READER, WRITERS[writer], 1, SampleKind.ALIVE, payload, 0, name)
        verdicts.append(arbitration.judge(sample, 0) is sample)
    assert verdicts == [True, False]


# ---- in a domain -------------------------------------------------------------------------------------------------


class Node:
    """A participant with an exchange; `got` are the prices that its subscription was given."""

    def __init__(self, network: SimulatedNetwork, **options: Any) -> None:
        self.member = network.join(period=SECOND, lease=10 * SECOND, **options)
        self.exchange = Exchange(self.member.participant)
        self.got: list[float] = []
        self.events: list[Any] = []
        self.member.on_event = self._take

    def _take(self, event: Any) -> None:
        self.events.append(event)
        for delivery in self.exchange.take(event):
            self.got.append(delivery.event["price"])
            self.exchange.taken(delivery)
        self.exchange.instance_changes(event)

    def read(self, qos: QualityOfService, where: str | None = None, **options: Any) -> None:
        self.exchange.subscribe("quotes", where, type=TYPE, qos=qos, now=self.member.now, **options)
        self.member.flush()

    def advertise(self, qos: QualityOfService) -> Guid:
        guid = self.exchange.advertise("quotes", type=TYPE, qos=qos, now=self.member.now)
        self.member.flush()
        return guid

    def write(self, price: float, symbol: str = "A") -> None:
        self.exchange.publish("quotes", {"symbol": symbol, "price": price}, now=self.member.now)
        self.member.flush()

    def end(self, kind: SampleKind) -> None:
        self.exchange.end("quotes", {"symbol": "A"}, kind, now=self.member.now)
        self.member.flush()

    def settle(self) -> None:
        self.exchange.settle(self.member.now)
        self.member.flush()


def meet(*offers: QualityOfService, requested: QualityOfService = EXCLUSIVE, **options: Any) -> tuple[Any, ...]:
    """Return a network, a node that reads, and nodes that write, all matched."""
    network = SimulatedNetwork(1)
    reader, *writers = nodes = [Node(network) for _ in range(len(offers) + 1)]
    reader.read(requested, **options)
    for writer, offer in zip(writers, offers, strict=True):
        writer.advertise(offer)
    network.run(3 * SECOND)
    return network, *nodes


def test_the_strongest_has_an_instance_until_it_is_gone() -> None:
    network, reader, weak, stronger = meet(strong(1), strong(2))
    for price, writer, symbol in (
        (1, weak, "A"),
        (2, stronger, "A"),
        (3, weak, "A"),
        (4, weak, "B"),
        (5, stronger, "A"),
    ):
        writer.write(price, symbol)
        network.run(SECOND // 10)
    assert reader.got == [1, 2, 4, 5]
    stronger.member.crash()
    weak.write(6)
    network.run(5 * SECOND)
    assert reader.got == [1, 2, 4, 5]  # nobody can know yet
    network.run(8 * SECOND)
    weak.write(7)
    network.run(SECOND)
    assert reader.got == [1, 2, 4, 5, 7]


def test_who_unregisters_or_is_silent_lets_go_and_who_disposes_does_not() -> None:
    network, reader, weak, stronger = meet(
        strong(1, deadline=2 * SECOND), strong(2, deadline=2 * SECOND), requested=strong(0, deadline=2 * SECOND)
    )
    stronger.write(1)
    network.run(SECOND)
    stronger.end(SampleKind.DISPOSED)
    weak.write(2)
    network.run(SECOND)
    assert reader.got == [1]
    stronger.end(SampleKind.UNREGISTERED)
    weak.write(3)
    network.run(SECOND)
    assert reader.got == [1, 3]
    stronger.write(4)
    network.run(SECOND)
    weak.write(5)
    network.run(SECOND)
    assert reader.got == [1, 3, 4]
    network.run(2 * SECOND)
    weak.write(6)  # the deadline of the strong one has passed
    network.run(SECOND)
    stronger.write(7)
    weak.write(8)
    network.run(SECOND)
    assert reader.got == [1, 3, 4, 6, 7]


def test_who_gives_no_sign_of_life_lets_go() -> None:
    manual = {"liveliness": Liveliness.MANUAL_BY_TOPIC, "liveliness_lease": SECOND}
    network, reader, weak, stronger = meet(strong(1, **manual), strong(2, **manual), requested=strong(0, **manual))
    stronger.write(1)
    weak.write(2)
    network.run(SECOND // 2)
    assert reader.got == [1]
    network.run(SECOND)
    weak.write(3)
    network.run(SECOND // 2)
    stronger.write(4)
    weak.write(5)
    network.run(SECOND // 2)
    assert reader.got == [1, 3, 4]


def test_what_is_not_taken_is_acknowledged_and_changes_no_instance() -> None:
    network, reader, weak, stronger = meet(strong(1), strong(2), at_most=300, with_instances=True)
    stronger.write(1)
    network.run(SECOND // 10)
    weak.write(2)
    weak.end(SampleKind.DISPOSED)
    network.run(SECOND)
    writer = weak.exchange.writer_of("quotes")
    assert not weak.member.participant.is_acknowledged(writer)
    reader.settle()
    network.run(SECOND)
    assert weak.member.participant.is_acknowledged(writer)
    assert reader.got == [1]
    assert reader.exchange.instances_of("quotes") == [({"symbol": "A"}, InstanceState.ALIVE)]
    assert sum(isinstance(event, SampleSuperseded) for event in reader.events) == 2
    stronger.end(SampleKind.UNREGISTERED)
    network.run(SECOND)
    # The weak one has it still.
    assert reader.exchange.instances_of("quotes") == [({"symbol": "A"}, InstanceState.ALIVE)]


def test_a_filter_is_kept_from_writers_that_are_judged() -> None:
    """Else the weak one's price would be taken while the strong one says another, which the filter left out."""
    network, reader, weak, stronger = meet(strong(1), strong(2), where="price < 10")
    stronger.write(12)
    network.run(SECOND // 10)
    weak.write(9)
    network.run(SECOND)
    assert reader.got == []


def test_readers_and_writers_of_one_participant() -> None:
    network, reader, other = meet(strong(1))
    reader.advertise(strong(2))
    reader.write(1)
    other.write(2)
    network.run(SECOND)
    assert reader.got == [1]
    reader.member.participant.delete_endpoint(reader.exchange.writer_of("quotes"), reader.member.now)
    other.write(3)
    network.run(SECOND)
    assert reader.got == [1, 3]


def test_an_older_sample_is_left_out_by_source_time_alone() -> None:
    for requested, expected in ((BY_SOURCE, [2.0, 3.0]), (RELIABLE, [2.0, 1.0, 3.0])):
        network, reader, one, other = meet(BY_SOURCE, BY_SOURCE, requested=requested)
        network.cut(one.member, reader.member)
        one.write(1)
        network.run(SECOND)
        other.write(2)
        network.run(SECOND)
        network.mend(one.member, reader.member)
        network.run(3 * SECOND)
        one.write(3)
        network.run(SECOND)
        assert reader.got == expected


@pytest.mark.parametrize(
    ("offered", "requested", "fault"),
    [
        (EXCLUSIVE, RELIABLE, "ownership"),
        (RELIABLE, EXCLUSIVE, "ownership"),
        (RELIABLE, BY_SOURCE, "destination_order"),
        (replace(RELIABLE, latency_budget=5), RELIABLE, "latency_budget"),
    ],
)
def test_who_offers_and_asks_for_other_things_is_apart(offered, requested, fault) -> None:
    _, reader, _ = meet(offered, requested=requested)
    assert [event.policies for event in reader.events if isinstance(event, QualityIncompatible)] == [(fault,)]


def test_policies_travel_and_nonsense_is_refused() -> None:
    for strength in (0, 7, -(1 << 31)):
        qos = strong(strength, latency_budget=1_000, destination_order=DestinationOrder.BY_SOURCE, deadline=INFINITE)
        for little in (True, False):
            octets = EndpointAnnouncement(WRITERS[0], "t", "T", qos).encode(little=little)
            assert decode_endpoint(octets).qos == qos
    for wrong in (replace(RELIABLE, ownership_strength=1), strong(1 << 31), replace(RELIABLE, latency_budget=-1)):
        with pytest.raises(UnsupportedPolicyError):
            require_supported(wrong)
