"""How an event finds its first holder (spec 2.4, injection).

Rule 1: who wants the cell starts the event itself; a member of a cluster gives it to its primary.
Rule 2: anybody else asks the directory for contacts and sends INJECT to one. The answer is remembered, so that the next
event of that cell takes one hop. Without an answer another contact is tried, then the directory again.
Rule 3: a directory that knows nobody is asked once more a moment later (it may have changed hands), then believed.
"""

from __future__ import annotations

from typing import Any

from rookery.overlay import dissemination
from rookery.overlay.identity import Descriptor
from rookery.overlay.messages import EventId, Inject, Injected
from rookery.overlay.ring import start_lookup
from rookery.overlay.state import PeerState, Phase

__all__ = ["give_up", "publish", "receive_entry", "receive_injected", "retry"]


def publish(state: PeerState, now: int, payload: Any) -> EventId:
    """Publish an event and return its id."""
    state.sequence += 1
    event_id = (state.self_descriptor.node, state.sequence)
    cell = state.interests.cell(payload)
    _send(state, now, event_id, cell, payload, attempt=0)
    return event_id


def _send(state: PeerState, now: int, event_id: EventId, cell: int, payload: Any, *, attempt: int) -> None:
    if state.phase is Phase.ACTIVE and cell in state.own.cells:
        dissemination.enter(state, now, event_id, cell, payload)
        return
    ours = cell in state.self_descriptor.cells or not state.configuration.directory
    if not state.configuration.directory and state.phase is not Phase.MEMBER:
        dissemination.inject_by_metric(state, Inject(event_id, cell, payload, state.self_descriptor.node))
        return
    state.outgoing[event_id] = (cell, payload)
    if ours and state.phase is Phase.MEMBER and state.primary is not None:
        _inject(state, now, event_id, state.primary.node, attempt=attempt)
        return
    cached = state.entry_cache.get(cell)
    if cached is not None and attempt == 0:
        _inject(state, now, event_id, cached.node, attempt=attempt)
        return
    _look_up(state, now, event_id, cell, attempt)


def _look_up(state: PeerState, now: int, event_id: EventId, cell: int, attempt: int) -> None:
    block = cell // state.configuration.block_size
    start_lookup(state, now, block, frozenset((cell,)), register=False, claim=False, kind="entry")
    state.entries[state.request_number] = (event_id, attempt)


def _inject(state: PeerState, now: int, event_id: EventId, to: int, *, attempt: int) -> None:
    cell, payload = state.outgoing[event_id]
    number = state.ask("inject", event_id, now)
    state.requests[number].attempt = attempt
    state.requests[number].tried.add(to)
    state.send(to, Inject(event_id, cell, payload, state.self_descriptor.node))


def receive_injected(state: PeerState, message: Injected) -> None:
    """The event is on its way; remember who took it."""
    if state.outgoing.pop(message.event_id, None) is None:
        return
    state.entry_cache[message.cell] = message.member
    state.avoided.pop(message.member.node, None)
    for number in [number for number, one in state.requests.items() if one.about == message.event_id]:
        del state.requests[number]


def receive_entry(state: PeerState, now: int, number: int, contacts: dict[int, tuple[Descriptor, ...]]) -> None:
    """Send the event to one of the contacts."""
    event_id, attempt = state.entries.pop(number, (None, 0))
    if event_id is None or event_id not in state.outgoing:
        return
    cell, _ = state.outgoing[event_id]
    named = contacts.get(cell, ())
    # Who did not answer lately is asked last, and not left out: it may be slow, and the only one there is.
    holders = [one for one in named if state.avoided.get(one.node, 0) <= now] or named
    if holders:
        _inject(state, now, event_id, holders[state.random.randrange(len(holders))].node, attempt=attempt)
    elif attempt == 0:
        number = state.ask("inject", event_id, now)  # nothing sent: its deadline asks the directory again
        state.requests[number].deadline = now + 5 * state.configuration.request_timeout
    else:
        state.outgoing.pop(event_id)
        state.counters["no audience"] += 1


def retry(state: PeerState, now: int, number: int) -> None:
    """No answer to INJECT: forget that entry, and ask again."""
    request = state.requests.pop(number)
    if request.about not in state.outgoing:
        return
    cell, payload = state.outgoing[request.about]
    state.entry_cache.pop(cell, None)
    for node in request.tried:
        state.avoided[node] = now + 10 * state.configuration.request_timeout
    _send(state, now, request.about, cell, payload, attempt=request.attempt)


def give_up(state: PeerState, number: int, event_id: EventId | None = None) -> None:
    """Neither the directory nor a holder could be reached: the event is lost, and that is counted."""
    if event_id is None:
        event_id, _ = state.entries.pop(number, (None, 0))
    if event_id is not None and state.outgoing.pop(event_id, None) is not None:
        state.counters["event lost"] += 1
