"""How a peer comes in (seed 002, III.C; spec 2.5).

`sound`: JOIN walks the shared ring to the newcomer's place, where its predecessor answers with its links and fingers.
The newcomer looks up the block of its lowest cell, which tells whether a cluster of its very cells exists (then it
joins that), and the other blocks for contacts; FIND walks from the contact nearest before its place; when every cell
is answered, the links are chosen and announced, all at once. Registering in the directory comes last.

`paper`: JOIN goes down the metric towards the residual, the interests that nobody known holds; the local minimum
answers with its table; again with what is left, from another known peer after a fruitless step. Links are then
chosen among all that has been heard of, which may not be who stands next. Who is known is led to at once, so a newcomer
answers before its own join is over; and of newcomers of one identity that wait for each other one goes on alone.
"""

from __future__ import annotations

from collections import defaultdict

from rookery.overlay import cluster, publishing
from rookery.overlay.configuration import SECOND
from rookery.overlay.identity import CIRCLE, Descriptor
from rookery.overlay.messages import ClusterJoin, Find, Found, Join, JoinReply, LookupReply
from rookery.overlay.paper import PaperTable
from rookery.overlay.ring import around, blocks_of, closest_before, receive_find, send_lookup, start_lookup
from rookery.overlay.state import PUBLISHING, PeerState, Phase

__all__ = [
    "activate",
    "receive_cluster_join",
    "receive_contacts",
    "receive_found",
    "receive_join",
    "receive_join_reply",
    "rejoin",
    "renew",
    "retry",
    "start",
    "walk_shared_ring",
]


def start(state: PeerState, now: int) -> None:
    """Begin to join through the bootstrap peers; the first of all is alone and ready."""
    peers = [node for node in state.bootstraps if node != state.own.node]
    if not peers:
        activate(state, now)
        return
    number = state.ask("join", state.own.cells, now)
    _send_join(state, number, peers[state.random.randrange(len(peers))])


def _send_join(state: PeerState, number: int, to: int) -> None:
    request = state.requests[number]
    request.tried.add(to)
    state.send(to, Join(state.own, request.about, state.configuration.hop_limit, number))


def rejoin(state: PeerState, now: int, peers: list[int]) -> None:
    """All links are gone: find our place again."""
    number = state.ask("join", state.own.cells, now)
    _send_join(state, number, peers[state.random.randrange(len(peers))])


def receive_join(state: PeerState, now: int, join: Join) -> None:
    """Take the newcomer one step nearer to its place, or answer it."""
    if state.phase is Phase.MEMBER and state.primary is not None and join.hops_left > 0:
        state.send(state.primary.node, Join(join.origin, join.residual, join.hops_left - 1, join.request))
        return
    state.remember(join.origin.node)
    if state.phase is not Phase.ACTIVE and not _takes_part(state):
        if not _leads_joiners(state, join):
            return  # the newcomer will ask somebody else
        activate(state, now)
    onward = _toward_place(state, join) if state.configuration.directory else _down_the_metric(state, join)
    if onward is not None and join.hops_left > 0:
        state.send(onward, Join(join.origin, join.residual, join.hops_left - 1, join.request))
        return
    known = state.table.known
    if state.configuration.directory:
        near = around(state, state.space.shared_cell, join.origin.position, but=join.origin.node)
        shown = {one.node: one for one in (*near, *state.fingers)}
    else:
        shown = dict(known)
        if state.table.consider(join.origin):  # the three rules of the seed: compare it with our own links
            state.heard.setdefault(join.origin.node, now)
    shown.pop(join.origin.node, None)
    state.send(join.origin.node, JoinReply(state.own, tuple(shown.values()), join.request))


def _takes_part(state: PeerState) -> bool:
    """Tell whether we answer before we have our place.

    As printed, who answers a JOIN takes the newcomer into its table at once, so others are led to it from then on. A
    newcomer that were silent until its own join is over would wait for others, who wait for it.
    """
    return state.phase is Phase.JOINING and not state.configuration.directory


def _leads_joiners(state: PeerState, join: Join) -> bool:
    """Of peers that join through each other, and hear of nobody who has its place, the first on the circle takes its
    own: should others be there after all, it is an island that finds them."""
    asked = any(one.kind == "join" and one.attempt >= state.configuration.attempts for one in state.requests.values())
    return state.phase is Phase.JOINING and asked and state.own.position < join.origin.position


def _toward_place(state: PeerState, join: Join) -> int | None:
    found = closest_before(state, join.origin.position, but=join.origin.node)
    return None if found is None else found.node


def _down_the_metric(state: PeerState, join: Join) -> int | None:
    cells = join.residual | {state.space.shared_cell}
    bits = state.space.bits(cells)
    least = state.space.distance(state.own, cells=cells, bits=bits)
    best = None
    for node, peer in state.table.known.items():
        distance = state.space.distance(peer, cells=cells, bits=bits)
        if distance < least and node != join.origin.node:
            best, least = node, distance
    return best


def receive_join_reply(state: PeerState, now: int, reply: JoinReply) -> None:
    """Learn whom the answering peer knows, and ask for what is missing."""
    request = state.requests.pop(reply.request, None)
    if request is None or request.kind != "join":
        return
    fruitful = state.learn((reply.own, *reply.table), now)
    if state.configuration.directory:
        if state.phase is Phase.JOINING:
            blocks = blocks_of(state.own.cells, state.configuration, shared_cell=state.space.shared_cell)
            state.waiting_blocks = dict(list(blocks.items())[1:])
            for block, cells in list(blocks.items())[:1]:
                start_lookup(state, now, block, cells, register=False, claim=True, kind="contacts")
            _finish(state, now)
        else:
            renew(state, now)
        return
    twin = next((one for one in (reply.own, *reply.table) if state.own.identity == one.identity), None)
    if twin is not None and state.phase is Phase.JOINING and not state.leads:
        cluster.join(state, now, twin)
        return
    _next_residual(state, now, fruitful)


def _next_residual(state: PeerState, now: int, fruitful: bool) -> None:
    """`paper`: ask again for the interests that nobody known holds."""
    held = frozenset[int]().union(*(peer.cells for peer in state.table.known.values()))
    residual = state.own.cells - held
    state.fruitless = 0 if fruitful else state.fruitless + 1
    state.rounds += 1
    known = list(state.table.known)
    limits = state.configuration
    if not residual or not known or state.fruitless >= limits.fruitless_limit or state.rounds >= limits.hop_limit:
        activate(state, now)
        return
    number = state.ask("join", residual, now)
    _send_join(state, number, known[state.random.randrange(len(known))])


def receive_cluster_join(state: PeerState, now: int, message: ClusterJoin) -> None:
    """`paper`: of peers of one identity that join together and wait for each other, the first on the circle leads."""
    asked = [one for one in state.requests.values() if one.kind == "cluster" and one.attempt]
    if _takes_part(state) and asked and state.own.position < message.origin.position:
        _lead(state, now)
    cluster.receive_join(state, now, message)


def _lead(state: PeerState, now: int) -> None:
    """Nobody of our identity has its place: go on with our own join, and be the first of the cluster."""
    state.requests = {number: one for number, one in state.requests.items() if one.kind != "cluster"}
    state.leads = True
    _next_residual(state, now, fruitful=True)


def receive_contacts(state: PeerState, now: int, message: LookupReply) -> None:
    """Use what the directory says: a cluster to join, or contacts to walk from."""
    request = state.requests.pop(message.request, None)
    if request is None or request.kind not in ("contacts", "renewal", "entry"):
        return
    state.owners[message.block] = message.owner
    state.learn_finger(message.owner, now)
    if request.kind == "entry":
        publishing.receive_entry(state, now, message.request, message.contacts)
        return
    primary = message.primary
    if primary is not None and primary.node != state.self_descriptor.node:
        if state.phase is Phase.JOINING:
            cluster.join(state, now, primary)
        elif state.phase is Phase.ACTIVE and not cluster.keeps(state, now, primary):
            cluster.dissolve(state, now, primary)
        return
    state.learn_shortcuts({one.node: one for found in message.contacts.values() for one in found}.values(), now)
    _walk_from_contacts(state, now, request.about[1], message.contacts)
    if state.phase is Phase.JOINING:
        for block, cells in state.waiting_blocks.items():
            start_lookup(state, now, block, cells, register=False, claim=False, kind="contacts")
        state.waiting_blocks = {}
    _finish(state, now)


def _walk_from_contacts(
    state: PeerState, now: int, cells: frozenset[int], contacts: dict[int, tuple[Descriptor, ...]]
) -> None:
    """Walk to our place for each cell; once we have one, only where a contact stands nearer than our predecessor."""
    place = state.own.position
    ways: dict[int, set[int]] = defaultdict(set)
    for cell in cells & state.own.cells:
        previous = state.table.ring_before(cell)
        usable = [
            one
            for one in contacts.get(cell, ())
            if one.node != state.own.node and state.avoided.get(one.node, 0) <= now
        ]
        if previous is not None:
            usable.append(previous)
        if usable:
            best = min(usable, key=lambda one: (place - one.position) % CIRCLE)
            if state.phase is Phase.JOINING or best is not previous:
                ways[best.node].add(cell)
    for node, walking in ways.items():
        number = state.ask("find", frozenset(walking), now)
        state.requests[number].tried.add(node)
        state.send(node, Find(state.own, frozenset(walking), state.configuration.hop_limit, number))


def receive_found(state: PeerState, now: int, found: Found) -> None:
    """Learn who stands around our place; when all cells are answered, the join is complete."""
    request = state.requests.get(found.request)
    state.learn(found.near, now)
    if request is None or request.kind != "find":
        return
    request.about -= found.cells
    if not request.about:
        del state.requests[found.request]
    _finish(state, now)


def _finish(state: PeerState, now: int) -> None:
    """Take our place when nothing of the join is open; events that we published meanwhile may still be on their way."""
    if state.phase is not Phase.JOINING or state.waiting_blocks:
        return
    if all(one.kind in PUBLISHING for one in state.requests.values()):
        activate(state, now)


def activate(state: PeerState, now: int) -> None:
    """Take our place: announce the links, register in the directory, answer who has been waiting."""
    state.phase = Phase.ACTIVE
    if isinstance(state.table, PaperTable):
        state.table.prune()
    if state.configuration.directory:
        renew(state, now)
    if state.configuration.heartbeat is not None:
        state.heartbeat_at = now + 1 + state.random.randrange(state.configuration.heartbeat)
    deferred, state.deferred = state.deferred, []
    for find in deferred:
        receive_find(state, now, find)


def renew(state: PeerState, now: int) -> None:
    """Register in the directory again; the answer also shows whether a ring has gone wrong."""
    blocks = blocks_of(state.own.cells, state.configuration, shared_cell=state.space.shared_cell)
    for place, (block, cells) in enumerate(blocks.items()):
        start_lookup(state, now, block, cells, register=True, claim=place == 0, kind="renewal")


def walk_shared_ring(state: PeerState, number: int) -> None:
    """Walk to our own place on the shared ring from somewhere else, be it from an island cut off from us."""
    request = state.requests[number]
    starts = [node for node in state.ways_in if node not in request.tried]
    if not starts:
        del state.requests[number]
        return
    start = starts[state.random.randrange(len(starts))]
    request.tried.add(start)
    state.send(start, Find(state.own, request.about, state.configuration.hop_limit, number))


def _restart(state: PeerState, now: int) -> None:
    """The directory cannot be reached from where we are: begin again, through others that we have met meanwhile."""
    outgoing = {number: one for number, one in state.requests.items() if one.kind in PUBLISHING}
    state.bootstraps = tuple(state.ways_in)
    state.reset(state.self_descriptor)
    state.requests = outgoing
    start(state, now)


def retry(state: PeerState, now: int, number: int) -> None:
    """Ask again what was not answered; the last time, make do without."""
    request = state.requests[number]
    request.attempt += 1
    wait = state.configuration.request_timeout << min(request.attempt, 3)
    request.deadline = now + wait
    if request.kind == "join":
        ways_in = state.ways_in
        untried = [node for node in ways_in if node not in request.tried] or ways_in
        if untried:
            _send_join(state, number, untried[state.random.randrange(len(untried))])
        return  # without an answer there is nobody to make do with
    if request.attempt >= state.configuration.attempts:
        del state.requests[number]
        state.counters[f"request given up: {request.kind}"] += 1
        if request.kind == "entry":
            publishing.give_up(state, number)
        elif request.kind == "inject":
            publishing.give_up(state, number, request.about)
        elif request.kind == "contacts" and state.phase is Phase.JOINING:
            _restart(state, now)
        elif request.kind == "cluster" and _takes_part(state):
            _lead(state, now)
    elif request.kind == "cluster":
        cluster.retry(state, now, number)
    elif request.kind == "inject":
        publishing.retry(state, now, number)
    elif request.kind in ("contacts", "renewal", "entry"):
        send_lookup(state, now, number, cached=False)
    elif request.kind == "find" and request.about == {state.space.shared_cell}:
        walk_shared_ring(state, number)  # who was asked is gone: ask another
    elif request.kind == "find":  # the contact may be gone: ask the directory for others
        del state.requests[number]
        kind = "contacts" if state.phase is Phase.JOINING else "renewal"
        blocks = blocks_of(request.about, state.configuration, shared_cell=state.space.shared_cell)
        for node in request.tried:
            state.avoided[node] = now + 10 * SECOND
            if state.phase is Phase.JOINING:  # nothing is announced yet, and all we know is hearsay
                state.table.forget(node)
        for block, cells in blocks.items():
            start_lookup(state, now, block, cells, register=False, claim=False, kind=kind)
        _finish(state, now)
