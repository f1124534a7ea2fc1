"""Who owns which zone: join and split, leave and merge.

Theory. Among the living a zone changes hands in one way only: its owner grants it, whole or the upper half of it, and
keeps a copy until the new owner says that it has it. If the new owner dies first the zone is taken back. What happens
after a death, and when two claim one zone, is in `succession.py`.

A broker with more than one seat passes the rest on. Seats that are siblings merge; a seat whose sibling is one zone
goes to that zone's owner, who merges; any other goes deeper into the sibling's subtree, strictly deeper each time,
until it meets a broker whose own zone can be given away so (the seed's leave, specification 3.3: Z absorbs Y's zone and
Y takes X's).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rookery.brokers.claims import Claim
from rookery.brokers.events import Joined, Left
from rookery.brokers.messages import Grant, Granted, Heartbeat, Join, Routed, SeatState
from rookery.brokers.neighborhood import ACQUAINTANCES
from rookery.brokers.sampling import FEWEST_SAMPLES, cut_of
from rookery.brokers.seats import Seat
from rookery.brokers.succession import Succession, carve
from rookery.brokers.zones import ROOT, Path, Point, cell_of, contains, inside, overlap, sibling, split, volume

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["Membership"]

#: A zone that so many cuts have made is not cut again: its sides are near the end of a double's digits.
DEEPEST = 40


class Membership:
    """The seats of one broker and how they come and go."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.left = False
        self.leaving = False
        self._bootstrap: int | None = None
        self._asked = 0
        #: Until when a broker without a zone waits to be given one, by a plan, before it looks for one.
        self._waits = 0
        #: Counts what was sent on through brokers met before.
        self._turn = 0
        #: Zones granted and not yet confirmed: the claim made for the receiver, the seat as it was, since when.
        self._granted: dict[Path, tuple[Claim, Seat, int]] = {}
        self._greet: set[int] = set()
        self.succession = Succession(broker, self)

    # ---- joining -------------------------------------------------------------------------------------------------

    def found(self) -> None:
        """Own everything."""
        broker = self._broker
        self.open(Claim(ROOT, 1, broker.id, 0, broker.position))
        broker.emit(Joined(ROOT))

    def join(self, bootstrap: int) -> None:
        """Ask a broker for a zone, now and at every second beat until there is one."""
        broker = self._broker
        self._bootstrap = bootstrap
        self._asked = broker.now
        broker.send(bootstrap, Routed((), Join(broker.id, broker.position), broker.id))

    def seek(self, bootstrap: int) -> None:
        """Having lost the last zone, look for one: at once, or when what was granted to others is settled."""
        if self._granted:
            self._bootstrap, self._asked = bootstrap, self._broker.now
        else:
            self.join(bootstrap)

    def release(self, patience: int, back: float | None = None) -> None:
        """Give the zones to the owners of their siblings and wait for a place; look for one after a time.

        With `back` a zone is to be joined with its sibling, cut there, and the upper part given back.
        """
        broker = self._broker
        self._waits = broker.now + patience
        self._merge_siblings()
        for seat in list(broker.seats.values()):
            target = self._partner(seat)
            if target is not None:
                self._bootstrap = target
                self._grant(seat, target, back=back)

    def place(self, path: Path, cut: float | None) -> None:
        """Ask for the upper half of a certain zone, cut here, or at its owner's median; while one has none."""
        broker = self._broker
        if broker.seats or self._granted or self._bootstrap is None:
            return
        point = cell_of(path, broker.configuration.space.dimensions).lower
        wanted = Join(broker.id, broker.position, at=path, cut=cut)
        broker.send(self._bootstrap, Routed(point, wanted, broker.id))

    def admit(self, seat: Seat, join: Join) -> None:
        """A newcomer has come to this zone: send it on to look at others, or give it a zone."""
        broker = self._broker
        if join.newcomer == broker.id:
            return
        if join.at is not None:
            if join.at == seat.path and len(broker.seats) == 1 and not self.leaving:
                self._give(seat, join)
            return
        if self.leaving:
            self._grant(seat, join.newcomer, join.position)
            return
        best = join.best
        mine = seat.current_claim()
        if best is None or _weight(mine, seat.dimensions) >= _weight(best, seat.dimensions):
            best = mine
        if join.others:
            onward = Join(join.newcomer, join.position, join.others[1:], best)
            broker.dispatch_body(join.others[0], onward)
        elif best.owner != broker.id:
            broker.dispatch_body(cell_of(best.path, seat.dimensions).lower, Join(join.newcomer, join.position))
        else:
            self._give(seat, join)

    def invite(self, join: Join) -> None:
        """A newcomer has come to this broker: draw the points that it will look at, from the events if there are any.

        Points of events that pass here are a sample of all events, those of the own zone would not be.
        """
        broker = self._broker
        dimensions = broker.configuration.space.dimensions
        known = broker.passing.points
        points: list[Point] = []
        for _ in range(max(1, broker.configuration.choices)):
            if len(known) >= FEWEST_SAMPLES:
                points.append(known[int(broker.dice.random() * len(known))])
            else:
                points.append(tuple(broker.dice.random() for _ in range(dimensions)))
        broker.dispatch_body(points[0], Join(join.newcomer, join.position, tuple(points[1:])))

    def _give(self, seat: Seat, join: Join) -> None:
        """Give a newcomer a whole seat if there is one to spare, else the upper half of this one."""
        broker = self._broker
        if len(broker.seats) > 1:
            spare = min(broker.seats.values(), key=lambda one: (len(one.path), one.path))
            self._grant(spare, join.newcomer, join.position)
            return
        if len(seat.path) >= DEEPEST:
            return
        axis = len(seat.path) % seat.dimensions
        cut = join.cut
        if cut is None or not seat.cell.lower[axis] < cut < seat.cell.upper[axis]:
            cut = cut_of(seat.cell, axis, seat.reservoir.points)
        low, high = split(seat.path, cut)
        epoch = seat.claim.epoch + 1
        theirs = Claim(high, epoch, join.newcomer, 0, join.position)
        whole = seat.state(Claim(low, epoch, broker.id, 0, broker.position), broker.around.ages(seat), broker.now)
        before = self.owners(seat)
        state = seat.state(theirs, (*broker.around.ages(seat), (whole.claim, 0)), broker.now)
        self.close(seat)
        mine = self.open(whole.claim, whole)
        broker.around.heard[join.newcomer] = broker.now
        mine.learn(theirs)
        self._granted[high] = (theirs, seat, broker.now)
        broker.send(join.newcomer, Grant(state, met=tuple(broker.around.acquaintances)))
        self.announce(before | {join.newcomer})

    # ---- zones that change hands ---------------------------------------------------------------------------------

    def _grant(self, seat: Seat, receiver: int, position: tuple[float, ...] = (), *, back: float | None = None) -> None:
        """Give a whole seat away."""
        broker = self._broker
        claim = Claim(seat.path, seat.claim.epoch + 1, receiver, 0, position)
        state = seat.state(claim, broker.around.ages(seat), broker.now)
        self.close(seat)
        self._granted[seat.path] = (claim, seat, broker.now)
        for other in broker.seats.values():
            if other.learn(claim):
                broker.around.heard[receiver] = broker.now
        broker.counters["granted"] += 1
        broker.send(receiver, Grant(state, back, tuple(broker.around.acquaintances)))

    def accept(self, grant: Grant, sender: int) -> None:
        """Take a zone that was granted; give a part of it and its sibling back, if that is wanted."""
        broker = self._broker
        state, back = grant.state, grant.back
        claim = state.claim
        if claim.owner != broker.id:
            return
        broker.send(sender, Granted(claim.path, claim.epoch))
        self._waits = 0
        first = not broker.seats
        mine = Claim(claim.path, claim.epoch, broker.id, 0, broker.position)
        for other in (*grant.met[:ACQUAINTANCES], sender):
            broker.around.meet(other)
        for known in (*state.ancestors, *(other for other, _ in state.neighbors)):
            broker.around.meet(known.owner)
        self.take(mine, state)
        if first and broker.seats:
            broker.emit(Joined(claim.path))
            broker.placement.resubscribe()
            broker.refresh_ancestors()
        self.announce({sender})
        if back is not None:
            self._merge_siblings()
            whole = broker.seats.get(claim.path[:-1])
            if whole is not None and len(broker.seats) == 1 and not self.leaving:
                self._give(whole, Join(sender, (), cut=back))

    def take(self, claim: Claim, state: SeatState) -> None:
        """Open a seat, but for parts that are one's own already: those only gain what came with it."""
        broker = self._broker
        rivals = [seat for seat in broker.seats.values() if overlap(seat.path, claim.path)]
        for rival in rivals:
            if inside(claim.path, rival.path):
                rival.fill(state, broker.now)
                rival.store.keep(rival.cell)
                return
        pieces = [claim.path]
        for rival in rivals:
            pieces = [part for piece in pieces for part in carve(piece, rival.path)]
        for piece in pieces:
            self.open(Claim(piece, claim.epoch, broker.id, 0, broker.position), state)

    def granted(self, path: Path, epoch: int) -> None:
        """The new owner has its zone."""
        pending = self._granted.get(path)
        if pending is not None and pending[0].epoch == epoch:
            del self._granted[path]
            self._depart()

    def take_back(self, claim: Claim) -> None:
        """The new owner never got its zone: own it again."""
        broker = self._broker
        pending = self._granted.get(claim.path)
        if pending is None or pending[0].epoch != claim.epoch:
            return
        _, seat, _ = self._granted.pop(claim.path)
        broker.counters["taken back"] += 1
        mine = Claim(claim.path, claim.epoch + 1, broker.id, 0, broker.position)
        self.take(mine, seat.state(mine, [(other, 0) for other in seat.neighbors], broker.now))
        self.announce()

    def forwarding(self, point: Point, visited: Sequence[int] = ()) -> int | None:
        """Return who brings a message on, while one is between seats: who has got the zone, else one met before.

        Without a seat one hears no heartbeats, so whoever died is not missed: those met before take turns, and what
        one of them could not bring on is sent again through another.
        """
        dimensions = self._broker.configuration.space.dimensions
        owners = [
            claim.owner for claim, _, _ in self._granted.values() if contains(cell_of(claim.path, dimensions), point)
        ]
        owners += [claim.owner for claim, _, _ in self._granted.values()]
        if not owners and self._bootstrap is not None:
            around = self._broker.around
            met = dict.fromkeys((self._bootstrap, *around.acquaintances))
            owners = [other for other in met if around.alive(other) and other not in visited]
            self._turn += 1
            return owners[self._turn % len(owners)] if owners else None
        return owners[0] if owners else None

    # ---- leaving -------------------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Hand over every seat."""
        self.leaving = True
        self._hand_all_over()

    def _hand_all_over(self) -> None:
        # Merged first: one of two siblings, given away alone, would come back from its new owner to the other.
        self._merge_siblings()
        for seat in list(self._broker.seats.values()):
            self._hand_over(seat)
        self._depart()

    def _hand_over(self, seat: Seat) -> None:
        target = self._partner(seat)
        if target is None:
            target = next(iter(seat.heirs(self._broker.around.alive)), None)
        if target is not None:
            self._grant(seat, target)
        elif not len(seat.neighbors):
            self.close(seat)  # nobody else is there

    def _depart(self) -> None:
        if self.leaving and not self.left and not self._granted and not self._broker.seats:
            self.left = True
            self._broker.emit(Left())

    # ---- passing seats on ----------------------------------------------------------------------------------------

    def _partner(self, seat: Seat) -> int | None:
        """Return who should get a seat: its sibling's owner, or the deepest neighbor inside the sibling's zone."""
        broker = self._broker
        if not seat.path:
            return None
        beside = sibling(seat.path)
        candidates = [
            claim
            for claim in seat.neighbors
            if inside(claim.path, beside) and claim.owner != broker.id and broker.around.alive(claim.owner)
        ]
        return max(candidates, key=lambda claim: (len(claim.path), claim.owner)).owner if candidates else None

    def _pass_on(self) -> None:
        """Do one step toward a single seat."""
        broker = self._broker
        self._merge_siblings()
        if len(broker.seats) < 2 or self._granted:
            return
        for seat in broker.seats.values():
            claim = seat.neighbors.get(sibling(seat.path)) if seat.path else None
            if claim is not None and claim.owner != broker.id and broker.around.alive(claim.owner):
                self._grant(seat, claim.owner)
                return
        home = broker.home()
        assert home is not None
        for seat in broker.seats.values():
            if seat is home:
                continue
            deeper = self._partner(home) if inside(home.path, sibling(seat.path)) else self._partner(seat)
            if deeper is not None:
                self._grant(seat, deeper)
                return

    def _merge_siblings(self) -> None:
        seats = self._broker.seats
        for path in list(seats):
            if path and path in seats and sibling(path) in seats:
                self._merge(seats[path], seats[sibling(path)])

    def _merge(self, one: Seat, other: Seat) -> None:
        """Make one seat of two siblings: what a split did is undone."""
        broker = self._broker
        before = self.owners(one) | self.owners(other)
        claim = Claim(one.path[:-1], max(one.claim.epoch, other.claim.epoch) + 1, broker.id, 0, broker.position)
        states = [seat.state(seat.claim, broker.around.ages(seat), broker.now) for seat in (one, other)]
        self.close(one)
        self.close(other)
        merged = self.open(claim, states[0])
        for known, age in states[1].neighbors:
            merged.learn(known)
            broker.around.heard.setdefault(known.owner, broker.now - age)
        merged.fill(states[1], broker.now)
        broker.counters["merged"] += 1
        self.announce(before)

    # ---- seats and what is told of them --------------------------------------------------------------------------

    def open(self, claim: Claim, state: SeatState | None = None) -> Seat:
        """Own a zone from now on; take in what came with it and what one knows already."""
        broker = self._broker
        seat = Seat(claim, broker.configuration)
        known = [other for one in broker.seats.values() for other in (one.claim, *one.neighbors)]
        ancestors = [resident for one in broker.seats.values() for resident in one.queue]
        broker.seats[seat.path] = seat
        if state is not None:
            for other, age in state.neighbors:
                if other.owner != broker.id or other.path in broker.seats:
                    seat.learn(other)
                    if other.owner != broker.id:
                        broker.around.heard.setdefault(other.owner, broker.now - age)
            seat.fill(state, broker.now)
            seat.store.keep(seat.cell)
            seat.reservoir = seat.reservoir.part(seat.cell)
            broker.ledger.follow(seat.store)
        for other in known:
            seat.learn(other)
        for resident in ancestors:
            seat.queue.learn(resident, first=False)
        for one in broker.seats.values():
            if one is not seat:
                one.learn(claim)
        return seat

    def close(self, seat: Seat) -> None:
        """Own a zone no more."""
        self._broker.placement.withdraw_replica(seat)
        del self._broker.seats[seat.path]
        for other in self._broker.seats.values():
            held = other.neighbors.get(seat.path)
            if held is not None and held.owner == self._broker.id:
                other.drop(seat.path)

    def owners(self, seat: Seat) -> set[int]:
        """Return the other brokers around a seat."""
        return {claim.owner for claim in seat.neighbors if claim.owner != self._broker.id}

    def granted_claims(self) -> list[Claim]:
        """Return the claims made for others who have not confirmed them yet."""
        return [claim for claim, _, _ in self._granted.values()]

    def greet(self, owner: int) -> None:
        """Tell a broker soon that one is there."""
        self._greet.add(owner)

    def announce(self, others: set[int] | None = None) -> None:
        """Tell all neighbors, and some others, what one owns; bring the replicas to the heirs."""
        broker = self._broker
        if others is None:
            others = set()
        for seat in broker.seats.values():
            others |= self.owners(seat)
            broker.placement.replicate(seat)
        self._greet |= others

    def flush(self) -> None:
        """Send the heartbeats that are due: one per receiver, whatever happened."""
        if not self._greet:
            return
        broker = self._broker
        greeted, self._greet = self._greet, set()
        greeted.discard(broker.id)
        if broker.seats and greeted:
            beat = Heartbeat(tuple(broker.around.report(seat) for seat in broker.seats.values()))
            for owner in sorted(greeted):
                if owner not in broker.around.unreachable:
                    broker.send(owner, beat)

    def beat(self) -> None:
        """Do what is periodic: ask again, take back, take over, pass on."""
        broker = self._broker
        beat = broker.configuration.beat
        for claim, _, since in list(self._granted.values()):
            if broker.now - since > (broker.configuration.silence + 1) * beat:
                self.take_back(claim)
        if not broker.seats and not self.leaving and not self._granted and self._bootstrap is not None:
            if broker.now - self._asked >= 2 * beat and broker.now >= self._waits:
                self.join(self._bootstrap)
            self.succession.settle_all(self._waits)
            return
        for seat in broker.seats.values():  # one resides in one's own seats only
            seat.queue.forget(broker.id)
            for other in broker.seats.values():
                seat.queue.learn(other.claim, first=False)
        self.succession.inherit()
        self.succession.settle_waste()
        if self.leaving:
            self._hand_all_over()
        else:
            self._pass_on()


def _weight(claim: Claim, dimensions: int) -> tuple[int, float]:
    return claim.load, volume(cell_of(claim.path, dimensions))
