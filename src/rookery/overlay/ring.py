"""Where is a place on a ring? Walks along links and fingers (spec 2.5 step 4, 2.7).

Rule 1: every cell's holders form a ring in the order of their positions; a walk goes to the known holder nearest before
the place and ends where nobody is nearer. Many cells walk together and part where their ways part.
Rule 2: everybody is on the ring of the shared cell, and there fingers shorten the walk to ½ log2 N hops.
Rule 3: the directory's block belongs to the first peer at or after the block's position on the shared ring.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rookery.overlay.configuration import OverlayConfiguration
from rookery.overlay.directory import block_position
from rookery.overlay.identity import CIRCLE, Descriptor
from rookery.overlay.messages import Find, Found, Handover, Lookup, LookupReply, Message
from rookery.overlay.state import DEFERRED, PeerState, Phase

__all__ = [
    "adopt_copies",
    "around",
    "blocks_of",
    "closest_before",
    "hand_over",
    "hand_over_everything",
    "lease_end",
    "receive_find",
    "receive_handover",
    "receive_lookup",
    "start_lookup",
    "withdraw",
]


def blocks_of(
    cells: Iterable[int], configuration: OverlayConfiguration, *, shared_cell: int
) -> dict[int, frozenset[int]]:
    """Group cells by the block of the directory that they belong to; the shared cell alone needs one for its claim."""
    found: dict[int, set[int]] = defaultdict(set)
    for cell in cells:
        if cell != shared_cell:
            found[cell // configuration.block_size].add(cell)
    if not found:
        return {shared_cell // configuration.block_size: frozenset()}
    return {block: frozenset(found[block]) for block in sorted(found)}


def closest_before(state: PeerState, position: int, *, but: int | None = None) -> Descriptor | None:
    """Return the known peer that stands nearest before a position, if any is nearer than we are."""
    least = (position - state.own.position) % CIRCLE if state.phase is Phase.ACTIVE else CIRCLE
    best = None
    for peers in (state.table.known.values(), state.fingers):
        for peer in peers:
            distance = (position - peer.position) % CIRCLE
            if distance < least and peer.node != but:
                best, least = peer, distance
    return best


def around(state: PeerState, cell: int, position: int, *, but: int) -> list[Descriptor]:
    """Return who stands before and after a position on a ring, as far as we know, ourselves included."""
    held = [state.own] if cell in state.own.cells else []
    held += [peer for peer in state.table.known.values() if cell in peer.cells and peer.node != but]
    if not held:
        return []
    before = min(held, key=lambda one: (position - one.position) % CIRCLE)
    after = min(held, key=lambda one: (one.position - position) % CIRCLE)
    return [before] if before is after else [before, after]


def receive_find(state: PeerState, now: int, find: Find) -> None:
    """Take each cell one step nearer to the asker's place, and answer for those that cannot come nearer."""
    if state.phase is Phase.JOINING:
        state.deferred = [*state.deferred[1 - DEFERRED :], find]
        return
    if state.phase is Phase.MEMBER:
        if state.primary is not None and find.hops_left > 0:
            state.send(state.primary.node, Find(find.origin, find.cells, find.hops_left - 1, find.request))
        return
    place, asker = find.origin.position, find.origin.node
    ways: dict[int, set[int]] = defaultdict(set)
    here: set[int] = set()
    for cell in find.cells:
        best = _step(state, cell, place, asker)
        if best is None or find.hops_left <= 0:
            here.add(cell)
        else:
            ways[best].add(cell)
    for node, cells in ways.items():
        state.send(node, Find(find.origin, frozenset(cells), find.hops_left - 1, find.request))
    if here:
        near = {one.node: one for cell in here for one in around(state, cell, place, but=asker)}
        # Who stands beside us has the same distances as we have: our shortcuts are nearly its own.
        near |= {one.node: one for one in state.shortcuts if one.node != asker and not one.cells.isdisjoint(here)}
        state.send(asker, Found(frozenset(here), tuple(near.values()), find.request))


def _step(state: PeerState, cell: int, place: int, asker: int) -> int | None:
    if cell == state.space.shared_cell:
        found = closest_before(state, place, but=asker)
        return None if found is None else found.node
    least = (place - state.own.position) % CIRCLE if cell in state.own.cells else CIRCLE
    best = None
    for peers in (state.table.known, state.shortcuts.known):
        for node, peer in peers.items():
            if cell in peer.cells and node != asker:
                distance = (place - peer.position) % CIRCLE
                if distance < least:
                    best, least = node, distance
    return best


def start_lookup(
    state: PeerState,
    now: int,
    block: int,
    cells: frozenset[int],
    *,
    register: bool,
    claim: bool,
    kind: str,
    replaces: int | None = None,
) -> None:
    """Ask the owner of a block: at the address where it was last, else along the shared ring."""
    number = state.ask(kind, (block, cells, register, claim, replaces), now)
    send_lookup(state, now, number, cached=True)


def send_lookup(state: PeerState, now: int, number: int, *, cached: bool) -> None:
    """Send (again) the look-up of a request."""
    block, cells, register, claim, replaces = state.requests[number].about
    message = Lookup(block, cells, state.own, register, claim, state.configuration.hop_limit // 4, number, replaces)
    owner = state.owners.get(block) if cached else None
    if owner is not None and owner.node != state.own.node:
        state.send(owner.node, message)
        return
    state.owners.pop(block, None)
    attempt = state.requests[number].attempt
    known = [one.node for one in (*state.fingers, *state.table.known.values())]
    # The nearest way did not answer: begin anywhere. A member has its primary, and does not ask if its fingers live.
    if attempt and known and state.phase is not Phase.MEMBER:
        state.send(known[state.random.randrange(len(known))], message)
    else:
        receive_lookup(state, now, message)


def receive_lookup(state: PeerState, now: int, lookup: Lookup) -> None:
    """Answer if the block is ours, else pass the question on."""
    if state.phase is Phase.MEMBER and state.primary is not None:
        _forward(state, state.primary, lookup)
        return
    target = block_position(lookup.block)
    if state.phase is Phase.ACTIVE and owns(state, target):
        _answer(state, now, lookup)
        return
    # The shared ring's next peer owns what lies between us and it; anything farther is nearer to somebody else.
    onward = closest_before(state, target) or state.table.ring_next(state.space.shared_cell)
    if onward is None:
        bootstraps = [node for node in state.bootstraps if node != state.own.node]
        if bootstraps and lookup.origin.node == state.own.node:
            state.send(bootstraps[state.random.randrange(len(bootstraps))], lookup)
        return
    _forward(state, onward, lookup)


def owns(state: PeerState, target: int) -> bool:
    """Tell whether a position lies between our predecessor on the shared ring and us."""
    previous = state.table.ring_before(state.space.shared_cell)
    own = state.own.position
    return previous is None or (own - target) % CIRCLE < (own - previous.position) % CIRCLE


def _forward(state: PeerState, to: Descriptor, lookup: Lookup) -> None:
    if lookup.hops_left <= 0:
        state.counters["look-up given up"] += 1
        return
    onward = Lookup(
        lookup.block,
        lookup.cells,
        lookup.origin,
        lookup.register,
        lookup.claim,
        lookup.hops_left - 1,
        lookup.request,
        lookup.replaces,
    )
    state.send(to.node, onward)


def lease_end(state: PeerState, now: int) -> int:
    """Return when a lease given now ends: after three renewals are missed; never where there is no heartbeat."""
    period = state.configuration.heartbeat
    return 1 << 62 if period is None else now + 3 * state.configuration.refresh * period


def _answer(state: PeerState, now: int, lookup: Lookup) -> None:
    directory, origin = state.directory, lookup.origin
    contacts = {cell: found for cell in lookup.cells if (found := directory.contacts(cell, now=now))}
    until = lease_end(state, now)
    primary = directory.claim(origin, now=now, until=until, replaces=lookup.replaces) if lookup.claim else None
    if lookup.replaces is not None:
        directory.drop(lookup.replaces)
    if lookup.register:
        directory.register(lookup.cells, origin, until=until)
        backup = state.table.ring_next(state.space.shared_cell)
        if backup is not None:  # who owns the block if we are gone
            copy: dict[int, tuple[Descriptor, ...]] = dict.fromkeys(lookup.cells, (origin,))
            state.send(backup.node, Handover(copy, (origin,) if primary == origin else (), is_copy=True))
    answer: Message = LookupReply(lookup.block, state.own, contacts, primary, lookup.request)
    state.send(origin.node, answer)


def receive_handover(state: PeerState, now: int, sender: int, message: Handover) -> None:
    """Keep a copy apart; keep what is ours; send on what belongs to one before us, whom the sender did not know."""
    until = lease_end(state, now)
    if message.is_copy:
        state.copies.put(message.contacts, message.claims, now=now, until=until)
        return
    state.directory.put(message.contacts, message.claims, now=now, until=until)
    previous = state.table.ring_before(state.space.shared_cell)
    if previous is not None and previous.node != sender:  # who stands before us and says so is about to go
        hand_over(state, now, previous)


def hand_over(state: PeerState, now: int, to: Descriptor) -> None:
    """Give the one before us the entries that it owns, or that somebody before it does; we keep a copy."""
    size, own = state.configuration.block_size, state.own.position

    def theirs(cell: int) -> bool:
        target = block_position(cell // size)
        return (own - target) % CIRCLE >= (own - to.position) % CIRCLE

    contacts, claims = state.directory.take(theirs, now=now)
    if contacts or claims:
        state.copies.put(contacts, claims, now=now, until=lease_end(state, now))
        state.send(to.node, Handover(contacts, claims))


def adopt_copies(state: PeerState, now: int) -> None:
    """Our part of the circle has grown: what we kept copies of is ours."""
    size = state.configuration.block_size
    contacts, claims = state.copies.take(lambda cell: owns(state, block_position(cell // size)), now=now)
    state.directory.put(contacts, claims, now=now, until=lease_end(state, now))


def hand_over_everything(state: PeerState, now: int, to: Descriptor) -> None:
    """We go: give all entries but our own to the one after us or to our successor, who owns them then."""
    state.directory.drop(state.own.node)
    contacts, claims = state.directory.take(lambda cell: True, now=now)
    if contacts or claims:
        state.send(to.node, Handover(contacts, claims))


def withdraw(state: PeerState, now: int) -> None:
    """We go: let the owners of our blocks forget us, or they would name us until the lease ends."""
    own, limits = state.own, state.configuration
    for block, cells in blocks_of(own.cells, limits, shared_cell=state.space.shared_cell).items():
        if not owns(state, block_position(block)):
            receive_lookup(state, now, Lookup(block, cells, own, False, False, limits.hop_limit // 4, 0, own.node))
