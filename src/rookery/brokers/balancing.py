"""The standing rebalancer: brokers keep the load of their zones even by themselves, one zone at a time.

Rule 1. Every broker says from time to time what its zones have carried since it said so last, with a sample of where
that lay, to whoever owns the lowest corner of the space, who is in charge; and at once when its zones have changed.
Rule 2. Nothing moves while the busiest zone has at most `MOST` times the mean and none is idle, nor where fewer events
came than say anything, and not before two looks in a row have said so; after a plan, none is made for some looks, twice
as many each time that it has not helped. So what is even enough stays, and what cannot be even does not move for good.
Rule 3. Who is in charge plans where cuts should be (`plans.py`), in a `Compute`, and gives one broker one order. The
next step is computed when the brokers have said that their zones tile the space again, each with one or none; an order
that had no effect for some beats is given anew. A zone changes hands as it always does, while events flow; whoever
crashes, the network is whole without the plan, and who is in charge then goes by what it sees.
Rule 4. Where an operator shares the zones anew (`rookery broker resplit`), brokers say so, and nothing is planned for a
while: a plan made from statistics is not undone at once by what a few seconds have shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from rookery.brokers.balancing_messages import GiveZone, LoadReport, MeasuredLoad, TakeZone
from rookery.brokers.configuration import BALANCE_EVENTS
from rookery.brokers.plans import SplitPlan, Step, TransferStep, is_tiling, next_step
from rookery.errors import SpaceError
from rookery.machine import Compute, ComputeFailed
from rookery.space.zones import Path

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker
    from rookery.brokers.owned_zone import OwnedZone

__all__ = ["MOST", "Balancing", "is_uneven"]

#: The busiest zone may have so many times the mean.
MOST = 2.0
#: Looks in a row that have to agree; looks after a plan before there is another one, at first and at most.
LOOKS, CALM, MOST_CALM = 2, 2, 64
#: Points of a zone's events that are told, and those that a plan goes by in all.
SAMPLE, MOST_POINTS = 64, 2_048
#: Beats after which an order that had no effect is given again, and for which a broker waits for its new zone.
AGAIN, PATIENCE = 4, 20
#: Periods after which a report is forgotten, and for which an operator's order keeps the balance from being made.
FORGOTTEN, ORDERED = 3, 12


def is_uneven(loads: Iterable[float], *, fewest: int = BALANCE_EVENTS) -> bool:
    """Tell whether zones with these loads should be shared anew; where the mean is below `fewest` they say nothing."""
    counts = list(loads)
    mean = sum(counts) / max(1, len(counts))
    return mean >= fewest and (max(counts) > MOST * mean or min(counts) == 0)


class Balancing:
    """What one broker says of its load, and what it does if it is in charge."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        #: By own zone: the zone, and the events that it had seen at the last look.
        self._before: dict[Path, tuple[OwnedZone, int]] = {}
        self._next_report = 0
        self._told: tuple[Path, ...] = ()
        #: When an operator gave an order here.
        self._ordered: int | None = None
        #: In charge: what brokers have said, and when.
        self._reports: dict[int, tuple[LoadReport, int]] = {}
        self._plan: SplitPlan | None = None
        self._computing: Compute | None = None
        #: The zones when the last order was given, and when that was.
        self._given: tuple[object, int] = (None, 0)
        #: When the loads were looked at last, and how many looks in a row have found them uneven.
        self._looked = self._looks = 0
        self._calm, self._calm_until = CALM, 0

    @property
    def _period(self) -> int:
        return self._broker.configuration.balance

    @property
    def is_in_charge(self) -> bool:
        """Whether this broker owns the lowest corner of the space."""
        return any(all(cut.bit == 0 for cut in path) for path in self._broker.owned)

    # ---- every broker --------------------------------------------------------------------------------------------

    def beat(self) -> None:
        """Say from time to time what the zones have carried, and go on with what is due."""
        broker = self._broker
        if not self._period or broker.membership.leaving:
            return
        if broker.now >= self._next_report:
            self._next_report = broker.now + self._period
            self._report(measured=True)
            self._before = {path: (owned, owned.reservoir.seen) for path, owned in broker.owned.items()}
        self._consider()

    def settle(self) -> None:
        """Say at once that the zones have changed."""
        broker = self._broker
        if self._period and not broker.membership.leaving and tuple(broker.owned) != self._told:
            self._report(measured=False)

    def ordered(self) -> None:
        """An operator has given an order: he has his own plan."""
        self._ordered = self._broker.now

    def _report(self, *, measured: bool) -> None:
        broker = self._broker
        self._told = tuple(broker.owned)
        loads = tuple(self._load(owned, measured=measured) for owned in broker.owned.values())
        is_ordered = self._ordered is not None and broker.now - self._ordered < ORDERED * self._period
        corner = (0.0,) * broker.configuration.space.dimensions
        broker.dispatch_body(corner, LoadReport(broker.id, loads, is_ordered))

    def _load(self, owned: OwnedZone, *, measured: bool) -> MeasuredLoad:
        """Return what a zone has carried since the last look; unknown where it was another zone then."""
        known, seen = self._before.get(owned.path, (None, 0))
        events = owned.reservoir.seen - seen if measured and known is owned else -1
        return MeasuredLoad(owned.path, events, tuple(owned.reservoir.points[:SAMPLE]) if events > 0 else ())

    def give(self, order: GiveZone, sender: int) -> None:
        """Give a zone to the owner of its sibling, and wait for another one or take a part of both."""
        broker, membership = self._broker, self._broker.membership
        broker.routing_table.remember(sender)
        owned = broker.owned.get(order.path)
        if not broker.owned:  # it waits already, and goes on
            membership.joining.waits = max(membership.joining.waits, broker.now + PATIENCE * broker.configuration.beat)
        elif (
            owned is not None
            and len(broker.owned) == 1
            and not membership.leaving
            and not membership.unconfirmed()
            and broker.leases.is_held(owned)
        ):
            membership.transfer_all(PATIENCE * broker.configuration.beat, order.back)

    def take(self, order: TakeZone) -> None:
        """Ask for the upper half of a zone."""
        self._broker.membership.joining.request_zone(order.path, order.cut)

    # ---- who is in charge ----------------------------------------------------------------------------------------

    def told(self, report: LoadReport) -> None:
        """A broker has said what its zones carry."""
        if self._period:
            self._reports[report.broker] = report, self._broker.now
            if report.is_ordered:
                self._plan = None
            self._consider()

    def completed(self, effect: Compute, result: Any) -> bool:
        """Give the order that a computed step says; say whether this was a step."""
        if effect is not self._computing:
            return False
        self._computing = None
        if self._plan is None:  # given up meanwhile: an operator has his own, or another broker is in charge
            return True
        if isinstance(result, ComputeFailed) or result is None:
            self._plan = None
            self._calm_until = self._broker.now + self._calm * self._period
            self._looks = 0
        else:
            self._order(result)
        return True

    def _consider(self) -> None:
        """Look whether a step is due, and which."""
        broker = self._broker
        if not self.is_in_charge:
            self._reports, self._plan = {}, None
            return
        if self._computing is not None or broker.leases.is_drowsy:
            return
        forgotten = broker.now - FORGOTTEN * self._period - broker.configuration.beat
        self._reports = {
            peer: report
            for peer, report in self._reports.items()
            if report[1] > forgotten and broker.routing_table.alive(peer)
        }
        reports = [report for report, _ in self._reports.values()]
        if any(report.is_ordered for report in reports):
            self._plan = None
            return
        zones = {load.path: report.broker for report in reports for load in report.zones}
        waiting = sorted(report.broker for report in reports if not report.zones)
        if len(reports) < 2 or len(zones) + len(waiting) != len(reports) or not is_tiling(zones):
            return
        state = (zones, waiting)
        if self._given[0] == state and broker.now - self._given[1] < AGAIN * broker.configuration.beat:
            return
        if self._plan is None and not (not waiting and self._is_due(reports)):
            return
        assert self._plan is not None
        self._computing = Compute(partial(next_step, self._plan, sorted(zones), len(waiting)))
        broker.effect(self._computing)

    def _is_due(self, reports: list[LoadReport]) -> bool:
        """Make a plan, if the last looks say that one is needed; each is at what everybody has said since the last."""
        broker = self._broker
        loads = [load for report in reports for load in report.zones]
        is_new = all(when > self._looked for _, when in self._reports.values())
        if not is_new or any(load.events < 0 for load in loads):
            return False
        self._looked = broker.now
        fewest = broker.configuration.balance_events
        if not is_uneven((load.events for load in loads), fewest=fewest):
            if sum(load.events for load in loads) >= fewest * len(loads):
                self._looks, self._calm = 0, CALM
            return False
        self._looks += 1
        if self._looks < LOOKS or broker.now < self._calm_until:
            return False
        try:
            self._plan = SplitPlan.of_samples(_fewer(loads), broker.configuration.space.dimensions)
        except SpaceError:
            return False
        self._calm = min(2 * self._calm, MOST_CALM)
        broker.counters["balanced"] += 1
        return True

    def _order(self, step: Step) -> None:
        broker = self._broker
        zones = {load.path: report.broker for report, _ in self._reports.values() for load in report.zones}
        waiting = sorted(report.broker for report, _ in self._reports.values() if not report.zones)
        self._given = ((zones, waiting), broker.now)
        broker.counters["balancing steps"] += 1
        for peer in waiting:  # it goes on waiting
            broker.send(peer, GiveZone((), None))
        if isinstance(step, TransferStep):
            if step.path in zones:
                broker.send(zones[step.path], GiveZone(step.path, step.back))
        elif waiting:
            broker.send(waiting[0], TakeZone(step.path, step.cut))


def _fewer(loads: list[MeasuredLoad]) -> list[tuple[list[tuple[float, ...]], float]]:
    """Return the samples of zones with their loads: no more points than a plan goes by, more of the busier zones."""
    whole = sum(load.events for load in loads) or 1
    return [
        (list(load.sample[: max(8, round(MOST_POINTS * load.events / whole))]), float(load.events)) for load in loads
    ]
