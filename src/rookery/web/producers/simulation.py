"""A whole run in the simulator: islands of DDS participants, a broker network under load, and its ledger.

It is what the product's own machines do, on virtual time: nothing is made up for the page. Live, virtual time follows
the clock; into a file, it goes as fast as the machine can. Brokers join while events flow, so zones are seen to split
where the load is: readings crowd around a center that wanders through the space.
"""

from __future__ import annotations

import math
import random
import threading
import time
from dataclasses import dataclass
from typing import Any

from rookery.brokers.configuration import BrokerConfiguration
from rookery.model import Schema
from rookery.rtps.qos import QualityOfService
from rookery.simulated.brokers import SimulatedBrokers
from rookery.simulated.domain import SimulatedNetwork
from rookery.space.axes import Axis, EventSpace
from rookery.web import records
from rookery.web.producers.brokers import RecordedBrokers
from rookery.web.producers.participants import RecordedParticipants
from rookery.web.recorder import Recorder

__all__ = ["PROTOCOLS", "Scenario", "Simulation"]

SCHEMA = {"device": "string", "temperature": "float64", "pressure": "float64", "voltage": "float64"}
AXES = (Axis("temperature", -40.0, 120.0), Axis("pressure", 0.0, 400.0))
TOPICS = 12
#: Discovery, side by side: plain announcements, and the default summary.
PROTOCOLS = ("simple", "ribbon")
#: Virtual microseconds between two steps, two reports, and two brokers that join.
STEP = 20_000
REPORT = 500_000
JOIN = 100_000


@dataclass(frozen=True, slots=True)
class Scenario:
    """How large a run is."""

    brokers: int = 64
    subscriptions: int = 300
    #: Events a second.
    rate: int = 100
    participants: int = 60
    islands: int = 4
    seed: int = 1
    #: Whether all brokers are there before the first event.
    grown: bool = False


class Simulation:
    """One run; its time is `recorder`'s clock while it runs."""

    def __init__(self, scenario: Scenario, recorder: Recorder) -> None:
        self.scenario = scenario
        self.recorder = recorder
        self._dice = random.Random(scenario.seed)
        self._islands: dict[str, list[RecordedParticipants]] = {}
        space = EventSpace(Schema.from_dict(SCHEMA), AXES)
        network = SimulatedBrokers(BrokerConfiguration(space=space), seed=scenario.seed)
        #: When the state at the beginning was reached; the run's time begins there.
        self._settled: int | None = None
        started = recorder.clock()
        recorder.clock = lambda: started + (0 if self._settled is None else network.calendar.now - self._settled)
        self.brokers = RecordedBrokers(network, recorder, topic="readings")
        self._due = 0.0
        self._next_report = 0

    def settle(self) -> None:
        """Let participants find each other, brokers join, and subscriptions spread: the state at the beginning."""
        self._join_participants()
        network = self.brokers.network
        first = self.scenario.brokers if self.scenario.grown else 1
        for _ in range(first):
            network.join()
            network.run(STEP)
        network.run(2_000_000)
        self.brokers.report()
        for number in range(self.scenario.subscriptions):
            self.brokers.subscribe(self._some_broker(), f"limit-{number:04d}", self._limit())
        self.brokers.run(1_000_000)
        self._report()
        self._settled = self.brokers.network.calendar.now

    def step(self) -> None:
        """Let one step of virtual time pass: publish what is due, let a broker join, report."""
        network = self.brokers.network
        if len(network.brokers) < self.scenario.brokers and network.calendar.now % JOIN < STEP:
            network.join()
        self._due += self.scenario.rate * STEP / 1_000_000
        count, self._due = int(self._due), self._due % 1.0
        spacing = STEP // max(1, count)
        for _ in range(count):
            self.brokers.publish(self._some_broker(), self._reading())
            self.brokers.run(spacing)
        self.brokers.run(STEP - count * spacing)
        if network.calendar.now >= self._next_report:
            self._report()

    def record(self, microseconds: int) -> None:
        """Run so long, as fast as the machine can."""
        self.settle()
        end = self.brokers.network.calendar.now + microseconds
        while self.brokers.network.calendar.now < end:
            self.step()
        self._report()

    def follow_clock(self, ended: threading.Event) -> None:
        """Run beside the clock until `ended` is set; where the machine is too slow, virtual time is late."""
        self.settle()
        ahead = self.brokers.network.calendar.now / 1_000_000 - time.monotonic()
        while not ended.is_set():
            self.step()
            late = self.brokers.network.calendar.now / 1_000_000 - time.monotonic() - ahead
            if late > 0:
                ended.wait(late)

    def _report(self) -> None:
        self._next_report = self.brokers.network.calendar.now + REPORT
        self.brokers.report()
        at = self.recorder.clock()
        for protocol, islands in self._islands.items():
            sums = [0, 0, 0, 0]
            for island in islands:
                island.network.run(REPORT)
                sums = [a + b for a, b in zip(sums, island.report(), strict=True)]
            octets, datagrams, contacts, false_contacts = sums
            self.recorder.write(
                records.TrafficRecord(
                    at=at,
                    protocol=protocol,
                    octets=octets,
                    datagrams=datagrams,
                    contacts=contacts,
                    false_contacts=false_contacts,
                )
            )

    def _join_participants(self) -> None:
        """Let the same participants find each other twice, under two protocols; the first of them is shown."""
        silent = Recorder(clock=self.recorder.clock)
        for place, protocol in enumerate(PROTOCOLS if self.scenario.participants else ()):
            dice = random.Random(self.scenario.seed)
            recorder = silent if place else self.recorder
            islands = [
                RecordedParticipants(
                    SimulatedNetwork(self.scenario.seed + number), recorder, island=f"site {number + 1}"
                )
                for number in range(self.scenario.islands)
            ]
            for number in range(self.scenario.participants):
                island = islands[number % len(islands)]
                member = island.network.join(name=f"node {number}", discovery=protocol)
                participant = member.participant
                for role in (participant.create_writer, participant.create_reader):
                    topic = f"topic {dice.randrange(TOPICS)}"
                    role(topic, "Reading", QualityOfService(), keyed=False, now=member.now)
                island.watch(member)
                member.flush()
                island.network.run(1_000)
            for island in islands:
                island.network.run(2_000_000)
            self._islands[protocol] = islands

    def _some_broker(self) -> int:
        living = self.brokers.network.brokers
        while (number := 1 + self._dice.randrange(len(living))) not in living or not living[number].owned:
            continue
        return number

    def _limit(self) -> str:
        warm, high = self._dice.uniform(-30, 110), self._dice.uniform(20, 390)
        kind = self._dice.randrange(3)
        if kind == 0:
            return f"temperature BETWEEN {warm:.1f} AND {warm + 6:.1f} AND pressure > {high:.0f}"
        if kind == 1:
            return f"pressure BETWEEN {high:.0f} AND {high + 20:.0f} AND temperature < {warm:.1f}"
        return f"device = 'd{self._dice.randrange(200):03d}' AND (temperature > {warm:.1f} OR voltage < 22)"

    def _reading(self) -> dict[str, Any]:
        turn = self.brokers.network.calendar.now / 20_000_000 * math.tau
        warm, high = 40 + 45 * math.cos(turn), 200 + 110 * math.sin(turn)
        if self._dice.random() < 0.4:
            return self._values(self._dice.uniform(-40, 120), self._dice.uniform(0, 400))
        return self._values(self._dice.gauss(warm, 8), self._dice.gauss(high, 22))

    def _values(self, temperature: float, pressure: float) -> dict[str, Any]:
        return {
            "device": f"d{self._dice.randrange(200):03d}",
            "temperature": round(min(max(temperature, -40.0), 119.9), 2),
            "pressure": round(min(max(pressure, 0.0), 399.9), 2),
            "voltage": round(self._dice.gauss(28, 2), 2),
        }
