"""How the overlay stays whole: heartbeats that carry tables, failures, and leaving (seed 002, III.C; spec 2.5).

Rule 1: every period T each peer tells all ends of its links that it lives, with its table when that changed. So whoever
is linked to a peer knows its links, and can step over it when it is gone.
Rule 2: silent for 3 T means gone. The first to notice tells all others that were linked to it; each removes it, takes
its links as candidates, and remembers it as gone, so that slower peers cannot bring it back.
Rule 3: who is named by others though it is taken for gone is asked: two peers that a storm made silent to each other
would else be a gap in their rings for as long as they remember that.
Rule 4: a ring on which a neighbor was lost is in doubt until the directory's contacts show nobody nearer.
Rule 5: tables that arrive are candidates: who stands between me and my neighbor is found this way (stabilization).
"""

from __future__ import annotations

from rookery.overlay import cluster
from rookery.overlay.identity import Descriptor
from rookery.overlay.joining import rejoin, renew, walk_shared_ring
from rookery.overlay.linking import watch_predecessor
from rookery.overlay.messages import Failed, Leave, LinkHeartbeat, Ping, Unlink
from rookery.overlay.paper import PaperTable
from rookery.overlay.ring import blocks_of, hand_over_everything, start_lookup, withdraw
from rookery.overlay.state import PeerState, Phase

__all__ = ["fail", "heartbeat", "leave", "receive_failed", "receive_heartbeat", "receive_leave"]


def heartbeat(state: PeerState, now: int) -> None:
    """One period is over: tell, listen, renew."""
    period = state.configuration.heartbeat
    if period is None or state.phase is Phase.LEFT:
        return
    state.heartbeat_at = now + period
    cluster.beat(state, now)
    if state.phase is not Phase.ACTIVE:
        return
    for node in [node for node in state.table.known if now - state.heard.setdefault(node, now) > 3 * period]:
        if node in state.table.known:
            fail(state, now, node, tell=True)
    for node in state.rumored:
        state.send(node, Ping())
    state.rumored = set()
    for node in state.far:
        if now - state.heard.setdefault(node, now) > 3 * period:
            state.bury(node, now)
        else:
            state.send(node, Ping())
    if isinstance(state.table, PaperTable):
        state.table.prune()  # what tables brought has been considered; heartbeats go along links
    table = None
    for node in state.table.known:
        chosen = state.table.is_chosen(node)
        if state.sent_tables.get(node) != state.table.version:
            state.sent_tables[node] = state.table.version
            table = table or tuple(state.table.known.values())
            state.send(node, LinkHeartbeat(chosen, table, state.own.epoch))
        else:
            state.send(node, LinkHeartbeat(chosen, None, state.own.epoch))
    state.rounds += 1
    _tidy(state)
    if state.configuration.directory:
        _verify(state, now)
    if not state.table.known:
        _come_back(state, now)


def _tidy(state: PeerState) -> None:
    """Forget what was remembered about peers that are linked no more."""
    known = state.table.known
    far = state.far
    members = {one.node for one in state.members}
    state.heard = {node: at for node, at in state.heard.items() if node in known or node in far or node in members}
    state.sent_tables = {node: version for node, version in state.sent_tables.items() if node in known}
    state.remote_tables = {node: table for node, table in state.remote_tables.items() if node in known}


def _verify(state: PeerState, now: int) -> None:
    """Renew the leases in turn, and look at the rings in doubt; the answers bring walks where something is wrong."""
    shared = state.space.shared_cell
    if state.rounds % state.configuration.refresh == 0:
        renew(state, now)
        walk_shared_ring(state, state.ask("find", frozenset((shared,)), now))  # it has no directory
    elif state.twin is not None:
        cluster.ask_twin(state, now, state.twin)
    elif state.doubtful:
        for block, cells in blocks_of(state.doubtful, state.configuration, shared_cell=shared).items():
            start_lookup(state, now, block, cells, register=True, claim=False, kind="renewal")
    state.doubtful, state.twin = set(), None


def _come_back(state: PeerState, now: int) -> None:
    """All links are lost: join again, unless nobody else is there."""
    if not any(one.kind == "join" for one in state.requests.values()):
        peers = state.ways_in
        if peers:
            rejoin(state, now, peers)


def receive_heartbeat(state: PeerState, now: int, sender: int, message: LinkHeartbeat) -> None:
    """The other end lives; its table, if it came, is remembered and considered."""
    if state.phase is not Phase.ACTIVE:
        if state.phase is Phase.MEMBER:
            state.send(sender, Leave(()))  # we stand on no ring any more
        return
    if sender not in state.table.known:
        state.send(sender, Unlink(stranger=True))
        return
    state.heard[sender] = now
    if message.epoch > state.table.known[sender].epoch:
        state.send(sender, Ping())  # it is another now; the answer says which
    if message.chosen:  # where a LINK or UNLINK was lost or overtaken
        state.table.admit(state.table.known[sender])
    else:
        state.table.dismiss(sender)
    if message.table is not None:
        state.remote_tables[sender] = message.table
        state.learn(message.table, now)
        watch_predecessor(state, now)


def fail(state: PeerState, now: int, node: int, *, tell: bool) -> None:
    """Remove a peer that is gone; `tell` those it was linked to."""
    table = state.remote_tables.pop(node, ())
    if tell:
        for peer in table:
            if peer.node != state.own.node:
                state.send(peer.node, Failed(node))
    _remove(state, now, node, table)
    state.counters["failure noticed"] += 1


def _remove(state: PeerState, now: int, node: int, table: tuple[Descriptor, ...]) -> None:
    for cell in state.own.cells:
        for neighbor in (state.table.ring_next(cell), state.table.ring_before(cell)):
            if neighbor is not None and neighbor.node == node:
                state.doubtful.add(cell)
    state.bury(node, now)
    state.table.forget(node)
    state.directory.drop(node)
    state.copies.drop(node)
    state.learn(table, now)
    watch_predecessor(state, now)


def receive_failed(state: PeerState, now: int, message: Failed) -> None:
    """Believe it if we have not heard from that peer for a while either."""
    period = state.configuration.heartbeat or 0
    if message.node in state.table.known and now - state.heard.get(message.node, now) > 2 * period:
        fail(state, now, message.node, tell=False)


def leave(state: PeerState, now: int) -> None:
    """Go in good order: the successor of the cluster takes over, or the neighbors close the rings."""
    if state.phase is Phase.MEMBER and state.primary is not None:
        state.send(state.primary.node, Leave(()))
    elif state.phase is Phase.ACTIVE and state.members:
        successor = state.members[0]
        state.send(successor.node, cluster.picture(state))
        state.send(successor.node, Leave(tuple(state.table.known.values())))
        if state.configuration.directory:
            hand_over_everything(state, now, successor)
    elif state.phase is Phase.ACTIVE:
        table = tuple(state.table.known.values())
        for node in state.table.known:
            state.send(node, Leave(table))
        following = state.table.ring_next(state.space.shared_cell)
        if following is not None and state.configuration.directory:
            withdraw(state, now)
            hand_over_everything(state, now, following)
    state.phase = Phase.LEFT


def receive_leave(state: PeerState, now: int, sender: int, message: Leave) -> None:
    """A peer goes: close the rings over it."""
    if state.phase is Phase.MEMBER:
        if state.primary is not None and state.primary.node == sender:
            state.cluster_table = message.table or state.cluster_table
            cluster.succeed(state, now, gone=state.primary)
        return
    if any(one.node == sender for one in state.members) and sender not in state.table.known:
        state.members = [one for one in state.members if one.node != sender]
        return
    if sender in state.table.known:
        _remove(state, now, sender, message.table)
        state.remote_tables.pop(sender, None)
    else:
        state.bury(sender, now, epoch=0)
        state.directory.drop(sender)
        state.copies.drop(sender)
        state.learn(message.table, now)
