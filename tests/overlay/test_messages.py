"""Messages survive the wire; what is no message is counted and changes nothing."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rookery.overlay.configuration import SECOND, OverlayConfiguration
from rookery.overlay.identity import SemanticSpace
from rookery.overlay.messages import (
    CellEvent,
    Find,
    Inject,
    Join,
    LinkRequest,
    Lookup,
    LookupReply,
    Message,
    decode,
    encode,
)
from rookery.overlay.peer import Peer
from rookery.papers.seed_002.workload import StockMarket

from .histories import EncodedOverlay

MARKET = StockMarket(stocks=3, buckets=4)
SPACE = SemanticSpace(cell_count=MARKET.cell_count)


class OverTheWire(EncodedOverlay):
    """Every message travels as octets, which are remembered."""

    octets: list[bytes]

    def _sent(self, sender: Any, receiver: Any, message: Any) -> None:
        self.octets.append(message)
        again = decode(message)
        assert again is not None
        assert encode(again) == message
        super()._sent(sender, receiver, message)


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
    assert {
        "CellEvent",
        "LinkRequest",
        "Lookup",
        "LookupReply",
        "Find",
        "Found",
        "LinkHeartbeat",
        "Leave",
        "Join",
        "JoinReply",
    } <= kinds


def fresh_peer() -> Peer:
    peer = Peer(node=99, interests=MARKET.interests([(0, 0.0, 2.0)]), space=SPACE, random=random.Random(0))
    peer.start([], 0)
    peer.effects()
    return peer


def is_rejected(peer: Peer, message: Message | bytes, sender: int) -> bool:
    """Tell whether a message is counted as none, and changes nothing else."""
    before = peer.counters["message rejected"]
    peer.receive_many([message if isinstance(message, bytes) else encode(message)], sender, 0)
    rejected = peer.counters["message rejected"] == before + 1
    assert not (rejected and peer.effects())
    return rejected


@given(st.binary(max_size=200))
def test_noise_is_rejected(noise: bytes) -> None:
    peer = fresh_peer()
    if decode(noise) is None:
        assert is_rejected(peer, noise, 1)


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
        peer.receive_many([bytes(octets)], 1, SECOND)
        peer.wake(60 * SECOND)
        peer.effects()


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
        message = LinkRequest(type(good)(**values), True, frozenset())
        assert is_rejected(peer, message, 5)
    assert not is_rejected(peer, LinkRequest(good, True, frozenset()), 5)
    assert 5 in peer.state.table.incoming


def test_numbers_and_values_that_cannot_be_are_rejected() -> None:
    peer = fresh_peer()
    origin = SPACE.describe(node=5, random_id=7, cells={1})
    for message in (
        CellEvent((5, 1), -1, (0, 0.5), 1),
        CellEvent((5, 1), 3, (0, 0.5), 1),  # the quote lies in another cell
        CellEvent((5, 1), 0, "no quote", 1),
        CellEvent((5, 1), 0, None, 1),
        CellEvent((5, 1), 0, {}, 1),
        Inject((5, 1), 0, [0], 5),
        Find(origin, frozenset({-3}), 10, 1),
        Find(origin, frozenset({1}), 1 << 60, 1),
        Join(origin, frozenset({99}), 10, 1),
        Lookup(-1, frozenset(), origin, True, True, 10, 1),
        LookupReply(0, origin, {-1: ()}, None, 1),
    ):
        assert is_rejected(peer, message, 5), message
    assert not is_rejected(peer, CellEvent((5, 1), 0, (0, 0.5), 1), 5)


def test_ids_are_remembered_within_limits() -> None:
    configuration = OverlayConfiguration(seen_limit=3, seen_time=60 * SECOND, heartbeat=None)
    peer = Peer(
        node=1,
        interests=MARKET.interests([(0, 0.0, 2.0)]),
        space=SPACE,
        random=random.Random(0),
        configuration=configuration,
    )
    peer.start([], 0)
    for sequence in range(5):
        peer.receive_many([CellEvent((2, sequence), 0, (0, 0.5), 1)], 2, 0)
    assert list(peer.state.seen) == [(2, 2), (2, 3), (2, 4)]
    peer.receive_many([CellEvent((2, 9), 0, (0, 0.5), 1)], 2, 61 * SECOND)
    assert list(peer.state.seen) == [(2, 9)]
