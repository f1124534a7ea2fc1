"""A cluster has one primary, also where the directory still names one of its members."""

from __future__ import annotations

import pytest

from rookery.overlay.configuration import SECOND
from rookery.overlay.messages import ClusterJoin, Lookup, LookupReply
from rookery.overlay.peer import Peer
from rookery.overlay.state import Phase

from .peers import alone, described, linked, sent

#: Another of the cells of the peer in hand, and a peer that keeps the block of the directory with them.
TWIN = described(3, (0, 0.0, 1.9))
KEEPER = described(5, (1, 0.0, 1.9))


def told_of(made: Peer, now: int) -> list[tuple[int, Lookup]]:
    """Let a primary renew its claim and be told that another is primary of its cells; return what it looks up then."""
    made.state.owners.clear()
    made.wake(made.timer() or 0)
    number = made.state.ask("renewal", (0, made.state.own.cells, True, True, None), now)
    made.effects()
    made.receive_many([LookupReply(0, KEEPER, {}, TWIN, number)], KEEPER.node, now)
    return sent(made.effects(), Lookup)


@pytest.mark.parametrize("silent", [0, 11])
def test_a_primary_does_not_go_to_its_own_member(silent: int) -> None:
    """Whom the directory names had the place before, and yielded: unless it has been silent for long."""
    made = linked(alone(), KEEPER)
    made.receive_many([ClusterJoin(TWIN)], TWIN.node, 0)
    asked = told_of(made, silent * SECOND)
    if silent:
        assert made.state.phase is Phase.JOINING
    else:
        assert made.state.phase is Phase.ACTIVE
        assert [one.replaces for _, one in asked if one.claim] == [TWIN.node]


def test_a_primary_goes_to_a_stranger_that_was_there_before() -> None:
    made = linked(alone(), KEEPER)
    told_of(made, 0)
    assert made.state.phase is Phase.JOINING
