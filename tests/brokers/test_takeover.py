"""What is left of a zone when a part of it has another owner; whole takeovers are in `test_turmoil.py`."""

from __future__ import annotations

import pytest
from hypothesis import given
from tests.space.test_zones import paths

from rookery.brokers.messages import OwnerFound
from rookery.brokers.ownership import ZoneOwnership
from rookery.brokers.takeover import carve
from rookery.space.zones import Path, box_of, inside, overlap, split, volume

from .alone import alone
from .invariants import SECOND, SETTLED, is_at_rest, network, settled


@given(whole=paths(longest=3), part=paths())
def test_what_is_left_and_the_part_tile_the_zone(whole: Path, part: Path) -> None:
    left = carve(whole, part)
    if inside(whole, part) or (overlap(whole, part) and not inside(part, whole)):
        assert left == [], "nothing is left where the part was cut differently: it has peers of its own"
        return
    pieces = [*left, part] if inside(part, whole) else left
    assert all(inside(piece, whole) for piece in pieces)
    assert not any(overlap(a, b) for a in pieces for b in pieces if a is not b)
    assert sum(volume(box_of(piece, 2)) for piece in pieces) == pytest.approx(volume(box_of(whole, 2)))


def test_a_greater_epoch_takes_its_zone_and_leaves_the_rest() -> None:
    broker = alone()
    lower, upper = split((), 0, 0.5)
    broker.receive(OwnerFound(ZoneOwnership(upper, 1, 0)), 2, 1)
    assert list(broker.owned) == [()], "the same epoch of a lesser id"
    broker.receive(OwnerFound(ZoneOwnership(upper, 2, 2)), 2, 1)
    assert list(broker.owned) == [lower]
    assert [ownership.owner for ownership in broker.owned[lower].neighbors] == [2]
    assert broker.counters["yielded"] == 1


def test_a_hole_between_zones_that_were_cut_differently_is_closed() -> None:
    """After long pauses one half of the space may have been cut twice, here at 0.3 and at 0.4: no zone fits between."""
    made = network(4)
    lower, upper = split((), 0, 0.5)
    below, above = split(upper, 1, 0.4)
    forged = [(lower, 6), (split(split(upper, 1, 0.3)[0], 0, 0.75)[0], 25), (split(below, 0, 0.75)[1], 1), (above, 17)]
    for broker in made.brokers.values():
        for owned in list(broker.owned.values()):
            broker.membership.close(owned)
        path, epoch = forged.pop()
        broker.membership.open(ZoneOwnership(path, epoch, broker.id))
    made.run(SECOND)
    assert not is_at_rest(made)
    assert settled(made, within=2 * SETTLED)
    assert sum(broker.counters["cut anew"] for broker in made.brokers.values()) == 1
