"""The routing table: what a broker knows of its peers, who is alive, what they own, which ones it has met.

A neighbor is alive while it is heard of, by heartbeats or anything else that it sends; a broker at the other end of a
failed message is not, until it speaks again.
News at second hand carries its age, which only grows on the way: two brokers cannot keep a dead one alive by telling
each other of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rookery.brokers.events import EntryWanted, Isolated
from rookery.brokers.messages import BrokerHeartbeat, ZoneReport
from rookery.brokers.owned_zone import OwnedZone
from rookery.brokers.ownership import ZoneOwnership

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["MOST_KNOWN_PEERS", "RoutingTable"]

#: Brokers that a broker remembers having met.
MOST_KNOWN_PEERS = 32
#: How often a broker that greets known peers asks to be introduced to one that it may not know.
ENTRY_PROBABILITY = 1 / 8
#: Beats after which a failed message is forgiven.
FORGOTTEN = 20


class RoutingTable:
    """The peers of a broker, as it sees them."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        #: When each neighbor was last heard of, at first or second hand.
        self.heard: dict[int, int] = {}
        #: Whom a message could not reach, and when that was.
        self.unreachable: dict[int, int] = {}
        #: Brokers met lately, neighbors or not: what is left of the peers if the network falls into parts.
        self.known_peers: dict[int, None] = {}

    def alive(self, owner: int) -> bool:
        """Tell whether a broker is not known to be gone."""
        if owner == self._broker.id:
            return True
        if owner in self.unreachable:
            return False
        heard = self.heard.get(owner)
        return (
            heard is None
            or self._broker.now - heard <= self._broker.configuration.silence * self._broker.configuration.beat
        )

    def prune(self) -> None:
        """Keep what is known of neighbors; forget whom one no longer has to do with."""
        broker = self._broker
        owners = {ownership.owner for owned in broker.owned.values() for ownership in owned.neighbors}
        self.heard = {owner: self.heard.get(owner, broker.now) for owner in owners}
        broker.leases.prune(owners)
        forgotten = broker.now - FORGOTTEN * broker.configuration.beat
        self.unreachable = {owner: when for owner, when in self.unreachable.items() if when > forgotten}

    def lose(self, owner: int) -> None:
        """Note that a message did not reach a broker."""
        broker = self._broker
        self.unreachable[owner] = broker.now
        self.known_peers.pop(owner, None)
        for owned in broker.owned.values():
            owned.queue.forget(owner)

    def hear(self, peer: int) -> None:
        """Note that a broker has said something, whatever it is: its heartbeat may be behind much else."""
        if peer in self.heard:
            self.heard[peer] = self._broker.now

    def silence(self, owner: int) -> int:
        """Return for how long a broker has been silent beyond what was granted to it, negative while it is not.

        Whether it can be reached makes no difference: it may be alive, and count on the grant (`leases.py`).
        """
        granted = self._broker.configuration.silence * self._broker.configuration.beat
        return self._broker.now - self.heard.get(owner, self._broker.now) - granted

    def inherit(self, owner: int, age: int) -> None:
        """Take in when a neighbor was last heard by who had one's zone before: what that one has granted binds."""
        heard = self._broker.now - age
        self.heard[owner] = max(heard, self.heard.get(owner, heard))

    def held_up(self, late: int) -> None:
        """Being late for a beat: that long others were not listened to, and it does not make them silent.

        It only prolongs what was granted to them; the own lease goes by the clock (`leases.py`).
        """
        if late:
            self.heard = {owner: min(self._broker.now, when + late) for owner, when in self.heard.items()}

    def stalled(self) -> None:
        """Having slept: nobody is silent before it has been listened to for as long as ever."""
        self.heard = dict.fromkeys(self.heard, self._broker.now)

    def learn(self, ownership: ZoneOwnership, heard_at: int) -> None:
        """Take in an ownership that was fresh at a time: from its owner, or at second hand."""
        owner = ownership.owner
        if owner == self._broker.id:
            return
        if heard_at <= self.unreachable.get(owner, -1):
            return
        if self._broker.now - heard_at > self._broker.configuration.silence * self._broker.configuration.beat:
            return
        if self._broker.membership.takeover.contest(ownership):
            return
        for owned in self._broker.owned.values():
            if owned.learn(ownership):
                self.unreachable.pop(owner, None)
                known = self.heard.get(owner)
                if known is None:
                    self._broker.membership.greet(owner)
                self.heard[owner] = heard_at if known is None else max(known, heard_at)

    def report(self, owned: OwnedZone) -> ZoneReport:
        """Return what neighbors are told of a zone."""
        return ZoneReport(owned.current_ownership(), owned.backups(self.alive), self.ages(owned), owned.stamp)

    def ages(self, owned: OwnedZone) -> tuple[tuple[ZoneOwnership, int], ...]:
        """Return all neighbors of a zone, each with the age of that news.

        The dead are among them: whoever gets this zone must know whose zones wait for a backup.
        """
        return tuple([(ownership, self._age(ownership.owner)) for ownership in owned.neighbors])

    def _age(self, owner: int) -> int:
        """Return how long ago a broker was heard; 0 for oneself."""
        if owner == self._broker.id:
            return 0
        return max(0, self._broker.now - self.heard.get(owner, self._broker.now))

    def receive(self, message: BrokerHeartbeat, sender: int) -> None:
        """Take in what a broker tells of its zones."""
        broker = self._broker
        broker.leases.take(sender, message.grant, message.held)
        broker.landmarks.heard(message.landmarks, sender)
        if sender in self.heard:
            self.heard[sender] = broker.now
        if self.is_known(message, sender):
            (report,) = message.reports
            (owned,) = broker.owned.values()
            owned.learn(report.ownership)  # its load may be another, and residents are leased
            owned.details[report.ownership.path] = report
            self.heard[sender] = broker.now
            broker.leases.give(sender, message.stamp)
            if message.lacking:
                broker.leases.answer(sender)
            return
        related = False
        told = {report.ownership.path for report in message.reports if report.ownership.owner == sender}
        for owned in self._broker.owned.values():
            for ownership in list(owned.neighbors):
                if ownership.owner == sender and ownership.path not in told:
                    owned.drop(ownership.path)
        claimed = [report.ownership for report in message.reports if report.ownership.owner == sender]
        if len(claimed) == 1:  # who has two zones resides in both
            for owned in broker.owned.values():
                owned.queue.moved(claimed[0])
        for report in message.reports:
            ownership = report.ownership
            if ownership.owner != sender:
                continue
            self.learn(ownership, self._broker.now)
            news = True
            for owned in self._broker.owned.values():
                neighbor = owned.neighbors.get(ownership.path)
                if neighbor is not None and neighbor.owner == sender:
                    related = True
                    self.heard[sender] = self._broker.now
                    known = owned.details.get(ownership.path)
                    news = known is None or known.stamp != report.stamp or known.ownership.epoch != ownership.epoch
                    owned.details[ownership.path] = report
            if news:
                for neighbor, age in report.neighbors:
                    self.learn(neighbor, self._broker.now - age)
        for rival, age in message.rivals:
            self.learn(rival, broker.now - age)
        rivals = {rival.path: rival for ownership in claimed for rival in broker.leases.rivals(ownership)}
        if related and not rivals:
            broker.leases.give(sender, message.stamp)
        if broker.owned and ((message.answer and not related) or message.lacking or (message.answer and rivals)):
            broker.leases.answer(sender, tuple((rival, self._age(rival.owner)) for rival in rivals.values()))

    def is_known(self, message: BrokerHeartbeat, sender: int) -> bool:
        """Tell whether a heartbeat says of zones what the one before said, as nearly all do.

        Such a one brings a stamp and a grant alone: it need not wait for what its sender has said before it.
        """
        broker = self._broker
        if len(message.reports) != 1 or len(broker.owned) != 1 or broker.membership.unconfirmed() or message.rivals:
            return False
        (report,) = message.reports
        (owned,) = broker.owned.values()
        ownership = report.ownership
        neighbor = owned.neighbors.get(ownership.path)
        known = owned.details.get(ownership.path)
        if neighbor is None or known is None or neighbor.owner != sender or ownership.owner != sender:
            return False
        if neighbor.epoch != ownership.epoch or known.ownership.epoch != ownership.epoch or known.stamp != report.stamp:
            return False
        return not any(other.owner == sender and other.path != ownership.path for other in owned.neighbors)

    def remember(self, peer: int) -> None:
        """Remember a broker; the one not met for longest is forgotten for it."""
        if peer == self._broker.id or peer in self.unreachable:
            return
        self.known_peers.pop(peer, None)
        if len(self.known_peers) >= MOST_KNOWN_PEERS:
            del self.known_peers[next(iter(self.known_peers))]
        self.known_peers[peer] = None

    def living(self) -> list[int]:
        """Return living brokers: the neighbors and those met otherwise."""
        owners = {ownership.owner for owned in self._broker.owned.values() for ownership in owned.neighbors}
        owners.update(self.known_peers)
        owners.discard(self._broker.id)
        return sorted(owner for owner in owners if self.alive(owner))

    def ways_on(self, client: int) -> list[int]:
        """Return living brokers in the order in which a client should try them.

        First the neighbors, who were heard a moment ago, for each client in another order; then those met otherwise,
        the latest first, who may have left long since.
        """
        owners = {ownership.owner for owned in self._broker.owned.values() for ownership in owned.neighbors}
        near = sorted(owners, key=lambda owner: (hash((client, owner)), owner))
        met = [peer for peer in reversed(self.known_peers) if peer not in owners]
        return [owner for owner in (*near, *met) if owner != self._broker.id and self.alive(owner)]

    def greet_known_peers(self) -> None:
        """Greet brokers met before that are no neighbors.

        So many deaths at once may leave two groups that know nothing of each other and take over each other's zones.
        One greeting across is enough: their ownerships meet, and the lesser ones yield.
        """
        if not self.known_peers and not any(len(owned.neighbors) for owned in self._broker.owned.values()):
            self._broker.emit(Isolated())
        elif self._broker.random.random() < ENTRY_PROBABILITY:
            self._broker.emit(EntryWanted())
        for _ in range(min(2, len(self.known_peers))):
            known = list(self.known_peers)
            self._broker.membership.greet(known[int(self._broker.random.random() * len(known))])
