"""The owner's ledger: which events were taken, who still has to get them, and when they are safe.

Rule 1: an event is acknowledged when it lies on two disks, the owner's and its backup's. `stored` says the first, the
backup's `Copied` the second. Weaker promises have names (`Durability`) and must be asked for.
Rule 2: an event is held until every client that wants it has confirmed it, or has unsubscribed, or has let its lease
end, or has fallen behind by more than `kept` events.
Rule 3: nobody is told twice. An event has its publisher's number for good; what arrives again is acknowledged again,
and whatever a crash makes ambiguous is told once more and dropped by the subscriber.
Rule 4: who takes over a zone may not know all of its subscriptions before their brokers have sent them again. Until
then the zone has a grace period: its events are matched as they come and once more when that ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rookery.brokers.configuration import Durability
from rookery.brokers.held import Held
from rookery.brokers.lots import Lot, lots_of, match_parcels
from rookery.brokers.messages import Subscription
from rookery.brokers.owned_zone import OwnedZone
from rookery.brokers.parcels import (
    Accepted,
    Carry,
    Columns,
    Copied,
    Copy,
    Forget,
    Parcel,
    ParcelKey,
    Refused,
    events_of,
    part_of,
)
from rookery.brokers.store import ZoneStore

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["Ledger"]

#: Parcels remembered so that none is taken twice.
REMEMBERED = 1 << 14
#: Notices sent again at one beat.
MOST_AGAIN = 64
#: Why a broker on its own refuses.
ALONE = "no second broker to keep a copy: start one with --join, or ask for --durability one-disk"


class Ledger:
    """The parcels that one broker owns."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.held: dict[int, Held] = {}
        self.backup: int | None = None
        #: When there was a backup last.
        self._with_backup = -(1 << 62)
        self._numbers = 0
        #: By number of a notice that is not confirmed.
        self._noticed: dict[int, Held] = {}
        self._known: dict[ParcelKey, list[Held]] = {}
        self._incoming: list[tuple[OwnedZone, Held, Columns | None]] = []
        self._unwritten: list[Held] = []
        self._uncopied: list[Held] = []
        self._forgotten: list[int] = []
        self._done: list[tuple[int, int]] = []
        #: Subscriptions that are attached elsewhere now, and those that are gone.
        self._moved: dict[str, int] = {}
        self._gone: set[str] = set()

    # ---- parcels come in -----------------------------------------------------------------------------------------

    def accept(self, owned: OwnedZone, carry: Carry, columns: Columns | None) -> None:
        """Take a parcel whose events all lie in an own zone."""
        broker, parcel = self._broker, carry.parcel
        known = self._known.setdefault(parcel.key, [])
        if known:
            fresh = self._fresh(carry, known)
            if not fresh:
                return
            if len(fresh) < parcel.count:
                carry = Carry(part_of(parcel, fresh, columns), tuple(carry.points[row] for row in fresh), carry.origin)
                parcel, columns = carry.parcel, None
        refusal = self._refusal()
        if refusal is not None:
            broker.counters["refused"] += 1
            broker.send(carry.origin, Refused(parcel.publisher, parcel.first, refusal, final=False))
            return
        self._numbers += 1
        held = Held(self._numbers, parcel, carry.points[0], {carry.origin}, broker.now, {}, owned.grace_until)
        known.append(held)
        self._incoming.append((owned, held, columns))
        if len(self._known) > REMEMBERED:
            del self._known[next(iter(self._known))]

    def _fresh(self, carry: Carry, known: list[Held]) -> list[int]:
        """Return the rows that were never taken; say again that the others are safe, as soon as they are."""
        seen: set[int] = set()
        for held in known:
            seen.update(held.numbers() if held.gone else held.parcel.numbers())
            if held.acknowledged:
                self._tell(held, carry.origin)
            else:
                held.origins.add(carry.origin)
        self._broker.counters["repeated"] += 1
        return [row for row, number in enumerate(carry.parcel.numbers()) if number not in seen]

    def _refusal(self) -> str | None:
        configuration = self._broker.configuration
        if len(self.held) >= configuration.most_held:
            return f"the broker holds {len(self.held)} parcels that subscribers have not taken"
        if configuration.durability is Durability.TWO_DISKS and self._is_alone():
            return ALONE
        return None

    def _is_alone(self) -> bool:
        """Tell whether there has been nobody to take over for longer than a takeover lasts."""
        return self._choose_backup() is None and self._was_alone()

    def _was_alone(self) -> bool:
        configuration = self._broker.configuration
        return self._broker.now - self._with_backup > (configuration.silence + 1) * configuration.beat

    # ---- once per batch of messages ------------------------------------------------------------------------------

    @property
    def has_work(self) -> bool:
        """Whether there is anything to match, send or write."""
        return bool(
            self._incoming
            or self._moved
            or self._gone
            or self._uncopied
            or self._forgotten
            or self._unwritten
            or self._done
        )

    def settle(self) -> None:
        """Match what came in, in one batch; send and write what follows from it."""
        if self._moved or self._gone:
            self._rehome()
        if self._incoming:
            incoming, self._incoming = self._incoming, []
            for owned, held, lots in match_parcels(incoming):
                self._hold(owned, held, lots)
        self.send_copies()
        if self._forgotten and self.backup is not None:
            self._broker.send(self.backup, Forget(tuple(self._forgotten)))
        self._forgotten.clear()

    def records(self) -> tuple[list[tuple[int, int, Parcel]], list[Held], list[tuple[int, int]]]:
        """Return what is to be written: entries, the parts that wait for it, and what is done with."""
        unwritten, self._unwritten = self._unwritten, []
        done, self._done = self._done, []
        unwritten = [held for held in unwritten if held.part in self.held]
        return [(self._broker.id, held.part, held.parcel) for held in unwritten], unwritten, done

    def _hold(self, owned: OwnedZone, held: Held, lots: dict[int, Lot]) -> None:
        broker = self._broker
        broker.counters["matched"] += held.parcel.count
        owned.reservoir.add(held.point, broker.dice)
        owned.reservoir.seen += held.parcel.count - 1
        if held.grace_until:
            held.told.update(pair for lot in lots.values() for pair in lot.pairs(held.parcel.count))
        if not lots and not held.grace_until:
            self._acknowledge(held)  # nobody wants it: there is nothing to lose
            held.empty()
            return
        self.held[held.part] = held
        self._open(held, lots)
        if broker.configuration.durability is Durability.MEMORY:
            self._acknowledge(held)
            return
        self._unwritten.append(held)
        if broker.configuration.durability is Durability.TWO_DISKS:
            self._uncopied.append(held)
        else:
            held.copied = True

    def _open(self, held: Held, lots: dict[int, Lot]) -> None:
        """Tell brokers about pairs, each lot under a number of its own."""
        for access_broker, lot in lots.items():
            self._numbers += 1
            held.open[self._numbers] = (access_broker, lot)
            self._noticed[self._numbers] = held
            self._broker.send(access_broker, lot.notice(self._numbers, held.parcel))

    def _close(self, held: Held, number: int) -> None:
        del held.open[number]
        del self._noticed[number]

    # ---- when events are safe ------------------------------------------------------------------------------------

    def stored(self, written: Iterable[Held]) -> None:
        """Parts are on the own disk."""
        for held in written:
            held.stored = True
            self._check(held)

    def not_stored(self, written: Iterable[Held], reason: str, *, final: bool = True) -> None:
        """The disk did not take them: neither do we."""
        for held in written:
            self._broker.counters["refused"] += 1
            for origin in held.origins:
                self._broker.send(origin, Refused(held.parcel.publisher, held.parcel.first, reason, final))
            known = self._known.get(held.parcel.key)
            if known is not None and held in known:
                known.remove(held)
            self._finish(held)

    def copied(self, message: Copied, sender: int) -> None:
        """Parts are on the backup's disk."""
        for part in message.parts:
            held = self.held.get(part)
            if held is not None and sender == self.backup:
                held.copied = True
                self._check(held)

    def _check(self, held: Held) -> None:
        if held.stored and held.copied and not held.acknowledged:
            self._acknowledge(held)
            self._check_finished(held)

    def _acknowledge(self, held: Held) -> None:
        held.acknowledged = True
        for origin in held.origins:
            self._tell(held, origin)
        held.origins.clear()

    def _tell(self, held: Held, origin: int) -> None:
        offsets = held.parcel.offsets
        if held.gone:
            offsets = tuple(held.numbers())
            if not offsets:
                return
        self._broker.send(origin, Accepted(held.parcel.publisher, held.parcel.first, offsets))

    def _choose_backup(self) -> int | None:
        home = self._broker.home()
        backups = home.backups(self._broker.routing_table.alive) if home is not None else ()
        if self.backup is not None and self.backup in backups:
            return self.backup
        backup = backups[0] if backups else None
        if backup is None and self.backup is not None:
            self._with_backup = self._broker.now
        if backup != self.backup:
            self.backup = backup
            for held in self.held.values():
                held.copied = False
            if self._broker.configuration.durability is Durability.TWO_DISKS:
                self._uncopied = list(self.held.values())
        return backup

    def send_copies(self) -> None:
        """Bring new parts to the backup."""
        if self._uncopied and self._choose_backup() is not None:
            assert self.backup is not None
            uncopied, self._uncopied = self._uncopied, []
            parts = tuple((held.part, held.parcel) for held in uncopied if held.part in self.held)
            for first in range(0, len(parts), MOST_AGAIN):
                self._broker.send(self.backup, Copy(parts[first : first + MOST_AGAIN]))

    # ---- when they have been told --------------------------------------------------------------------------------

    def confirm(self, numbers: Iterable[int], access_broker: int) -> None:
        """The clients of a broker have what these notices said."""
        for number in numbers:
            held = self._noticed.get(number)
            if held is not None and held.open[number][0] == access_broker:
                self._close(held, number)
                self._check_finished(held)

    def _check_finished(self, held: Held) -> None:
        if not held.open and not held.grace_until and not held.moving and held.acknowledged:
            self._finish(held)

    def _finish(self, held: Held) -> None:
        if self.held.pop(held.part, None) is None:
            return
        if self._broker.configuration.durability is not Durability.MEMORY:
            self._done.append((self._broker.id, held.part))
            if held.copied:
                self._forgotten.append(held.part)
        for number in list(held.open):
            self._close(held, number)
        held.told.clear()
        held.empty()  # it is remembered by its numbers

    def again(self, numbers: Iterable[int], access_broker: int) -> None:
        """Clients of a broker can take what these notices said."""
        for number in numbers:
            held = self._noticed.get(number)
            if held is not None and held.open[number][0] == access_broker:
                self._broker.send(access_broker, held.open[number][1].notice(number, held.parcel))

    def move(self, name: str, access_broker: int) -> None:
        """A client has attached to another broker."""
        self._moved[name] = access_broker

    def follow(self, store: ZoneStore) -> None:
        """A zone has come with its subscriptions: some of the clients waited for may have moved before it did."""
        for held in self.held.values():
            for access_broker, lot in held.open.values():
                for name in lot.all_names():
                    present = store.get(name)
                    if present is not None and present.access_broker != access_broker:
                        self._moved[name] = present.access_broker

    def drop(self, name: str) -> None:
        """A subscription is gone: nobody waits for its events."""
        self._gone.add(name)

    def _rehome(self) -> None:
        """Follow the clients that have moved, forget those that are gone: one pass for all of them."""
        moved, gone = self._moved, self._gone
        self._moved, self._gone = {}, set()
        by_access_broker: dict[int, set[str]] = {}
        for name, access_broker in moved.items():
            by_access_broker.setdefault(access_broker, set()).add(name)
        for held in list(self.held.values()):
            fresh: dict[int, Lot] = {}
            for number, (access_broker, lot) in list(held.open.items()):
                left = lot.without(gone)
                for target, names in by_access_broker.items():
                    if target != access_broker and left.concerns(names):
                        going = left.only(names)
                        fresh[target] = fresh[target].joined(going) if target in fresh else going
                        left = left.without(names)
                if left is not lot:
                    self._shrink(held, number, left)
            self._open(held, fresh)
            self._check_finished(held)

    def _shrink(self, held: Held, number: int, left: Lot) -> None:
        """Fewer wait for a notice now: tell their broker, which need not wait for the others."""
        access_broker = held.open[number][0]
        if left:
            held.open[number] = (access_broker, left)
            self._broker.send(access_broker, left.notice(number, held.parcel))
        else:
            self._close(held, number)

    def forgotten_copies(self, parts: Iterable[int], holder: int) -> tuple[int, ...]:
        """Say which copies that somebody holds are not needed: done with, or at the present backup as well."""
        unneeded = []
        for part in parts:
            held = self.held.get(part)
            if held is None or (holder != self.backup and held.copied):
                unneeded.append(part)
        return tuple(unneeded)

    # ---- the beat ------------------------------------------------------------------------------------------------

    def beat(self) -> None:
        """Match again after a grace period, bring copies to a new backup, tell again, let go of what nobody takes."""
        broker = self._broker
        backup = self._choose_backup()
        self.send_copies()
        if backup is None and broker.configuration.durability is Durability.TWO_DISKS and self._was_alone():
            self.not_stored([held for held in self.held.values() if not held.acknowledged], ALONE, final=False)
        self._end_grace_periods()
        self._bound()
        patience = 2 * broker.configuration.beat
        sent = 0
        for held in list(self.held.values()):
            if held.moving or broker.now - held.since < 2 * patience:
                continue
            dead = any(not broker.routing_table.alive(access_broker) for access_broker, _ in held.open.values())
            if dead:
                self._send_on(held)  # if the zone went elsewhere, so does news of its clients
            if not held.moving and sent < MOST_AGAIN:
                held.since = broker.now
                for number, (access_broker, lot) in held.open.items():
                    if broker.routing_table.alive(access_broker):
                        sent += 1
                        broker.send(access_broker, lot.notice(number, held.parcel))

    def moved_on(self, part: int) -> None:
        """The present owners have accepted what was sent on to them."""
        held = self.held.get(part)
        if held is None:
            return
        held.moving = False
        for number, (_, lot) in list(held.open.items()):
            left = lot.without_rows(held.gone, held.parcel.count)
            if left is not lot:
                self._shrink(held, number, left)
        self._check_finished(held)

    def _end_grace_periods(self) -> None:
        broker = self._broker
        for held in [held for held in self.held.values() if held.grace_until and held.grace_until <= broker.now]:
            held.grace_until = 0
            self._send_on(held)
            rows: list[int] = []
            late: list[Subscription] = []
            for row, event in enumerate(events_of(held.parcel)):
                points = broker.carriage.points_of([event])
                owned = broker.owned_at(points[0]) if points else None
                for one in owned.store.match(event) if owned is not None else ():
                    if row not in held.gone and (row, one.subscription_id) not in held.told:
                        rows.append(row)
                        late.append(one)
            broker.counters["matched late"] += len(late)
            self._open(held, lots_of(rows, late))
            held.told.clear()
            self._check_finished(held)

    def _send_on(self, held: Held) -> None:
        """Bring what does not lie in own zones any more to the present owners, who finish with it."""
        points = self._broker.carriage.points_of(events_of(held.parcel)) or ()
        away = [
            row for row, point in enumerate(points) if self._broker.owned_at(point) is None and row not in held.gone
        ]
        if away and not held.moving:
            held.moving = True
            held.gone |= frozenset(away)
            self._broker.copies.adopt(self._broker.id, held.part, part_of(held.parcel, away))

    def _bound(self) -> None:
        """Let the oldest events go of subscriptions that have more than `kept` waiting."""
        most = self._broker.configuration.kept
        if sum(held.parcel.count for held in self.held.values()) <= most:
            return
        each: Counter[str] = Counter()
        for held in self.held.values():
            for _, lot in held.open.values():
                each.update(lot.names)
                for name in lot.every:
                    each[name] += held.parcel.count
        if not each or max(each.values()) <= most:
            return
        waiting: dict[str, int] = {}
        for held in reversed(self.held.values()):
            over = set()
            for _, lot in held.open.values():
                for name, more in lot.counts(held.parcel.count).items():
                    count = waiting[name] = waiting.get(name, 0) + more
                    if count > most:
                        over.add(name)
            if over:
                self._broker.counters["given up"] += len(over)
                for number, (_, lot) in list(held.open.items()):
                    if lot.concerns(over):
                        self._shrink(held, number, lot.without(over))
        for held in list(self.held.values()):
            self._check_finished(held)
