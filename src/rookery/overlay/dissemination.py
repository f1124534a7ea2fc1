"""Where does an event go? Through the audience of its cell, and nowhere else (spec 2.4).

Rule 1: an event starts at a peer that truly wants its cell. A peer that only looks as if it did (a false positive of
its identity) stands on no ring of that cell, and an event that starts there is lost.
Rule 2: whoever gets an event for the first time matches it, once, and emits it with the subscriptions that it satisfies
(`Deliver`; nothing where there are none), then passes it to its cluster, then along every link whose other end holds
the cell. The second time it is counted and dropped; one whose values cannot be read is dropped at once.
Rule 3 (`arc` mode): whoever gets an event answers for an arc of the circle, and every peer gets the event exactly once
(see `arcs`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rookery.machine import Emit
from rookery.overlay.arcs import answers_for, arc_length, spread, unanswered
from rookery.overlay.identity import CIRCLE, Relation
from rookery.overlay.messages import CellEvent, EventId, Inject, Injected, RingEvent
from rookery.overlay.selection import relation_by
from rookery.overlay.state import PeerState, Phase

__all__ = ["Deliver", "enter", "inject_by_metric", "receive_event", "receive_inject", "receive_ring_event"]


class Deliver(NamedTuple):
    """An event for the application: its values satisfy these subscriptions of the peer."""

    event_id: EventId
    payload: Any
    hops: int
    subscriptions: tuple[str | int, ...]


def enter(state: PeerState, now: int, event_id: EventId, cell: int, payload: Any) -> None:
    """Begin to spread an event here: we want its cell, and speak for our cluster."""
    own = state.own
    end = (own.random_id, own.node) if state.configuration.arc else None
    receive_event(state, now, None, CellEvent(event_id, cell, payload, hop=0, arc_end=end))


def receive_event(state: PeerState, now: int, sender: int | None, event: CellEvent) -> None:
    """Take an event in, and pass it on."""
    reach = 0 if event.arc_end is None else arc_length(state, event)
    handled = state.seen.get(event.event_id)
    if handled is None and not _take(state, now, event, reach):
        return
    if event.arc_end is not None and sender is not None and not answers_for(state, event):
        state.send(sender, unanswered(event, random_id=state.own.random_id, node=state.own.node))
        return
    if handled is not None:
        if handled < reach:
            state.seen.change(event.event_id, reach)
            state.counters["arc extended"] += 1
            spread(state, event, handled=handled)
        else:
            state.counters["duplicate"] += 1
        return
    if state.phase is Phase.MEMBER:
        return  # sent by one who does not know yet that another speaks for us; that one gets it too
    if state.members:
        _pass_on(state, event.event_id, event.cell, event.payload, event.hop, [one.node for one in state.members])
    if event.arc_end is not None:
        spread(state, event)
        return
    for node, multicast in _receivers(state, event):
        if node != sender:
            state.send(node, CellEvent(event.event_id, event.cell, event.payload, event.hop + 1, multicast))


def receive_ring_event(state: PeerState, now: int, message: RingEvent) -> None:
    """Take an event from within the cluster, and pass it on to those it names."""
    if message.event_id in state.seen:
        state.counters["duplicate"] += 1
    elif not _take(state, now, message, CIRCLE):
        return
    _pass_on(state, message.event_id, message.cell, message.payload, message.hop, list(message.targets))


def receive_inject(state: PeerState, now: int, sender: int, message: Inject) -> None:
    """Take an event in if we want its cell; else pass it on to where it may be wanted."""
    if state.phase is Phase.MEMBER and state.primary is not None:
        state.send(state.primary.node, message)
    elif state.phase is Phase.ACTIVE and _is_entry(state, message.cell):
        state.send(message.origin, Injected(message.event_id, message.cell, state.own))
        state.counters["injection hops"] += len(message.path) + 1
        if message.event_id not in state.seen:
            enter(state, now, message.event_id, message.cell, message.payload)
    elif state.phase is Phase.ACTIVE and not state.configuration.directory:
        inject_by_metric(state, message)
    # else: not ours any more; the publisher hears nothing and asks the directory again


def inject_by_metric(state: PeerState, message: Inject) -> None:
    """Send an event on to the link nearest to it by equation 1 that it has not met; back where there is none."""
    space = state.space
    wanted = frozenset((message.cell, space.shared_cell))
    bits = space.mask(message.cell)
    met = {*message.visited, state.own.node}
    links = _links(state)
    ranked = sorted(
        (space.distance(state.table.known[node], cells=wanted, bits=bits), node) for node in links if node not in met
    )
    visited = tuple(met)
    if len(visited) > state.configuration.hop_limit:
        state.counters["injection given up"] += 1
    elif ranked:
        path, onto = (*message.path, state.own.node), ranked[0][1]
        # Met from now on, whoever answers for it: a member hands the event to its primary, which may be us.
        visited = (*visited, onto)
        state.send(onto, Inject(message.event_id, message.cell, message.payload, message.origin, visited, path))
    elif message.path:
        *rest, back = message.path
        onward = Inject(message.event_id, message.cell, message.payload, message.origin, visited, tuple(rest))
        state.send(back, onward)
    else:
        state.counters["injection given up"] += 1


def _is_entry(state: PeerState, cell: int) -> bool:
    if state.configuration.exact:
        return cell in state.own.cells
    mask = state.space.mask(cell)
    return state.own.bits & mask == mask  # as printed: "when an event reaches a matching node"


def _take(state: PeerState, now: int, event: CellEvent | RingEvent, reach: int) -> bool:
    """Match an event that is here for the first time, remember it with how far its arc reaches, and emit it.

    Say whether it can be read: what cannot leaves no trace but a count.
    """
    try:  # the payload is foreign, and the owner's interests read it
        subscriptions = state.interests.matching(event.payload)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        state.counters["message rejected"] += 1
        return False
    state.seen.add(event.event_id, reach, now)
    if subscriptions:
        state.effects.append(Emit(Deliver(event.event_id, event.payload, event.hop, tuple(subscriptions))))
    else:
        kind = "cell" if event.cell in state.interests.cells else "bloom"
        state.counters[f"false positive: {kind}"] += 1
    return True


def _links(state: PeerState) -> set[int]:
    table = state.table
    return table.chosen | table.incoming if state.configuration.both_ways else table.chosen


def _receivers(state: PeerState, event: CellEvent) -> list[tuple[int, bool]]:
    """Return to whom the event goes, and whether as MULTICAST."""
    table, configuration, cell = state.table, state.configuration, event.cell
    if configuration.exact and configuration.both_ways:
        nodes = list(table.holders(cell))
    elif configuration.exact:
        nodes = [node for node in table.chosen if cell in table.known[node].cells]
    else:
        mask = state.space.mask(cell)
        nodes = [node for node in _links(state) if table.known[node].bits & mask == mask]
    if not configuration.downgrade:
        return [(node, False) for node in nodes]
    receivers = []
    for node in nodes:
        kind = relation_by(configuration.rule, table.own, table.known[node])
        if not (event.multicast and kind is Relation.COVERING):
            receivers.append((node, event.multicast or kind is Relation.COVERED))
    return receivers


def _pass_on(state: PeerState, event_id: EventId, cell: int, payload: Any, hop: int, targets: list[int]) -> None:
    """Send to the first of the targets, who sends on to the rest; as a tree, to the first of each half."""
    middle = (len(targets) + 1) // 2 if state.configuration.ring_tree else len(targets)
    for part in (targets[:middle], targets[middle:]):
        if part:
            state.send(part[0], RingEvent(event_id, cell, payload, hop + 1, tuple(part[1:])))
