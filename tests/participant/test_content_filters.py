"""Filters that travel: what a writer leaves out, what it costs, and that nothing wanted is ever left out."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from rookery.model import Schema, parse
from rookery.participant import content_filters
from rookery.participant.content_filters import WriterFilters, filter_of
from rookery.participant.event_types import event_type
from rookery.participant.exchange import Exchange
from rookery.rtps import Limits
from rookery.rtps.announcements import ContentFilter, EndpointAnnouncement, decode_endpoint
from rookery.rtps.events import EndpointMatched, SampleReceived
from rookery.rtps.identity import Guid
from rookery.rtps.parameters import ParameterId
from rookery.rtps.qos import Durability, QualityOfService, Reliability
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant, conditions_between

SECOND = 1_000_000
QUOTES = Schema(symbol=str, price=float, size=int)
TYPE = event_type(QUOTES, type_name="Quote")
RELIABLE = QualityOfService(reliability=Reliability.RELIABLE, history_depth=None)


class Node:
    """A participant with an exchange, whose deliveries are kept."""

    def __init__(self, network: SimulatedNetwork, **options: Any) -> None:
        self.member: SimulatedParticipant = network.join(lease=60 * SECOND, **options)
        self.exchange = Exchange(self.member.participant)
        self.got: dict[int, list[Any]] = {}
        self.member.on_event = self._take

    def _take(self, event: Any) -> None:
        self.member.events.append(event)
        for delivery in self.exchange.take(event):
            self.got[delivery.subscription_id].append(delivery.event["size"])

    def subscribe(self, where: str | None, qos: QualityOfService = RELIABLE, **options: Any) -> int:
        number = self.exchange.subscribe("quotes", where, type=TYPE, qos=qos, now=self.member.now, **options)
        self.got[number] = []
        self.member.flush()
        return number

    def advertise(self, qos: QualityOfService = RELIABLE) -> Guid:
        guid = self.exchange.advertise("quotes", type=TYPE, qos=qos, now=self.member.now)
        self.member.flush()
        return guid

    def publish(self, number: int, price: float) -> None:
        event = {"symbol": "ACME", "price": price, "size": number}
        self.exchange.publish("quotes", event, now=self.member.now)
        self.member.flush()


def matched(network: SimulatedNetwork, node: Node, writer: Guid, count: int) -> None:
    assert network.run(60 * SECOND, until=lambda: len(node.member.participant.matched(writer)) == count)
    assert network.run(60 * SECOND, until=lambda: node.member.participant.is_known(writer))


def test_one_of_1001_events_costs_less_than_5_kilobytes() -> None:
    network = SimulatedNetwork(1)
    one, two = Node(network), Node(network)
    writer, cheap = one.advertise(), two.subscribe("price < 10")
    matched(network, one, writer, 1)
    before = network.bytes_sent
    for number in range(1_001):
        one.publish(number, 5.0 if number == 700 else 50.0)
        network.run(1_000)
    assert network.run(10 * SECOND, until=lambda: one.member.participant.is_acknowledged(writer))
    assert two.got[cheap] == [700]
    assert network.bytes_sent - before < 5_000


@pytest.mark.parametrize("protocol", ["simple", "ribbon"])
@pytest.mark.parametrize("seed", range(6))
def test_nothing_wanted_is_left_out_whatever_is_lost_and_however_filters_change(protocol: str, seed: int) -> None:
    """Subscriptions come and go under load and loss: who is subscribed all the time gets exactly what it wants."""
    dice = random.Random(seed)
    network = SimulatedNetwork(seed, conditions_between(50, 30_000, loss=0.1, duplication=0.1))
    writer_node = Node(network, discovery=protocol)
    readers = [Node(network, discovery=protocol) for _ in range(3)]
    writer = writer_node.advertise()
    lasting = {
        node: (node.subscribe(f"price < {limit}"), limit) for node, limit in zip(readers, (10, 30, 80), strict=True)
    }
    matched(network, writer_node, writer, 3)
    prices, coming = {}, {}
    for number in range(300):
        node = dice.choice(readers)
        if node in coming:
            node.exchange.unsubscribe(coming.pop(node), node.member.now)
            node.member.flush()
        elif dice.random() < 0.5:
            coming[node] = node.subscribe(dice.choice(["size > 100", "price > 90 AND symbol = 'ACME'", None]))
        prices[number] = dice.uniform(0, 100)
        writer_node.publish(number, prices[number])
        network.run(dice.choice([0, 5_000, 50_000]))
    assert network.run(120 * SECOND, until=lambda: writer_node.member.participant.is_acknowledged(writer))
    network.run(5 * SECOND)
    for node, (subscription, limit) in lasting.items():
        assert node.got[subscription] == [number for number, price in prices.items() if price < limit]


def test_many_readers_with_filters_and_a_short_history() -> None:
    """Those who want nothing do not hold up the writer, and a history looked through at times still has room."""
    network = SimulatedNetwork(1, conditions_between(50, 5_000, loss=0.05))
    limits = Limits(history_samples=32)
    one, others = Node(network, limits=limits), [Node(network) for _ in range(4)]
    writer = one.advertise()
    for node in others:
        for number in range(20):
            guid = node.member.participant.create_reader(
                "quotes",
                "Quote",
                RELIABLE,
                keyed=False,
                now=node.member.now,
                type=TYPE.struct,
                content_filter=ContentFilter("quotes", f"size = {number} OR size = {number + 1_000}"),
            )
            node.got[guid.entity] = []
        node.member.on_event = lambda event, node=node: (  # type: ignore[misc]
            node.got[event.reader.entity].append(TYPE.decode(event.payload)["size"])
            if isinstance(event, SampleReceived)
            else None
        )
        node.member.flush()
    matched(network, one, writer, 80)
    for size in [*range(60), *range(1_000, 1_060)]:
        assert network.run(60 * SECOND, until=lambda: one.member.participant.has_room(writer))
        one.publish(size, 1.0)
    assert network.run(60 * SECOND, until=lambda: one.member.participant.is_acknowledged(writer))
    for node in others:
        for number, got in enumerate(node.got.values()):
            # What another reader of its participant wants comes along; its owner filters in any case.
            assert [size for size in got if size % 1_000 == number] == [number, number + 1_000]
            assert all(size % 1_000 < 20 for size in got)


@pytest.mark.parametrize("protocol", ["simple", "ribbon"])
def test_a_later_subscription_of_the_same_reader_gets_what_it_wants(protocol: str) -> None:
    """The filter is announced anew, also to those who are told of endpoints by choice."""
    network = SimulatedNetwork(1)
    one, two = Node(network, discovery=protocol), Node(network, discovery=protocol)
    writer, cheap = one.advertise(), two.subscribe("price < 10")
    matched(network, one, writer, 1)
    dear = two.subscribe("price > 90")
    network.run(2 * SECOND)
    for number, price in enumerate((5.0, 50.0, 95.0)):
        one.publish(number, price)
    network.run(5 * SECOND)
    assert (two.got[cheap], two.got[dear]) == ([0], [2])
    # It is the same pair all the time: another filter is no other endpoint.
    assert sum(isinstance(event, EndpointMatched) for event in one.member.events) == 1


def test_ten_thousand_conditions_are_not_read_again_at_each_subscription(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    monkeypatch.setattr(content_filters, "parse", lambda text: parsed.append(text) or parse(text))
    conditions = [f"price < {number}" for number in range(10_000)]
    assert filter_of("quotes", conditions, TYPE) is None
    assert len(parsed) < 200


def test_what_was_kept_comes_to_a_late_reader_as_it_wants_it() -> None:
    lasting = QualityOfService(
        reliability=Reliability.RELIABLE, durability=Durability.TRANSIENT_LOCAL, history_depth=None
    )
    network = SimulatedNetwork(1)
    one, two, three = Node(network), Node(network), Node(network)
    writer, early = one.advertise(lasting), two.subscribe("price < 10", lasting)
    matched(network, one, writer, 1)
    for number in range(20):
        one.publish(number, number)
    late = three.subscribe("price > 15", lasting)
    assert network.run(60 * SECOND, until=lambda: len(three.got[late]) == 4 and len(two.got[early]) == 10)
    network.run(5 * SECOND)
    assert (two.got[early], three.got[late]) == (list(range(10)), [16, 17, 18, 19])


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        (["price < 10"], "price < 10"),
        (["price < 10", "size BETWEEN 1 AND 3"], "(price < 10) OR (size BETWEEN 1 AND 3)"),
        (["NOT symbol = 'A' AND price >= 1.5"], "NOT symbol = 'A' AND price >= 1.5"),
        ([None], None),
        (["price < 10", None], None),
        (["symbol LIKE 'A%'"], None),
        (["symbol = 'it''s'"], None),
        (["size < 1.5"], None),
        (["price < size"], None),
        (["symbol = '" + "x" * 1_000 + "'"], None),
    ],
)
def test_what_every_stack_reads_alike_is_said(conditions: list[str | None], said: str | None) -> None:
    found = filter_of("quotes", conditions, TYPE)
    assert (None if found is None else found.expression) == said


def test_an_announcement_keeps_its_filter() -> None:
    wanted = ContentFilter("quotes", "price < %0 AND symbol = %1", ("10", "'ACME'"), name="cheap")
    for little in (True, False):
        announced = EndpointAnnouncement(Guid(b"0123456789ab", 0x107), "quotes", "Quote", content_filter=wanted)
        assert decode_endpoint(announced.encode(little=little)).content_filter == wanted
    assert wanted.values == (10, "ACME")


def test_type_information_of_another_form_does_not_keep_an_endpoint_out() -> None:
    """Fast DDS 2.9 writes it as no standard says it; its endpoints are taken by the names of their types."""
    announced = EndpointAnnouncement(Guid(b"0123456789ab", 0x107), "quotes", "Quote")
    payload = announced.encode()
    strange = struct.pack("<HHII", ParameterId.TYPE_INFORMATION, 8, 256, 1)
    assert decode_endpoint(payload[:-4] + strange + payload[-4:]) == announced


def test_filters_with_parameters_and_filters_that_do_not_compile() -> None:
    filters = WriterFilters(TYPE.struct)
    readers = [Guid(b"0123456789ab", number << 8 | 4) for number in range(4)]
    filters.set(readers[0], ContentFilter("quotes", "price < %0", ("10",)))
    filters.set(readers[1], ContentFilter("quotes", "no such language"))
    filters.set(readers[2], ContentFilter("quotes", "price > 0", class_name="other"))
    filters.set(readers[3], ContentFilter("quotes", "price > 100"))
    dear, cheap = (TYPE.encode({"symbol": "a", "price": price, "size": 1}) for price in (50.0, 5.0))

    def left_out(*payloads: bytes) -> list[list[int]]:
        return [
            [number for number, reader in enumerate(readers) if not choice.includes(reader)]
            for choice in filters.choices(payloads)
        ]

    assert left_out(dear) == [[0, 3]]
    assert left_out(cheap, b"\0\1\0\0") == [[3], []]
    # As a batch, the same.
    assert left_out(*[dear, cheap, b"\0\1\0\0"] * 10) == [[0, 3], [3], []] * 10
    filters.set(readers[3], None)
    assert left_out(cheap) == [[]]
    assert len(filters) == 1
