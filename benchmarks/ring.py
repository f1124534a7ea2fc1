"""Discovery in a large domain: bytes of a simulated ring of N participants, how they grow with N, and what is missing.

`python -m benchmarks ring [--sizes 200 500 1000 2000] [--protocol ribbon] [--topics 4]`. Participant i writes topics of
its own, and the next one reads them: N × topics pairs, whatever N is. Announcements go by multicast and count once.
Everybody starts within a second; the window is five seconds. The exponent is that of bytes over N, from the first size.
"""

from __future__ import annotations

import argparse
import gc
import math
import time
from collections import Counter

from rookery.discovery import PROTOCOLS
from rookery.rtps import Limits, QualityOfService
from rookery.rtps.events import EndpointMatched
from rookery.simulated.domain import SimulatedNetwork

__all__ = ["main"]

SECOND = 1_000_000
WINDOW = 5 * SECOND
QOS = QualityOfService()


def ring(count: int, *, topics: int, protocol: str, seed: int) -> tuple[int, int, Counter[int]]:
    """Play one ring; return bytes and datagrams sent, and how many endpoints have how many pairs."""
    network = SimulatedNetwork(seed)
    limits = Limits(participants=2 * count)
    matched: Counter[tuple[int, int]] = Counter()
    for number in range(count):
        member = network.join(discovery=protocol, limits=limits, lease=60 * SECOND)
        member.on_event = lambda event: (
            matched.update([hash(event.local)]) if isinstance(event, EndpointMatched) else None  # type: ignore[list-item]
        )
        for which in range(topics):
            for neighbor, make in (
                (number, member.participant.create_writer),
                ((number + 1) % count, member.participant.create_reader),
            ):
                make(f"ring/{neighbor}/{which}", "Value", QOS, keyed=False, now=member.now)
        member.flush()
        network.run(SECOND // count)
    network.run(WINDOW)
    return network.bytes_sent, network.datagrams, Counter(matched.values())


def main(arguments: list[str]) -> int:
    """Play rings of several sizes, and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks ring")
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 500, 1_000, 2_000])
    parser.add_argument("--protocol", choices=PROTOCOLS, default="ribbon")
    parser.add_argument("--topics", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    gc.disable()  # of millions of objects that stay, looking for cycles among them takes a third of the time
    first: tuple[int, int, int] | None = None
    for count in options.sizes:
        before = time.process_time()
        sent, datagrams, pairs = ring(count, topics=options.topics, protocol=options.protocol, seed=options.seed)
        missing = 2 * options.topics * count - pairs[1]
        growth = ""
        if first is None:
            first = (count, sent, datagrams)
        else:
            steps = math.log(count / first[0])
            growth = (
                f"  N^{math.log(sent / first[1]) / steps:.2f} bytes, N^{math.log(datagrams / first[2]) / steps:.2f}"
            )
        print(
            f"{options.protocol} {count:>6,} participants: {sent / count:>8,.0f} bytes and {datagrams / count:>5.2f} "
            f"datagrams each, missing {missing}{growth}  (CPU {time.process_time() - before:.0f} s)",
            flush=True,
        )
    return 0
