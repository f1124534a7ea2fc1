"""A walk that the network brings twice is taken once, and one that is asked for again is taken again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rookery.overlay.configuration import SECOND, OverlayConfiguration
from rookery.overlay.identity import SemanticSpace
from rookery.overlay.messages import Find, Join, Lookup, Message
from rookery.simulated.links import LinkConditions
from rookery.simulated.overlay import SimulatedOverlay

from .peers import MARKET, alone, described, linked

NEAR = described(4, (0, 0.0, 1.9), (1, 0.0, 0.5))
FAR = described(12, (0, 0.0, 1.9), (2, 0.0, 0.5))
STRANGER = described(15, (0, 0.0, 0.9))
WALKS: list[Message] = [
    Find(STRANGER, frozenset({0}), 10, 1),
    Lookup(0, frozenset({0}), STRANGER, False, False, 10, 1),
    Join(STRANGER, frozenset({0}), 10, 1),
]


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: type(walk).__name__)
def test_a_walk_is_taken_once(walk: Message) -> None:
    made = linked(alone(), NEAR, FAR)

    def goes_on(message: Message, now: int) -> bool:
        made.receive_many([message], 4, now)
        return bool(made.effects())

    assert goes_on(walk, 0)
    assert not goes_on(walk, 1_000)
    assert made.counters["walk repeated"] == 1
    assert goes_on(replace_walk(walk, hops_left=9), 2_000), "it came by again on its own way"
    assert goes_on(replace_walk(walk, request=2), 2_000), "another question"
    assert goes_on(walk, SECOND), "asked again, since no answer came"


def replace_walk(walk: Message, **changes: int) -> Message:
    values = {name: getattr(walk, name) for name in walk.__struct_fields__}
    return type(walk)(**{**values, **changes})


def test_parts_of_a_walk_that_have_the_same_number_are_no_repetitions() -> None:
    made = linked(alone(), NEAR, FAR)
    for cell in (0, 1):
        made.receive_many([Find(STRANGER, frozenset({cell}), 10, 1)], 4, 0)
    assert made.counters["walk repeated"] == 0


def test_doubled_datagrams_do_not_multiply() -> None:
    """Peers that look for each other across a cut send walks around for all of their hops: none doubles at each hop."""

    def messages(duplication: float) -> int:
        overlay = SimulatedOverlay(
            seed=3,
            space=SemanticSpace(cell_count=MARKET.cell_count),
            configuration=OverlayConfiguration(block_size=4),
            conditions=LinkConditions(latency=1_000, jitter=59_000, datagrams=True),
        )
        for number in range(8):
            overlay.join(MARKET.interests([(number % 3, 0.5 * (number % 4), 0.5 * (number % 4) + 0.4)]))
            overlay.run(SECOND)
        links = overlay.world.links
        links.conditions = replace(links.conditions, duplication=duplication)
        before = overlay.world.messages
        for one in range(4):
            for other in range(4, 8):
                overlay.world.cut(one, other)
        overlay.run(60 * SECOND)
        return overlay.world.messages - before

    assert messages(0.3) < 2 * messages(0.0)
