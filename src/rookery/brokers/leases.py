"""Leases of ownership: an owner promises something only while nobody can have taken its zone from it.

Rule 1. A heartbeat carries a stamp by its sender's own monotonic clock. Whoever hears it, has a zone beside and knows
of no owner that prevails gives a grant: the stamp goes back with his next heartbeat, at once if the sender has no
lease. By that he promises not to take over before `silence` beats have passed since he heard it.
Rule 2. An owner holds the lease of a zone while its neighbors tile its faces and each of them has granted a stamp that
is younger than the zone and than the lease: a quarter beat less than `silence` beats, by the owner's clock, from when
the stamp was *sent*. So it ends before any grant does, whatever the clocks of two brokers say, and if the owner slept
meanwhile it finds it ended when it wakes: every stamp in what waited for it is old.
Rule 3. Only under its lease does an owner accept an event, say that a subscription is placed, let one end, or end a
grace period. What is matched without one is held: the lease comes back, and it is matched again and accepted, or
somebody prevails and it goes there to be matched.
Rule 4. Only who has a zone beside takes over, when his own grant has run out (`takeover.py`). A broker that slept
grants anew to everyone before it looks who is silent: its own silence was not theirs. Nor does it cut, join or pass on
zones before its leases are held again, or for `silence` beats. A zone's new owner has its predecessor's grants, since
the age of what is known of neighbors goes with a zone.
Rule 5. Who makes a greater epoch of that of a zone whose lease he does not hold (a cut, a merge, a transfer) may be
beaten already, and prevails over who has beaten him: what comes of that zone has a grace period, as after a takeover.
So has the zone of whoever is yielded to.

Why nothing is missed: let a subscription be placed by B and an event be accepted later by A, whose zones overlap. A
held its lease after it had matched, so whoever is beside A's zone knew of no owner that prevails over A, and had not
taken over himself. B held its own when it had stored the subscription, so it was not beaten then. So B's is A's own
ownership, or an earlier one from which A's came: by a transfer, which brings the subscriptions, or by a takeover, and
then the event was matched again when the grace period was over (`deliveries.py`); or B has yielded to A, whose epoch
was made without a lease, and the same holds (rule 5). No message about an event carries an epoch: that its zone is
still A's is asked when it has been matched, for who subscribes later is not owed it. This needs that two groups of
brokers do not stay apart for so long that each takes over all zones of the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rookery.brokers.messages import BrokerHeartbeat
from rookery.brokers.owned_zone import OwnedZone
from rookery.brokers.ownership import ZoneOwnership
from rookery.space.zones import overlap

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["Leases"]

#: The end of a lease that nobody else has to grant: the zone has no neighbors.
FOR_GOOD = 1 << 62


class Leases:
    """The grants that one broker has given and got."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._stamp = 0
        #: By peer: its latest stamp that was granted, and the own stamp that it has granted.
        self._given: dict[int, int] = {}
        self._got: dict[int, int] = {}
        #: When the latest stamp of a peer came.
        self._given_at: dict[int, int] = {}
        #: Counts what may change a lease, but for the neighbor tables.
        self._changes = 0
        #: Until when a broker that slept has hardly heard of anything.
        self._drowsy_until = 0

    @property
    def now(self) -> int:
        """The latest stamp: what is sent from here on has a greater one."""
        return self._stamp

    @property
    def length(self) -> int:
        """How long a stamp is good for."""
        configuration = self._broker.configuration
        return configuration.silence * configuration.beat - configuration.beat // 4

    # ---- heartbeats ----------------------------------------------------------------------------------------------

    def heartbeats(self, receivers: list[int]) -> None:
        """Tell brokers what one owns, and give each the grant that is due to it."""
        broker = self._broker
        reports = tuple(broker.routing_table.report(owned) for owned in broker.owned.values())
        self._stamp = max(self._stamp + 1, broker.now)
        is_lacking = not self.are_held()
        for receiver in receivers:
            broker.send(
                receiver,
                BrokerHeartbeat(
                    reports,
                    True,
                    self._stamp,
                    self._given.get(receiver, 0),
                    is_lacking,
                    held=self._held(receiver),
                    landmarks=broker.landmarks.number,
                ),
            )

    def answer(self, sender: int, rivals: tuple[tuple[ZoneOwnership, int], ...] = ()) -> None:
        """Answer a heartbeat at once: with a grant, or with those that prevail over what it says."""
        broker = self._broker
        reports = tuple(broker.routing_table.report(owned) for owned in broker.owned.values())
        self._stamp = max(self._stamp + 1, broker.now)
        grant, held = self._given.get(sender, 0), self._held(sender)
        landmarks = broker.landmarks.number
        broker.send(sender, BrokerHeartbeat(reports, False, self._stamp, grant, False, rivals, held, landmarks))

    def _held(self, receiver: int) -> int:
        return self._broker.now - self._given_at.get(receiver, self._broker.now)

    def rivals(self, ownership: ZoneOwnership) -> list[ZoneOwnership]:
        """Return the ownerships that prevail over what a peer says it owns, as far as is known here."""
        broker = self._broker
        known = [made for made in broker.membership.unconfirmed() if overlap(made.path, ownership.path)]
        for owned in broker.owned.values():
            if overlap(owned.path, ownership.path):
                known.append(owned.current_ownership())
            known += owned.neighbors.rivals(ownership)
        return [rival for rival in known if rival.owner != ownership.owner and rival.prevails(ownership)]

    def give(self, receiver: int, stamp: int) -> None:
        """Promise a broker not to take over for a time."""
        if stamp > self._given.get(receiver, 0):
            self._given[receiver] = stamp
            self._given_at[receiver] = self._broker.now

    def take(self, giver: int, stamp: int, held: int = 0) -> None:
        """Take the grant of a broker for a stamp of one's own, which it has had for some time."""
        if self._got.get(giver, 0) < stamp <= self._stamp:
            self._got[giver] = stamp
            self._changes += 1
            self._broker.round_trips.note(giver, self._broker.now - stamp - held)

    def prune(self, peers: set[int]) -> None:
        """Forget whom one has nothing to do with any more."""
        for grants in (self._given, self._got, self._given_at):
            for peer in grants.keys() - peers:
                del grants[peer]
        self._changes += 1

    # ---- leases --------------------------------------------------------------------------------------------------

    def is_held(self, owned: OwnedZone) -> bool:
        """Tell whether nobody can have taken a zone over."""
        key = (owned.stamp, self._changes)
        if owned.lease[1] != key:
            owned.lease = (self._end(owned), key)
        return self._broker.now < owned.lease[0]

    def are_held(self) -> bool:
        """Tell whether nobody can have taken any of the own zones over."""
        return all(map(self.is_held, self._broker.owned.values()))

    def stalled(self) -> None:
        """Having slept: somebody may have taken over, and who has not heard of it yet."""
        configuration = self._broker.configuration
        self._drowsy_until = self._broker.now + configuration.silence * configuration.beat

    @property
    def is_drowsy(self) -> bool:
        """Whether the broker has slept and not been told since that its zones are still its own."""
        return self._broker.now < self._drowsy_until and not self.are_held()

    def _end(self, owned: OwnedZone) -> int:
        if owned.holes():
            return 0
        end = FOR_GOOD
        for ownership in owned.neighbors:
            if ownership.owner != self._broker.id:
                stamp = self._got.get(ownership.owner, 0)
                end = min(end, stamp + self.length if stamp > owned.since else 0)
        return end
