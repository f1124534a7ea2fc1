"""What reliability costs in a bad network: octets and samples sent again, under loss, delay and duplication.

`python -m benchmarks reliability [--seeds 20] [--samples 1000]`. Two participants write to each other in the simulated
network, one sample of 200 characters a millisecond, until everything has arrived and is acknowledged. The floor of what
is sent again is what the network loses: under a loss of 20 %, a quarter of the samples (0.2 + 0.2² + …).
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import dataclass

from rookery.rtps import Guid, QualityOfService, Reliability
from rookery.rtps.events import SampleReceived
from rookery.simulated.domain import SimulatedNetwork, conditions_between
from rookery.simulated.links import LinkConditions

SECOND = 1_000_000
RELIABLE = QualityOfService(reliability=Reliability.RELIABLE, history_depth=None)
NETWORKS = {
    "clean": conditions_between(100, 100),
    "20 % loss, 0.1-0.3 ms": conditions_between(100, 300, loss=0.2),
    "20 % loss, 0.1-30 ms": conditions_between(100, 30_000, loss=0.2),
    "the same, 20 % twice": conditions_between(100, 30_000, loss=0.2, duplication=0.2),
}


@dataclass(frozen=True, slots=True)
class Run:
    """What one seed gave."""

    octets: int
    datagrams: int
    resent: int
    repeated: int
    arrived: int
    """Microseconds until the last sample had arrived."""


def run(seed: int, conditions: LinkConditions, samples: int) -> Run:
    """Let two participants write to each other until everything is there."""
    network = SimulatedNetwork(seed, conditions)
    members = [network.join(lease=600 * SECOND) for _ in range(2)]
    writers: list[Guid] = []
    for number, member in enumerate(members):
        options = {"type_name": "Text", "qos": RELIABLE, "keyed": False, "now": member.now}
        writers.append(member.participant.create_writer(f"topic{number}", **options))
        member.participant.create_reader(f"topic{1 - number}", **options)
        member.flush()
    pairs = list(zip(members, writers, strict=True))
    assert network.run(600 * SECOND, until=lambda: all(m.participant.matched(w) for m, w in pairs))
    network.run(SECOND)
    octets, datagrams, start = network.bytes_sent, network.datagrams, network.calendar.now
    payload = b"\0\1\0\0" + bytes(204)
    for _ in range(samples):
        for member, writer in pairs:
            member.participant.write(writer, payload, now=member.now)
            member.flush()
        network.run(1_000)

    def arrived() -> bool:
        return all(sum(isinstance(e, SampleReceived) for e in member.events) == samples for member in members)

    assert network.run(600 * SECOND, until=arrived)
    when = network.calendar.now - start
    assert network.run(600 * SECOND, until=lambda: all(m.participant.is_acknowledged(w) for m, w in pairs))
    counters = [member.participant.counters for member in members]
    return Run(
        network.bytes_sent - octets,
        network.datagrams - datagrams,
        sum(each["resent"] for each in counters),
        sum(each["duplicate"] for each in counters),
        when,
    )


def main(arguments: list[str]) -> int:
    """Print one line for each network."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks reliability", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--samples", type=int, default=1_000)
    asked = parser.parse_args(arguments)
    print(f"{asked.seeds} seeds, 2 x {asked.samples} samples; means")
    print(f"{'network':24} {'octets':>10} {'datagrams':>10} {'sent again':>11} {'repeated':>9} {'last arrives':>13}")
    for name, conditions in NETWORKS.items():
        runs = [run(seed, conditions, asked.samples) for seed in range(asked.seeds)]
        print(
            f"{name:24} {statistics.mean(r.octets for r in runs):10,.0f} "
            f"{statistics.mean(r.datagrams for r in runs):10,.0f} {statistics.mean(r.resent for r in runs):11,.1f} "
            f"{statistics.mean(r.repeated for r in runs):9,.1f} "
            f"{statistics.mean(r.arrived for r in runs) / 1_000:10,.0f} ms"
        )
    return 0
