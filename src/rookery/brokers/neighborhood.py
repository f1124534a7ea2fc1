"""What a broker knows of the others: who is alive, what they claim, whom it has met.

A neighbor is alive while it is heard of; a broker at the other end of a failed message is not, until it speaks again.
News at second hand carries its age, which only grows on the way: two brokers cannot keep a dead one alive by telling
each other of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rookery.brokers.claims import Claim
from rookery.brokers.events import EntryWanted, Isolated
from rookery.brokers.messages import Heartbeat, SeatReport
from rookery.brokers.seats import Seat

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["ACQUAINTANCES", "Neighborhood"]

#: Brokers that a broker remembers having met.
ACQUAINTANCES = 32
#: How often a broker that looks around asks to be introduced to one that it may not know.
LOOKS_OUT = 1 / 8
#: Beats after which a failed message is forgiven.
FORGOTTEN = 20


class Neighborhood:
    """The other brokers, as one of them sees them."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        #: When each neighbor was last heard of, at first or second hand.
        self.heard: dict[int, int] = {}
        #: Whom a message could not reach, and when that was.
        self.unreachable: dict[int, int] = {}
        #: Brokers met lately, neighbors or not: what is left of the others if the network falls into parts.
        self.acquaintances: dict[int, None] = {}

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
        owners = {claim.owner for seat in broker.seats.values() for claim in seat.neighbors}
        self.heard = {owner: self.heard.get(owner, broker.now) for owner in owners}
        forgotten = broker.now - FORGOTTEN * broker.configuration.beat
        self.unreachable = {owner: when for owner, when in self.unreachable.items() if when > forgotten}

    def lose(self, owner: int) -> None:
        """Note that a message did not reach a broker."""
        broker = self._broker
        self.unreachable[owner] = broker.now
        self.acquaintances.pop(owner, None)
        for seat in broker.seats.values():
            seat.queue.forget(owner)

    def silence(self, owner: int) -> int:
        """Return for how long a broker has been taken for dead, negative while it is not."""
        limit = self._broker.configuration.silence * self._broker.configuration.beat
        since = self._broker.now - self.heard.get(owner, self._broker.now) - limit
        return max(since, self._broker.now - self.unreachable[owner]) if owner in self.unreachable else since

    def learn(self, claim: Claim, heard_at: int) -> None:
        """Take in a claim that was fresh at a time: from its owner, or at second hand."""
        owner = claim.owner
        if owner == self._broker.id:
            return
        if heard_at <= self.unreachable.get(owner, -1):
            return
        if self._broker.now - heard_at > self._broker.configuration.silence * self._broker.configuration.beat:
            return
        if self._broker.membership.succession.contest(claim):
            return
        for seat in self._broker.seats.values():
            if seat.learn(claim):
                self.unreachable.pop(owner, None)
                known = self.heard.get(owner)
                if known is None:
                    self._broker.membership.greet(owner)
                self.heard[owner] = heard_at if known is None else max(known, heard_at)

    def report(self, seat: Seat) -> SeatReport:
        """Return what neighbors are told of a seat."""
        return SeatReport(seat.current_claim(), seat.heirs(self.alive), self.ages(seat), seat.stamp)

    def ages(self, seat: Seat) -> tuple[tuple[Claim, int], ...]:
        """Return all neighbors of a seat, each with the age of that news.

        The dead are among them: whoever gets this zone must know whose zones wait for an heir.
        """
        dead = self._broker.configuration.silence * self._broker.configuration.beat + 1
        found = []
        for claim in seat.neighbors:
            age = (
                0
                if claim.owner == self._broker.id
                else max(0, self._broker.now - self.heard.get(claim.owner, self._broker.now))
            )
            found.append((claim, max(age, dead) if claim.owner in self.unreachable else age))
        return tuple(found)

    def receive(self, message: Heartbeat, sender: int) -> None:
        """Take in what a broker tells of its zones."""
        if sender in self.heard:
            self.heard[sender] = self._broker.now
        if self._is_known(message, sender):
            return
        related = False
        told = {report.claim.path for report in message.reports if report.claim.owner == sender}
        for seat in self._broker.seats.values():
            for claim in list(seat.neighbors):
                if claim.owner == sender and claim.path not in told:
                    seat.drop(claim.path)
        for report in message.reports:
            claim = report.claim
            if claim.owner != sender:
                continue
            self.learn(claim, self._broker.now)
            news = True
            for seat in self._broker.seats.values():
                held = seat.neighbors.get(claim.path)
                if held is not None and held.owner == sender:
                    related = True
                    self.heard[sender] = self._broker.now
                    known = seat.details.get(claim.path)
                    news = known is None or known.stamp != report.stamp or known.claim.epoch != claim.epoch
                    seat.details[claim.path] = report
            if news:
                for other, age in report.neighbors:
                    self.learn(other, self._broker.now - age)
        if not related and message.answer and self._broker.seats:
            self._broker.send(
                sender, Heartbeat(tuple(self.report(seat) for seat in self._broker.seats.values()), answer=False)
            )

    def _is_known(self, message: Heartbeat, sender: int) -> bool:
        """Take in a heartbeat that says what the one before said, as nearly all do; say whether it was such."""
        broker = self._broker
        if len(message.reports) != 1 or len(broker.seats) != 1 or broker.membership.granted_claims():
            return False
        (report,) = message.reports
        (seat,) = broker.seats.values()
        claim = report.claim
        held = seat.neighbors.get(claim.path)
        known = seat.details.get(claim.path)
        if held is None or known is None or held.owner != sender or claim.owner != sender:
            return False
        if held.epoch != claim.epoch or known.claim.epoch != claim.epoch or known.stamp != report.stamp:
            return False
        if any(other.owner == sender and other.path != claim.path for other in seat.neighbors):
            return False
        seat.learn(claim)  # its load may be another, and residents are leased
        seat.details[claim.path] = report
        self.heard[sender] = broker.now
        return True

    def meet(self, other: int) -> None:
        """Remember a broker; the one not met for longest is forgotten for it."""
        if other == self._broker.id or other in self.unreachable:
            return
        self.acquaintances.pop(other, None)
        if len(self.acquaintances) >= ACQUAINTANCES:
            del self.acquaintances[next(iter(self.acquaintances))]
        self.acquaintances[other] = None

    def known(self) -> list[int]:
        """Return living brokers: the neighbors and those met otherwise."""
        owners = {claim.owner for seat in self._broker.seats.values() for claim in seat.neighbors}
        owners.update(self.acquaintances)
        owners.discard(self._broker.id)
        return sorted(owner for owner in owners if self.alive(owner))

    def look_around(self) -> None:
        """Greet brokers met before that are no neighbors.

        So many deaths at once may leave two groups that know nothing of each other and inherit each other's zones. One
        greeting across is enough: the claims of the two meet, and the lesser ones yield.
        """
        if not self.acquaintances and not any(len(seat.neighbors) for seat in self._broker.seats.values()):
            self._broker.emit(Isolated())
        elif self._broker.dice.random() < LOOKS_OUT:
            self._broker.emit(EntryWanted())
        for _ in range(min(2, len(self.acquaintances))):
            known = list(self.acquaintances)
            self._broker.membership.greet(known[int(self._broker.dice.random() * len(known))])
