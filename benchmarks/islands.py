"""Octets between sites: plain DDS stretched over three sites, beside three islands with a gateway each.

One run, on this machine, in network namespaces joined by a bridge. Each site has five Cyclone DDS participants with ten
endpoints each: most topics stay at their site, each site writes two topics that the next one reads. Both ways run for
the same time with the same samples; what crosses the sites' interfaces is counted by the kernel. Idle traffic is
measured after everything has been delivered.

With `--conditions` something else is measured, on virtual links: the CPU time that the gateway at the writers' site
spends to find who wants a sample where 1, 8 and 32 sites have conditions; in one compiled set, beside a matcher for
each site, which is how it was done before.

    python -m benchmarks islands [--seconds 20] [--json]
    python -m benchmarks islands --conditions [--json]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

from tests.gateway.site_condition import SiteCondition
from tests.live.sites import Gateway, Sites, Worker, why_not

from rookery.gateway.conditions import TopicConditions
from rookery.gateway.messages import Forwarded, Want
from rookery.participant.event_types import event_type

SITES = "abc"
PARTICIPANTS = 5
PAIRS = 5
SAMPLES = 50
#: Sites with conditions, and samples that they are asked about, of which each site wants a tenth.
WANTING = (1, 8, 32)
QUOTES: dict[str, object] = {"symbol": "string", "price": "float64", "volume": "int64"}
QUOTED = 1_000
ROUNDS = 5


class Crowd:
    """The participants of all sites and what they have received."""

    def __init__(self, world: Sites, interface: str) -> None:
        self.peers = {
            (site, number): Worker(world, site, interface=interface) for site in SITES for number in range(PARTICIPANTS)
        }
        self.readers: list[tuple[tuple[str, int], int, str]] = []
        self.writers: list[tuple[tuple[str, int], int, str]] = []
        for where, peer in self.peers.items():
            for number in range(PAIRS):
                written, read = self._topics(where, number)
                self.readers.append((where, peer.do("reader", topic=read, type="Message"), read))
                self.writers.append((where, peer.do("writer", topic=written, type="Message"), written))

    @staticmethod
    def _topics(where: tuple[str, int], number: int) -> tuple[str, str]:
        """The topic that a pair writes and the one it reads: at its own site, but for two that go to the next site."""
        site, participant = where
        if participant == 0 and number < 2:
            previous = SITES[SITES.index(site) - 1]
            return f"to-next/{site}/{number}", f"to-next/{previous}/{number}"
        neighbor = (participant + 1) % PARTICIPANTS if participant else 0
        other = f"local/{site}/{neighbor}/{number}"
        return f"local/{site}/{participant}/{number}", other

    def exchange(self) -> tuple[int, int]:
        """Write everywhere; return how many samples readers should get, and got."""
        written = {topic for _, _, topic in self.writers}
        wanted = [reader for reader in self.readers if reader[2] in written]
        for where, entity, topic in self.writers:
            readers = sum(1 for _, _, read in wanted if read == topic)
            if readers:
                self.peers[where].do("wait_matched", entity=entity, count=readers, timeout=30)
        for where, entity, _ in wanted:
            self.peers[where].do("wait_matched", entity=entity, count=1, timeout=30)
        samples = [{"number": number, "text": "telemetry"} for number in range(SAMPLES)]
        for where, entity, _ in self.writers:
            self.peers[where].do("write", entity=entity, samples=samples)
        got = 0
        for where, entity, _ in wanted:
            got += len(self.peers[where].do("take", entity=entity, count=SAMPLES, timeout=30))
        return len(wanted) * SAMPLES, got


def measure(*, islands: bool, seconds: float) -> dict[str, Any]:
    """Run one of the two ways and return what crossed between the sites."""
    with Sites(SITES) as world:
        if islands:
            gateways = [Gateway(world, name, join=SITES[:place]) for place, name in enumerate(SITES)]
            assert len(gateways) == len(SITES)
        started = time.monotonic()
        crowd = Crowd(world, "lo" if islands else "rk0")
        expected, got = crowd.exchange()
        done = time.monotonic() - started
        time.sleep(max(0.0, seconds - done))
        crossed = [world.octets(name) for name in SITES]
        time.sleep(seconds)
        idle = [world.octets(name) for name in SITES]
    octets, packets = (sum(part) for part in zip(*crossed, strict=True))
    idle_packets = sum(after[1] - before[1] for before, after in zip(crossed, idle, strict=True))
    idle_octets = sum(after[0] - before[0] for before, after in zip(crossed, idle, strict=True))
    return {
        "way": "islands" if islands else "plain DDS",
        "octets": octets,
        "packets": packets,
        "missed": expected - got,
        "samples": expected,
        "seconds": round(max(seconds, done), 1),
        "idle octets/s": round(idle_octets / seconds),
        "idle packets/s": round(idle_packets / seconds, 1),
    }


def measure_conditions(sites: int) -> dict[str, Any]:
    """Return the CPU time per sample with so many sites, of one set for all and of one for each."""
    kind = event_type(QUOTES, type_name="Quote")
    events = [{"symbol": f"S{number % 50}", "price": float(number % 100), "volume": number} for number in range(QUOTED)]
    samples = [Forwarded(1, b"writer", number, 0, b"", kind.encode(event)) for number, event in enumerate(events)]
    names = [f"site-{number}" for number in range(sites)]
    wants = [
        Want(1, True, [f"price >= {number % 90} AND price < {number % 90 + 10}"], QUOTES, 1) for number in range(sites)
    ]
    together = TopicConditions("Quote")
    apart = {name: SiteCondition(want, "Quote") for name, want in zip(names, wants, strict=True)}
    for name, want in zip(names, wants, strict=True):
        together.state(name, want)

    def per_sample(wanting: Callable[[Forwarded], list[str]]) -> tuple[float, int]:
        for sample in samples[:10]:
            wanting(sample)
        began = time.process_time_ns()
        found = sum(len(wanting(sample)) for sample in samples)
        return (time.process_time_ns() - began) / 1_000 / len(samples), found

    # In turns, and the best of each: the machine may be busy with something else.
    rounds = [
        (
            per_sample(lambda sample: [name for name in names if apart[name].holds(sample)]),
            per_sample(lambda sample: together.wanting(names, sample)),
        )
        for _ in range(ROUNDS)
    ]
    (before, expected), (after, found) = (min(one) for one in zip(*rounds, strict=True))
    assert found == expected, (found, expected)
    return {"sites": sites, "µs a matcher per site": round(before, 1), "µs one set": round(after, 1), "wanted": found}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks islands", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each way runs, and then idles")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--conditions", action="store_true", help="CPU time of the conditions of 1, 8 and 32 sites")
    options = parser.parse_args(arguments)
    if options.conditions:
        found = [measure_conditions(sites) for sites in WANTING]
        print(json.dumps(found, indent=2) if options.json else "\n".join(_line(row) for row in found))
        return 0
    if reason := why_not():
        print(reason)
        return 1
    rows = [measure(islands=islands, seconds=options.seconds) for islands in (False, True)]
    share = rows[1]["octets"] / rows[0]["octets"]
    if options.json:
        print(json.dumps({"rows": rows, "share": share}, indent=2))
    else:
        for row in rows:
            print(_line(row))
        print(f"islands send {share:.1%} of what plain DDS sends between the sites")
    return 0


def _line(row: dict[str, Any]) -> str:
    return "  ".join(f"{name} {value}" for name, value in row.items())
