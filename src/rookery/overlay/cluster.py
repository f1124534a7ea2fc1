"""Peers of the same cells: a cluster behind one primary (seed 002, III.B; spec 2.6).

Rule 1: the first one is the primary. It alone stands on the rings; the others are ordered by when they joined.
Rule 2: the cluster keeps its place on the circle. When the primary goes, the next one takes over under the same random
ID with a higher epoch, so every ring stays as it was and the outer links only learn a new name.
Rule 3: in `sound` mode a cluster is a set of peers with equal *cells*. Equal identities with different cells would be
merged by the printed rule; here they are neighbors or cover each other, which needs no exception anywhere.
Rule 4: two primaries of one set of cells (they came at the same moment) are made one by the directory: the later one
dissolves into the earlier.
"""

from __future__ import annotations

import msgspec

from rookery.overlay.identity import Descriptor
from rookery.overlay.messages import Cluster, ClusterJoin, Leave, Lookup, LookupReply, MemberAlive, Primary
from rookery.overlay.ring import blocks_of, start_lookup
from rookery.overlay.state import PUBLISHING, PeerState, Phase

__all__ = [
    "ask_twin",
    "beat",
    "dissolve",
    "join",
    "keeps",
    "meet",
    "picture",
    "receive_alive",
    "receive_cluster",
    "receive_join",
    "receive_primary",
    "retry",
    "settle_claim",
    "succeed",
]


def join(state: PeerState, now: int, primary: Descriptor) -> None:
    """Ask to be taken into a cluster, and drop whatever else was asked."""
    state.requests = {number: one for number, one in state.requests.items() if one.kind in PUBLISHING}
    state.waiting_blocks = {}
    number = state.ask("cluster", primary, now)
    state.requests[number].tried.add(primary.node)
    state.send(primary.node, ClusterJoin(state.self_descriptor))


def retry(state: PeerState, now: int, number: int) -> None:
    """The primary does not answer: ask again, then claim its place at the directory."""
    request = state.requests[number]
    primary = request.about
    if request.attempt < 4 or not state.configuration.directory:
        state.send(primary.node, ClusterJoin(state.self_descriptor))
        return
    del state.requests[number]
    if state.phase is Phase.JOINING:
        blocks = blocks_of(state.own.cells, state.configuration, shared_cell=state.space.shared_cell)
        state.waiting_blocks = dict(list(blocks.items())[1:])
        block, cells = next(iter(blocks.items()))
        start_lookup(state, now, block, cells, register=False, claim=True, kind="contacts", replaces=primary.node)


def receive_join(state: PeerState, now: int, message: ClusterJoin) -> None:
    """Take a peer of our cells in, behind all others."""
    newcomer = message.origin
    if state.phase is Phase.MEMBER and state.primary is not None and state.primary.node != newcomer.node:
        state.send(state.primary.node, message)
        return
    fits = newcomer.cells == state.own.cells if state.configuration.exact else newcomer.identity == state.own.identity
    if state.phase is not Phase.ACTIVE or not fits:
        return
    if all(one.node != newcomer.node for one in state.members):
        state.members.append(newcomer)
        state.fingers.remove(newcomer.node)
        state.shortcuts.remove(newcomer.node)
        state.table.forget(newcomer.node)
    state.heard[newcomer.node] = now
    state.send(newcomer.node, picture(state))


def picture(state: PeerState) -> Cluster:
    """Return what a member must know."""
    return Cluster(state.own, tuple(state.members), tuple(state.table.known.values()), tuple(state.acquaintances))


def receive_cluster(state: PeerState, now: int, sender: int, message: Cluster) -> None:
    """Be a member: remember who speaks for us, who comes next, and what to copy."""
    mine = state.self_descriptor.node
    if message.primary.node == mine or all(one.node != mine for one in message.members):
        return
    if state.configuration.exact and message.primary.cells != state.self_descriptor.cells:
        state.send(sender, Leave(()))  # of a cluster that we have left for other interests
        return
    if state.phase is Phase.ACTIVE:
        if message.primary.epoch <= state.own.epoch:
            # An old picture of a cluster that we speak for now; it may show who came just before we took over.
            for member in message.members if message.primary.random_id == state.own.random_id else ():
                if member.node != mine and all(one.node != member.node for one in state.members):
                    receive_join(state, now, ClusterJoin(member))
            return
        for member in state.members:
            state.send(member.node, message)
    elif not _is_ours(state, now, sender, message):
        state.send(sender, Leave(()))
        return
    was_member = state.phase is Phase.MEMBER
    kept = {number: one for number, one in state.requests.items() if one.kind in PUBLISHING}
    members = list(message.members)
    if not was_member:
        _step_back(state)
    state.phase = Phase.MEMBER
    state.requests = kept
    state.primary, state.members, state.cluster_table = message.primary, members, message.table
    state.heard[sender] = now
    state.heard.setdefault(message.primary.node, now)  # named by another: it has yet to speak, and is waited for
    for node in message.acquaintances:
        state.remember(node)
    for one in message.table[:8]:  # a way in, should all of the cluster be lost
        state.fingers.consider(one)
    state.fingers.consider(message.primary)
    if not was_member and state.configuration.heartbeat is not None:
        state.heartbeat_at = now + state.configuration.heartbeat


def _is_ours(state: PeerState, now: int, sender: int, message: Cluster) -> bool:
    """Tell whether a picture comes from who speaks for us, from its successor, or from whom we asked to join."""
    current = state.primary
    if state.phase is Phase.JOINING or current is None or current.node in (sender, message.primary.node):
        return True
    if message.primary.random_id == current.random_id:
        return message.primary.epoch > current.epoch
    period = state.configuration.heartbeat or 0
    return now - state.heard.get(current.node, now) > 2 * period


def _step_back(state: PeerState) -> None:
    """Be ourselves again, with the highest epoch we have been seen with: graves of the old name must not hold us."""
    epoch = max(state.own.epoch, state.self_descriptor.epoch)
    state.self_descriptor = msgspec.structs.replace(state.self_descriptor, epoch=epoch)
    state.reset(state.self_descriptor)


def receive_alive(state: PeerState, now: int, message: MemberAlive) -> None:
    """A member lives; one we do not know came with another cluster, and is taken in."""
    if state.phase is Phase.ACTIVE and any(one.node == message.own.node for one in state.members):
        state.heard[message.own.node] = now
    else:
        receive_join(state, now, ClusterJoin(message.own))


def beat(state: PeerState, now: int) -> None:
    """The cluster's part of a heartbeat."""
    period = state.configuration.heartbeat or 0
    if state.phase is Phase.ACTIVE:
        lost = [one for one in state.members if now - state.heard.get(one.node, now) > 3 * period]
        if lost:
            state.members = [one for one in state.members if one not in lost]
        shown = picture(state)
        for member in state.members:
            state.send(member.node, shown)
        return
    if state.primary is None:
        return
    mine = state.self_descriptor.node
    place = next((place for place, one in enumerate(state.members) if one.node == mine), len(state.members))
    # Whoever buried the primary forgot when it spoke last: the wait begins now, or it would never end.
    if now - state.heard.setdefault(state.primary.node, now) > (3 + place) * period:
        succeed(state, now, gone=state.primary)
    else:
        state.send(state.primary.node, MemberAlive(state.self_descriptor))


def succeed(state: PeerState, now: int, *, gone: Descriptor) -> None:
    """Take over: the same place on the circle, the copied links, the members that came after us."""
    mine = state.self_descriptor
    members = [one for one in state.members if one.node != mine.node]
    table = state.cluster_table
    requests = state.requests
    advertised = msgspec.structs.replace(
        mine, random_id=gone.random_id, cells=gone.cells, identity=gone.identity, epoch=max(gone.epoch, mine.epoch) + 1
    )
    state.reset(advertised)
    state.phase = Phase.ACTIVE
    state.requests = requests
    state.members = members
    state.bury(gone.node, now, epoch=gone.epoch)
    state.learn(table, now)
    for peer in table:
        state.heard.setdefault(peer.node, now)
        state.send(peer.node, Primary(gone.node, advertised))
    for member in members:
        state.heard[member.node] = now
        state.send(member.node, picture(state))
    if state.configuration.directory:
        blocks = blocks_of(advertised.cells, state.configuration, shared_cell=state.space.shared_cell)
        for place, (block, cells) in enumerate(blocks.items()):
            start_lookup(state, now, block, cells, register=True, claim=place == 0, kind="renewal", replaces=gone.node)
    state.counters["takeover"] += 1


def receive_primary(state: PeerState, now: int, message: Primary) -> None:
    """A cluster we link to has a new voice, or our own has: then we ask to be on its list."""
    if state.phase is Phase.MEMBER and state.primary is not None and state.primary.node == message.old:
        state.send(message.new.node, ClusterJoin(state.self_descriptor))
    state.table.forget(message.old)
    state.bury(message.old, now, epoch=message.new.epoch - 1)
    state.directory.drop(message.old)
    state.copies.drop(message.old)
    if state.phase is Phase.ACTIVE:
        state.learn((message.new,), now)
        state.heard[message.new.node] = now
        state.remote_tables.pop(message.old, None)


def meet(state: PeerState, now: int, twin: Descriptor) -> bool:
    """Another primary of our cells turned up: say whether we stay, and dissolve if not.

    At one place of the circle the one that took over stays; at different places the one that stands first.
    """
    if twin.random_id == state.own.random_id:
        stays = (state.own.epoch, state.own.node) > (twin.epoch, twin.node)
    else:
        stays = state.own.position < twin.position
    if not stays:
        dissolve(state, now, twin)
    elif state.configuration.directory:
        _claim(state, now, replaces=twin)
    return stays


def keeps(state: PeerState, now: int, claimant: Descriptor) -> bool:
    """The directory names another primary of our cells: say whether that is our own member, and claim them again if so.

    Each would else go to the other: the member, which has told us lately that it is one, has us for its primary.
    """
    period = state.configuration.heartbeat or 0
    heard = state.heard.get(claimant.node)
    is_ours = state.is_member(claimant.node) and heard is not None and now - heard <= 2 * period
    if is_ours:
        _claim(state, now, replaces=claimant)
    return is_ours


def _claim(state: PeerState, now: int, *, replaces: Descriptor) -> None:
    """Claim our cells at the directory instead of another, who stood there before."""
    blocks = blocks_of(state.own.cells, state.configuration, shared_cell=state.space.shared_cell)
    block, cells = next(iter(blocks.items()))
    start_lookup(state, now, block, cells, register=True, claim=True, kind="renewal", replaces=replaces.node)


def ask_twin(state: PeerState, now: int, twin: Descriptor) -> None:
    """Claim our cells at another who is said to be their primary: one of us will dissolve."""
    blocks = blocks_of(state.own.cells, state.configuration, shared_cell=state.space.shared_cell)
    block, cells = next(iter(blocks.items()))
    number = state.ask("renewal", (block, cells, True, True, None), now)
    state.send(twin.node, Lookup(block, cells, state.own, True, True, state.configuration.hop_limit // 4, number))


def settle_claim(state: PeerState, now: int, lookup: Lookup) -> bool:
    """Answer a claim to our own cells ourselves.

    Twins do not link to each other, so each may take the other's place for its own: nobody else could tell them apart.
    """
    if not (lookup.claim and lookup.register and state.phase is Phase.ACTIVE and state.is_twin(lookup.origin)):
        return False
    if meet(state, now, lookup.origin):
        state.send(lookup.origin.node, LookupReply(lookup.block, state.own, {}, state.own, lookup.request))
    return True


def dissolve(state: PeerState, now: int, primary: Descriptor) -> None:
    """Give up our place and become a member of another cluster, with all our members."""
    table = tuple(state.table.known.values())
    for node in set(state.table.known):
        state.send(node, Leave(table))
    for member in state.members:
        state.send(member.node, Cluster(primary, tuple(state.members), ()))
    outgoing = {number: one for number, one in state.requests.items() if one.kind in PUBLISHING}
    _step_back(state)
    state.requests = outgoing
    state.fingers.consider(primary)
    join(state, now, primary)
    state.counters["dissolved"] += 1
