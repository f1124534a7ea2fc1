"""What leases cost an event: two networks of broker machines side by side, in one of them leases are held for good.

`python -m benchmarks fencing [--sizes 2 8] [--events N] [--rounds N] [--disks]`. Both networks are
`brokers_machines`'s: the same classes, the same subscribers and conditions, bytes encoded and decoded, no sockets. In
the second one nobody counts grants and `is_held` is always true, which is what brokers do without fencing; its
heartbeats carry the two numbers all the same. The networks take turns, a short slice of the events each, so a busy
machine is as busy for both. Three loads: full batches, of which a hundred go by between two heartbeats; batches of one
event; and no events at all, CPU a second of quiet heartbeats. With `--disks` each broker has a log in a folder of its
own, and an event is accepted when it is on two of them, synced; else no disk is asked. What is said are medians of the
slices, and between which ratios the middle half of them lies.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

from benchmarks.brokers_machines import TURN, Network, grown
from benchmarks.brokers_scaling import SUBSCRIBERS, WARM, conditions

from rookery.machine import ClientId

__all__ = ["main"]

#: Simulated time that goes by behind a full batch: a hundred of them to a heartbeat.
PAUSE = 10_000
SECOND = 1_000_000


def _loaded(size: int, disks: Path | None) -> tuple[Network, ClientId]:
    """Return a network that is warm, with its subscriptions in force, and its publisher."""
    network, publisher = grown(size, disks=disks)
    for number in range(SUBSCRIBERS):
        client = network.attach(1 + number % size)
        network.clients[client].subscribe({name: (where, ()) for name, where in conditions().items()})
        network._perform(client)
    while len(network.in_force) < SUBSCRIBERS:
        network.turn(TURN)
    network.publish(publisher, range(WARM))
    return network, publisher


def _hold_for_good(network: Network) -> None:
    """Take the fencing out: every lease is held, and no grant is looked at."""
    for broker in network.brokers.values():
        broker.leases.is_held = lambda owned: True  # type: ignore[method-assign]
        broker.leases.are_held = lambda: True  # type: ignore[method-assign]
        broker.leases.give = lambda receiver, stamp: None  # type: ignore[method-assign]
        broker.leases.take = lambda giver, stamp, held: None  # type: ignore[method-assign]
        broker.leases.rivals = lambda ownership: []  # type: ignore[method-assign]


def _batches(network: Network, publisher: ClientId, first: int, count: int) -> None:
    for start in range(first, first + count, 1024):
        network.publish(publisher, range(start, min(start + 1024, first + count)))
        network.turn(PAUSE)


def _singles(network: Network, publisher: ClientId, first: int, count: int) -> None:
    for number in range(first, first + count):
        network.publish(publisher, range(number, number + 1))


def _quiet(network: Network, publisher: ClientId, first: int, count: int) -> None:
    for _ in range(count * 10):
        network.turn(SECOND // 10)


#: How the load is called, what makes it, how much of it is a slice for each event that was asked for, what is counted.
LOADS: tuple[tuple[str, Callable[[Network, ClientId, int, int], None], int, str], ...] = (
    ("full batches", _batches, 1, "an event"),
    ("one event at a time", _singles, 32, "an event"),
    ("no events", _quiet, 256, "a second"),
)


def measure(size: int, events: int, rounds: int, disks: Path | None = None) -> None:
    """Measure networks of so many brokers."""
    fenced, free = (_loaded(size, None if disks is None else disks / f"{size}-{name}") for name in ("leases", "none"))
    _hold_for_good(free[0])
    gc.collect()
    gc.freeze()
    first = WARM
    for title, load, share, unit in LOADS:
        count, costs = events // share, []
        for number in range(rounds):
            spent = {}
            for network, publisher in (fenced, free) if number % 2 else (free, fenced):
                before = network.spent
                load(network, publisher, first, count)
                spent[id(network)] = (network.spent - before) * SECOND / count
            first += count
            costs.append((spent[id(fenced[0])], spent[id(free[0])]))
        leases, none = (median(cost) for cost in zip(*costs, strict=True))
        low, middle, high = quantiles([one / other for one, other in costs], n=4)
        print(
            f"{size:>7} {title:>20} {leases:>15.1f} {none:>7.1f} {unit:>9} {middle:>7.3f} ({low:.3f} to {high:.3f})",
            flush=True,
        )
    held = sum(broker.counters["held"] for broker in fenced[0].brokers.values())
    same = sum(fenced[0].seen.values()) == sum(free[0].seen.values())
    print(f"{size:>7} {held} events held for a lease; deliveries of both {'equal' if same else 'DIFFER'}", flush=True)


def main(arguments: list[str]) -> int:
    """Run every size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks fencing")
    parser.add_argument("--sizes", type=int, nargs="+", default=[2, 8])
    parser.add_argument("--events", type=int, default=4096, help="events of a slice of full batches")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--disks", action="store_true", help="accept what is on two disks")
    options = parser.parse_args(arguments)
    print("brokers                 load  CPU µs: leases    none             ratio (middle half)")
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes:
            measure(size, options.events, options.rounds, Path(folder) if options.disks else None)
    return 0
