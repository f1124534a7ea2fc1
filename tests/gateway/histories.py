"""Histories of islands: a seed says the sites, the network, what is written, and the faults. What must hold:

*Nothing doubled.* A reader gets a sample of a volatile writer once at most, whatever happens; of a durable writer once
from each proxy, and a new proxy is made only where the gateway of the reader's site was started anew, or the writer's
site was out of reach for more than a minute. From one proxy samples come in the order in which they were written.

*Nothing travels in vain.* One gateway, if there is one that does not crash, has a subscription of its own with a
condition: of the other sites it gets what satisfies it, and nothing else.

*Nothing missed.* What is written while a reader is there arrives, whatever becomes of links, datagrams and the gateways
between. A reader is there from when its site's gateway has the samples and it has found the proxy; it is there no more
when the gateway of either site crashes, or the two sites do not reach each other for more than a minute, or a gateway
takes a participant of its site for lost, because three announcements in a row were. What durable writers wrote arrives
in any case.

*All is well in the end.* When the faults are over, every reader is there again within a minute.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random

from tests.histories import Faults

from rookery.rtps.events import ParticipantLost, SampleReceived
from rookery.rtps.identity import Guid
from rookery.simulated.gateways import SimulatedIslands, SimulatedSite
from rookery.simulated.links import LinkConditions

from .application import BEST_EFFORT, DURABLE, QUOTES, TYPE, VOLATILE, Application

__all__ = ["Fault", "History", "live_through"]

POLICIES = {"volatile": VOLATILE, "durable": DURABLE, "loose": BEST_EFFORT}
#: What only the subscription with a condition reads; every third sample satisfies it.
FILTERED, WHERE = "filtered", "symbol = 'WANTED'"
TOPICS = (*POLICIES, FILTERED)
#: Seconds that a cut lasts: less than a site is remembered, so that nothing is missed, and more.
SHORT, LONG = (0.2, 25.0), (62.0, 100.0)
#: Seconds until a fault has been repaired, and before the next one.
REPAIR = 5.0
#: Seconds within which gateways that can reach each other do.
DIALED = 3.0
#: Seconds after which it is looked again.
LOOK = 0.1


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong, for how many seconds, and how many are quiet behind it."""

    kind: str
    sites: tuple[str, ...]
    lasts: float
    quiet: float


class History:
    """One run: the sites with an application that writes and one that reads at each.

    `strikes` says which of its faults happen.
    """

    def __init__(self, seed: int, strikes: Faults) -> None:
        self.strikes = strikes
        self.random = Random(seed)
        self.names = "abcd"[: self.random.randint(2, 4)]
        self.islands = SimulatedIslands(seed=seed, conditions=_conditions(self.random))
        for name in self.names:
            self.islands.site(name)
        self.pairs = list(itertools.pairwise(self.names))
        if len(self.names) > 2 and self.random.random() < 0.5:
            self.pairs.append((self.names[-1], self.names[0]))
        for pair in self.pairs:
            self.islands.join(*pair)
        self.sources = {name: Application(self.islands.sites[name]) for name in self.names}
        self.readers = {name: Application(self.islands.sites[name]) for name in self.names}
        for topic, qos in POLICIES.items():
            for name in self.names:
                self.sources[name].advertise(topic, qos)
                self.readers[name].read(topic, qos)
        #: Every sample: its price is its number; of which site and topic it is, and the sites where it must arrive.
        self.written: list[tuple[str, str]] = []
        self.due: dict[tuple[str, str], list[int]] = {pair: [] for pair in itertools.permutations(self.names, 2)}
        #: What has arrived: the number and its writer, by site and topic; and how many events have been looked at.
        self.arrived: defaultdict[tuple[str, str], list[tuple[int, Guid]]] = defaultdict(list)
        self._looked: Counter[str] = Counter()
        self._minded: Counter[str] = Counter()
        self.faults = [self._fault() for _ in range(self.random.randint(1, 4))]
        crashing = {fault.sites[0] for fault in self.faults if fault.kind == "crash"}
        self.filtering = next((name for name in self.names if name not in crashing), None)
        self.filtered_due: list[int] = []
        if self.filtering is not None:
            self._subscribe(self.islands.sites[self.filtering])

    def _subscribe(self, site: SimulatedSite) -> None:
        """Let the gateway of a site have a subscription with a condition."""
        for source in self.sources.values():
            source.advertise(FILTERED)
        now = site.now
        self.filter = site.gateway.participant.create_reader(FILTERED, "Quote", VOLATILE, keyed=False, now=now)
        site.gateway.restrict(1, topic=FILTERED, type_name="Quote", where=WHERE, schema=QUOTES, now=now)
        site.flush()

    # ---- the run -------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Live through the history, and check it."""
        assert self._wait(60, self.all_there), f"not all there: {self._absent()}"
        self._write(1.0)
        for fault in self.faults:
            if self.strikes.strikes():
                self._suffer(fault)
            self._write(fault.quiet)
        self._write(REPAIR)
        assert self._wait(60, self.all_there), f"not all there again: {self._absent()}"
        self._write(1.0)
        self._wait(60, lambda: not self._missing())
        self.islands.run(5)
        self.check()

    def _wait(self, seconds: float, until: Callable[[], bool]) -> bool:
        """Let time pass until something holds; to look takes longer than an event, so it is done once in a while."""
        end = self.islands.world.now + round(seconds * 1_000_000)
        while not until():
            if self.islands.world.now >= end:
                return False
            self.islands.run(LOOK)
            self._mind_the_lost()
        return True

    def _mind_the_lost(self) -> None:
        """Expect nothing more of those that a gateway of their own site takes for lost, until they are found again."""
        for name, site in self.islands.sites.items():
            fresh = site.events[self._minded[name] :]
            self._minded[name] = len(site.events)
            lost = {event.prefix for event in fresh if isinstance(event, ParticipantLost)}
            if self.readers[name].member.participant.prefix in lost:
                self._absent_from_now(pair for pair in self.due if pair[1] == name)
            if self.sources[name].member.participant.prefix in lost:
                self._absent_from_now(pair for pair in self.due if pair[0] == name)

    def _fault(self) -> Fault:
        one, other = self.random.choice(self.pairs)
        kind = self.random.choice(["crash", "cut", "cut one way", "break", "long cut"])
        lasts = self.random.uniform(*(LONG if kind == "long cut" else SHORT))
        sites = {"crash": (one,), "break": (one, other)}.get(
            kind, (one, other) if self.random.random() < 0.5 else (other, one)
        )
        return Fault(kind, sites, lasts, REPAIR + self.random.uniform(0, 5))

    def _suffer(self, fault: Fault) -> None:
        world = self.islands.world
        # What is on its way, or has come and is not acknowledged yet, when it happens.
        self._write(self.random.choice([0.004, 0.012, 0.05]))
        match fault.kind:
            case "crash":
                (name,) = fault.sites
                self._absent_from_now(pair for pair in self.due if name in pair)
                self.islands.sites[name].crash()
                self._write(fault.lasts)
                self.islands.sites[name].start()
            case "break":
                self.islands.break_links(*fault.sites)
            case _:
                world.cut(*fault.sites, both_ways=fault.kind != "cut one way")
                self._write(fault.lasts)
                world.mend(*fault.sites)
                if fault.kind == "long cut":
                    # The gateways noticed the cut late: their minute may end before they have dialed again, and what is
                    # written until then is not expected either.
                    self._write(DIALED)
                    self._absent_from_now(self._apart(fault.sites))

    def _write(self, seconds: float) -> None:
        """Write for so long, now and then."""
        until = self.islands.world.now + round(seconds * 1_000_000)
        while self.islands.world.now < until:
            there = self._there()
            for name in self.random.sample(self.names, self.random.randint(1, len(self.names))):
                for topic in self.random.sample(TOPICS, self.random.randint(1, 2)):
                    if topic == FILTERED:
                        self._write_filtered(name)
                        continue
                    number = len(self.written)
                    self.written.append((name, topic))
                    self.sources[name].write(topic, float(number))
                    for pair in there if topic == "volatile" else ():
                        if pair[0] == name:
                            self.due[pair].append(number)
            left = (until - self.islands.world.now) / 1_000_000
            self.islands.run(min(left, self.random.choice([0.003, 0.05, 0.3, max(1.0, seconds / 2)])))
            self._mind_the_lost()

    def _write_filtered(self, name: str) -> None:
        if self.filtering is None:
            return
        number = len(self.written)
        self.written.append((name, FILTERED))
        if name != self.filtering and number % 3 == 0 and self._is_there(name, self.filtering, FILTERED):
            self.filtered_due.append(number)
        self.sources[name].write(FILTERED, float(number), symbol="OTHER" if number % 3 else "WANTED")

    # ---- who is there --------------------------------------------------------------------------------------------

    def _there(self) -> list[tuple[str, str]]:
        """The pairs of sites, of the writer and the reader, whose reader of what is volatile is there."""
        return [pair for pair in self.due if self._is_there(*pair, "volatile")]

    def _is_there(self, source: str, target: str, topic: str) -> bool:
        here, there = self.islands.sites[source], self.islands.sites[target]
        if not (here.is_up and there.is_up):
            return False
        taps = [tap for channel, tap in here.gateway._taps._taps.items() if channel.topic == topic]
        writer = self.sources[source].writers[topic]
        heard = [
            tap
            for tap in taps
            if target in tap.wanted and target not in tap.unready and tap.reader is not None
            if writer in here.gateway.participant.matched(tap.reader)
            if tap.reader in self.sources[source].member.participant.matched(writer)
        ]
        proxies = [
            proxy.writer
            for origin, proxy in there.gateway._proxies
            if (origin, proxy.channel.topic) == (source, topic) and proxy.is_wanted and not proxy.stale
        ]
        if topic == FILTERED:
            matched = there.gateway.participant.matched(self.filter)
        else:
            matched = self.readers[target].member.participant.matched(self.readers[target].readers[topic])
        return bool(heard) and any(proxy in matched for proxy in proxies)

    def all_there(self) -> bool:
        """Whether every reader has found the writers of all other sites."""
        return not self._absent()

    def _absent(self) -> list[tuple[str, str, str]]:
        wanted = [(*pair, topic) for pair in self.due for topic in POLICIES]
        wanted += [(*pair, FILTERED) for pair in self.due if pair[1] == self.filtering]
        return [one for one in wanted if not self._is_there(*one)]

    def _absent_from_now(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Expect no more what has not arrived yet from the first of two sites at the second."""
        filtered = {number for number, _ in self._filtered()}
        for source, target in pairs:
            arrived = self._arrived(target, "volatile")
            self.due[source, target] = [number for number in self.due[source, target] if number in arrived]
            if target == self.filtering:
                self.filtered_due = [
                    number for number in self.filtered_due if number in filtered or self.written[number][0] != source
                ]

    def _apart(self, cut: tuple[str, ...]) -> list[tuple[str, str]]:
        """The pairs of sites that do not reach each other without one link."""
        reached = {name: {name} for name in self.names}
        for _ in self.names:
            for one, other in self.pairs:
                if {one, other} != set(cut):
                    reached[one] |= reached[other]
                    reached[other] |= reached[one]
        return [(one, other) for one, other in self.due if other not in reached[one]]

    # ---- what must hold ------------------------------------------------------------------------------------------

    def _arrived(self, name: str, topic: str) -> set[int]:
        """What the reader of a site has got."""
        reader = self.readers[name]
        topics = {guid: topic for topic, guid in reader.readers.items()}
        events = reader.member.events
        for event in events[self._looked[name] :]:
            if isinstance(event, SampleReceived):
                self.arrived[name, topics[event.reader]].append((_number(event), event.writer))
        self._looked[name] = len(events)
        return {number for number, _ in self.arrived[name, topic]}

    def _filtered(self) -> list[tuple[int, Guid]]:
        """What the subscription with a condition has got from other sites."""
        if self.filtering is None:
            return []
        site = self.islands.sites[self.filtering]
        samples = [event for event in site.events if isinstance(event, SampleReceived) and event.reader == self.filter]
        own = site.gateway.participant.prefix
        return [(_number(one), one.writer) for one in samples if one.writer.prefix == own]

    def _missing(self) -> dict[str, list[int]]:
        missing: dict[str, list[int]] = {}
        for name in self.names:
            volatile = set(itertools.chain.from_iterable(due for pair, due in self.due.items() if pair[1] == name))
            durable = {number for number, (_, topic) in enumerate(self.written) if topic == "durable"}
            missed = (volatile - self._arrived(name, "volatile")) | (durable - self._arrived(name, "durable"))
            if missed:
                missing[name] = sorted(missed)
        return missing

    def check(self) -> None:
        """Nothing missed, nothing doubled, all in order."""
        missing = self._missing()
        assert not missing, f"missed: {missing}"
        for name in self.names:
            for topic in POLICIES:
                self._check_once(f"{topic} at {name}", self.arrived[name, topic], durable=topic == "durable")
        filtered = self._filtered()
        self._check_once(f"filtered at {self.filtering}", filtered, durable=False)
        assert not [number for number, _ in filtered if number % 3], "in vain"
        missing = set(self.filtered_due) - {number for number, _ in filtered}
        assert not missing, f"missed with a condition: {sorted(missing)}"

    @staticmethod
    def _check_once(what: str, arrived: list[tuple[int, Guid]], *, durable: bool) -> None:
        by_proxy: defaultdict[Guid, list[int]] = defaultdict(list)
        for number, proxy in arrived:
            by_proxy[proxy].append(number)
        for proxy, numbers in by_proxy.items():
            assert numbers == sorted(set(numbers)), f"{what} from {proxy}, doubled or not in order: {numbers}"
        doubled = len(arrived) - len({number for number, _ in arrived})
        assert durable or not doubled, f"{what}, doubled: {doubled}"


def _conditions(random: Random) -> LinkConditions:
    return LinkConditions(
        latency=50,
        jitter=random.choice([0, 0, 1_000, 5_000]),
        loss=random.choice([0.0, 0.0, 0.02, 0.1]),
        duplication=random.choice([0.0, 0.05, 0.2]),
    )


def _number(sample: SampleReceived) -> int:
    return int(TYPE.decode(sample.payload)["price"])


def live_through(seed: int, faults: Faults | None = None) -> History:
    """Live through the history of a seed, with all of its faults or some."""
    history = History(seed, faults or Faults())
    history.run()
    return history
