"""Where does an event go? Through the audience of its cell, and nowhere else (spec 2.4).

Rule 1: an event starts at a peer that truly wants its cell. A peer that only looks as if it did (a false positive of
its identity) stands on no ring of that cell, and an event that starts there is lost.
Rule 2: whoever gets an event for the first time hands it to the application if its values match (never else), then
to its cluster, then along every link whose other end holds the cell. The second time it is counted and dropped.
Rule 3 (`arc` mode): whoever gets an event answers for an arc of the circle, and every peer gets the event exactly once
(see `arcs`).
"""

from __future__ import annotations

from typing import Any

from rookery.overlay.arcs import answers_for, arc_length, spread, unanswered
from rookery.overlay.effects import Deliver
from rookery.overlay.identity import CIRCLE, Relation
from rookery.overlay.messages import Event, EventId, Inject, Injected, RingEvent
from rookery.overlay.selection import relation_by
from rookery.overlay.state import PeerState, Phase

__all__ = ["enter", "inject_by_metric", "receive_event", "receive_inject", "receive_ring_event"]


def enter(state: PeerState, now: int, event_id: EventId, cell: int, payload: Any) -> None:
    """Begin to spread an event here: we want its cell, and speak for our cluster."""
    own = state.own
    end = (own.random_id, own.node) if state.configuration.arc else None
    receive_event(state, now, None, Event(event_id, cell, payload, hop=0, arc_end=end))


def receive_event(state: PeerState, now: int, sender: int | None, event: Event) -> None:
    """Take an event in, and pass it on."""
    reach = 0 if event.arc_end is None else arc_length(state, event)
    handled = state.seen.get(event.event_id, (0, 0))[1]
    is_new = _is_new(state, now, event.event_id, reach)
    if event.arc_end is not None and sender is not None and not answers_for(state, event):
        if is_new:
            _deliver(state, event.event_id, event.cell, event.payload, event.hop)
        state.send(sender, unanswered(event, state.own))
        return
    if not is_new:
        if handled < reach:
            state.seen[event.event_id] = (now, reach)
            state.note("arc extended")
            spread(state, event, handled=handled)
        else:
            state.note("duplicate")
        return
    _deliver(state, event.event_id, event.cell, event.payload, event.hop)
    if state.phase is Phase.MEMBER:
        return  # sent by one who does not know yet that another speaks for us; that one gets it too
    if state.members:
        _pass_on(state, event.event_id, event.cell, event.payload, event.hop, [one.node for one in state.members])
    if event.arc_end is not None:
        spread(state, event)
        return
    for node, multicast in _receivers(state, event):
        if node != sender:
            state.send(node, Event(event.event_id, event.cell, event.payload, event.hop + 1, multicast))


def receive_ring_event(state: PeerState, now: int, message: RingEvent) -> None:
    """Take an event from within the cluster, and pass it on to those it names."""
    if _is_new(state, now, message.event_id):
        _deliver(state, message.event_id, message.cell, message.payload, message.hop)
    else:
        state.note("duplicate")
    _pass_on(state, message.event_id, message.cell, message.payload, message.hop, list(message.targets))


def receive_inject(state: PeerState, now: int, sender: int, message: Inject) -> None:
    """Take an event in if we want its cell; else pass it on to where it may be wanted."""
    if state.phase is Phase.MEMBER and state.primary is not None:
        state.send(state.primary.node, message)
    elif state.phase is Phase.ACTIVE and _is_entry(state, message.cell):
        state.send(message.origin, Injected(message.event_id, message.cell, state.own))
        state.note("injection hops", len(message.path) + 1)
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
        state.note("injection given up")
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
        state.note("injection given up")


def _is_entry(state: PeerState, cell: int) -> bool:
    if state.configuration.exact:
        return cell in state.own.cells
    mask = state.space.mask(cell)
    return state.own.bits & mask == mask  # as printed: "when an event reaches a matching node"


def _is_new(state: PeerState, now: int, event_id: EventId, reach: int = CIRCLE) -> bool:
    """Tell whether an event is here for the first time, and remember it with how far its arc reaches."""
    seen, configuration = state.seen, state.configuration
    if event_id in seen:
        return False
    seen[event_id] = (now, reach)
    while True:
        oldest = next(iter(seen))
        if len(seen) <= configuration.seen_limit and seen[oldest][0] + configuration.seen_time > now:
            return True
        del seen[oldest]


def _deliver(state: PeerState, event_id: EventId, cell: int, payload: Any, hop: int) -> None:
    if state.interests.matches(payload):
        state.effects.append(Deliver(event_id, payload, hop))
    else:
        state.note("false positive: cell" if cell in state.interests.cells else "false positive: bloom")


def _links(state: PeerState) -> set[int]:
    table = state.table
    return table.chosen | table.incoming if state.configuration.both_ways else table.chosen


def _receivers(state: PeerState, event: Event) -> list[tuple[int, bool]]:
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
