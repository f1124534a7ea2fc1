"""Messages survive the wire; what is no message is counted and changes nothing."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rookery.overlay.configuration import SECOND, OverlayConfiguration
from rookery.overlay.effects import Note
from rookery.overlay.identity import SemanticSpace
from rookery.overlay.messages import Contacts, Event, Find, Inject, Join, Link, Lookup, Message, decode, encode
from rookery.overlay.peer import Peer
from rookery.overlay.workload import StockMarket
from rookery.simulated.overlay import SimulatedOverlay

MARKET = StockMarket(stocks=3, buckets=4)
SPACE = SemanticSpace(cell_count=MARKET.cell_count)


class OverTheWire(SimulatedOverlay):
    """Every message is encoded, remembered and decoded on its way."""

    octets: list[bytes]

    def _carry(self, sender: int, to: int, message: Message) -> None:
        written = encode(message)
        self.octets.append(written)
        again = decode(written)
        assert again is not None
        assert encode(again) == written
        super()._carry(sender, to, again)


def conversation() -> OverTheWire:
    dice = random.Random(3)
    overlay = OverTheWire(seed=3, space=SPACE, configuration=OverlayConfiguration(block_size=4))
    overlay.octets = []
    for _ in range(12):
        overlay.join(MARKET.draw_interests(dice))
        overlay.run(SECOND)
    overlay.run(60 * SECOND)
    overlay.leave(overlay.ready[0])
    overlay.crash([overlay.ready[0]])
    overlay.run(60 * SECOND)
    for _ in range(20):
        quote = (dice.randrange(3), dice.uniform(0, 4))
        event = overlay.publish(dice.choice(overlay.ready), quote)
        overlay.run(10 * SECOND)
        assert dict.fromkeys(overlay.deliveries[event]).keys() == overlay.audience(quote)
    return overlay


OCTETS = conversation().octets


def test_a_whole_life_goes_over_the_wire() -> None:
    kinds = {type(decode(one)).__name__ for one in OCTETS}
    assert {"Event", "Link", "Lookup", "Contacts", "Find", "Found", "Heartbeat", "Leave", "Join", "JoinReply"} <= kinds


def fresh_peer() -> Peer:
    peer = Peer(node=99, interests=MARKET.interests([(0, 0.0, 2.0)]), space=SPACE, dice=random.Random(0))
    peer.on_start(0)
    return peer


@given(st.binary(max_size=200))
def test_noise_is_rejected(noise: bytes) -> None:
    peer = fresh_peer()
    if decode(noise) is None:
        assert peer.receive_octets(0, 1, noise) == [Note("message rejected")]


@given(
    st.lists(
        st.tuples(st.integers(0, len(OCTETS) - 1), st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=20
    )
)
def test_nearly_right_messages_never_raise(changes: list[tuple[int, int, int]]) -> None:
    peer = fresh_peer()
    for index, place, value in changes:
        octets = bytearray(OCTETS[index])
        octets[place % len(octets)] = value
        peer.receive_octets(SECOND, 1, bytes(octets))
        peer.on_timer(60 * SECOND, "heartbeat")


def test_a_descriptor_that_cannot_be_is_rejected() -> None:
    peer = fresh_peer()
    good = SPACE.describe(node=5, random_id=7, cells={1})
    for bad in (
        {"cells": frozenset({1})},  # without the shared cell
        {"identity": b"\0" * 128},
        {"cells": good.cells | {10_000}},
        {"cells": frozenset()},
    ):
        values: dict[str, Any] = {name: getattr(good, name) for name in good.__struct_fields__} | bad
        message = Link(type(good)(**values), True, frozenset())
        assert peer.receive_octets(0, 5, encode(message)) == [Note("message rejected")]
    assert peer.receive_octets(0, 5, encode(Link(good, True, frozenset()))) != [Note("message rejected")]
    assert 5 in peer.state.table.incoming


def test_numbers_and_values_that_cannot_be_are_rejected() -> None:
    peer = fresh_peer()
    origin = SPACE.describe(node=5, random_id=7, cells={1})
    for message in (
        Event((5, 1), -1, (0, 0.5), 1),
        Event((5, 1), 3, (0, 0.5), 1),  # the quote lies in another cell
        Event((5, 1), 0, "no quote", 1),
        Event((5, 1), 0, None, 1),
        Event((5, 1), 0, {}, 1),
        Inject((5, 1), 0, [0], 5),
        Find(origin, frozenset({-3}), 10, 1),
        Find(origin, frozenset({1}), 1 << 60, 1),
        Join(origin, frozenset({99}), 10, 1),
        Lookup(-1, frozenset(), origin, True, True, 10, 1),
        Contacts(0, origin, {-1: ()}, None, 1),
    ):
        assert peer.receive_octets(0, 5, encode(message)) == [Note("message rejected")], message
    assert peer.receive_octets(0, 5, encode(Event((5, 1), 0, (0, 0.5), 1))) != [Note("message rejected")]


def test_ids_are_remembered_within_limits() -> None:
    configuration = OverlayConfiguration(seen_limit=3, seen_time=60 * SECOND, heartbeat=None)
    peer = Peer(
        node=1,
        interests=MARKET.interests([(0, 0.0, 2.0)]),
        space=SPACE,
        dice=random.Random(0),
        configuration=configuration,
    )
    peer.on_start(0)
    for sequence in range(5):
        peer.on_message(0, 2, Event((2, sequence), 0, (0, 0.5), 1))
    assert list(peer.state.seen) == [(2, 2), (2, 3), (2, 4)]
    peer.on_message(61 * SECOND, 2, Event((2, 9), 0, (0, 0.5), 1))
    assert list(peer.state.seen) == [(2, 9)]
