"""Octets between sites: plain DDS stretched over three sites, beside three islands with a gateway each.

One run, on this machine, in network namespaces joined by a bridge. Each site has five Cyclone DDS participants with ten
endpoints each: most topics stay at their site, each site writes two topics that the next one reads. Both ways run for
the same time with the same samples; what crosses the sites' interfaces is counted by the kernel. Idle traffic is
measured after everything has been delivered.

    python -m benchmarks islands [--seconds 20] [--json]
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from tests.live.sites import Gateway, Sites, Worker, why_not

SITES = "abc"
PARTICIPANTS = 5
PAIRS = 5
SAMPLES = 50


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


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks islands", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each way runs, and then idles")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if reason := why_not():
        print(reason)
        return 1
    rows = [measure(islands=islands, seconds=options.seconds) for islands in (False, True)]
    share = rows[1]["octets"] / rows[0]["octets"]
    if options.json:
        print(json.dumps({"rows": rows, "share": share}, indent=2))
    else:
        for row in rows:
            print("  ".join(f"{name} {value}" for name, value in row.items()))
        print(f"islands send {share:.1%} of what plain DDS sends between the sites")
    return 0
