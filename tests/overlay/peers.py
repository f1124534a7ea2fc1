"""One peer in the hand of a test: alone, linked, and what it sent."""

from __future__ import annotations

import random
from typing import Any

from rookery.machine import Effect, Send
from rookery.overlay.configuration import OverlayConfiguration
from rookery.overlay.identity import Descriptor, SemanticSpace
from rookery.overlay.messages import LinkRequest
from rookery.overlay.peer import Peer
from rookery.papers.seed_002.workload import StockMarket

MARKET = StockMarket(stocks=3, buckets=4)
SPACE = SemanticSpace(cell_count=MARKET.cell_count)
CHEAP = MARKET.interests([(0, 0.0, 1.9)])


def peer(**changes: Any) -> Peer:
    configuration = OverlayConfiguration(**changes)
    return Peer(
        node=9, interests=CHEAP, space=SPACE, random=random.Random(0), configuration=configuration, random_id=1 << 60
    )


def alone(**changes: Any) -> Peer:
    """Return a peer that has its place and nobody beside it."""
    made = peer(**changes)
    made.start([], 0)
    while sent := [one for one in made.effects() if isinstance(one, Send)]:
        assert all(one.receiver == 9 for one in sent)  # nobody else to ask
        made.receive_many([one.message for one in sent], 9, 0)
    return made


def described(node: int, *boxes: tuple[int, float, float], place: int | None = None) -> Descriptor:
    cells = MARKET.interests(boxes).cells
    return SPACE.describe(node=node, random_id=node << 60 if place is None else place, cells=cells)


def linked(made: Peer, *others: Descriptor) -> Peer:
    """Let others link to a peer."""
    for other in others:
        made.receive_many([LinkRequest(other, True, frozenset())], other.node, 0)
    made.effects()
    return made


def sent(effects: list[Effect], kind: type) -> list[tuple[int, Any]]:
    return [(one.receiver, one.message) for one in effects if isinstance(one, Send) and isinstance(one.message, kind)]
