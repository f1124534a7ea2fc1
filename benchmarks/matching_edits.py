"""A set that changes while it is matched: what an edit costs, and what edits cost who matches.

    python -m benchmarks matching --edits           1 M subscriptions, 60 s (with --quick 20 k, 5 s)

The workload is `device` with a text more, `site`, of 1,000 values. One thread adds subscriptions at a steady rate, each
with a site that no other has; they come in order and all lie between two that are there, so that each crowds into the
gap that the last one left. The other thread matches batches all the time: one of the set that changes and one of the
same set packed, in turn, so that both meet the same machine and the same edits beside them. The set is packed afresh
every ten seconds. One core is enough: both threads count their own CPU time, and the clock is shown beside it, since
whoever else uses the machine is in it.

At the end the edited set and the same set packed afresh are matched in turn, and must give the same.
"""

from __future__ import annotations

import json
import resource
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from benchmarks.workloads import WORKLOADS, make_boxes, make_events

import rookery

__all__ = ["report"]

Array = np.ndarray[Any, Any]

RATE = 1_000
BATCH = 20_000
#: Seconds from one packing of the set to the next.
PACK_SECONDS = 10
#: Rounds of all batches after the edits; the median is stated.
ROUNDS = 7
#: Edits before the clock starts: the tail becomes a segment twice.
WARM = 1_100
DEVICE = WORKLOADS["device"]
SCHEMA = rookery.Schema(site=str, device=int, type=int, a0=float, a1=float, a2=float)


def report(*, as_json: bool, quick: bool) -> int:
    """Measure and print; return 1 where the edited set and the one packed afresh differ."""
    size, seconds = (20_000, 5.0) if quick else (1_000_000, 60.0)
    found = {"size": size, **_first_edits(size), **_beside_matching(size, seconds)}
    if as_json:
        print(json.dumps(found, indent=1))
        return 0 if found["equal"] else 1
    (first, first_cpu), (second, second_cpu) = found["first edits"]
    print(f"{size:,} subscriptions; the first edit of a loaded set {first_cpu:.2f} ms of CPU time ({first:.1f} by the "
          f"clock), the second {second_cpu:.2f} ms ({second:.1f})")  # fmt: skip
    print(f"{found['adds']:,} adds, {RATE:,} a second for {seconds:.0f} s ({found['late']:,} began over 1 ms late):")
    for name in ("clock", "cpu"):
        half, most, longest = found[name]
        print(f"  an add by {name:<6} median {half:7.1f} µs   99 % {most:8.1f} µs   longest {longest / 1e3:8.2f} ms")
    for name, other in (("beside it", "packed every ten seconds"), ("right after", "packed afresh")):
        mine, packed = found[name]
        print(f"  matching {name:<12} {mine / 1e3:8.1f} k events/s of the thread's CPU time, {other} "
              f"{packed / 1e3:.1f} k: {100 * mine / packed:.0f} %")  # fmt: skip
    before, after, most = found["memory"]
    print(f"  memory {before:.0f} MB before, {after:.0f} MB after, most {most:.0f} MB; "
          f"the matcher says {found['nbytes'][0]:.0f} and {found['nbytes'][1]:.0f} MB")  # fmt: skip
    print("  edited and packed afresh agree" if found["equal"] else "FAULT: edited and packed afresh differ")
    return 0 if found["equal"] else 1


def _matcher(size: int) -> Any:
    matcher = rookery.matcher(SCHEMA)
    columns = make_boxes(DEVICE, size).columns()
    sites = pa.array([f"site-{number:04}" for number in range(1_000)])
    columns["equals"]["site"] = sites.take(pa.array(columns["equals"]["device"]))
    matcher.add_boxes(**columns)
    return matcher


def _added(count: int) -> list[str]:
    """Return the conditions to add: device, type, a site of its own, and thresholds."""
    texts = make_boxes(DEVICE, count, seed=5).texts()
    return [f"site = '{_site(number)}' AND {text}" for number, text in enumerate(texts)]


def _site(number: int) -> str:
    return f"site-0500-{number:08}"


def _events(count: int, added: int) -> pa.Table:
    """Return events, one in twenty at one of the sites that are added."""
    table = make_events(DEVICE, count).table()
    random = np.random.default_rng(7)
    new = random.random(count) < 0.05
    which = random.integers(0, added, count)
    names = [
        _site(one) if mine else f"site-{device:04}"
        for mine, one, device in zip(new.tolist(), which.tolist(), table["device"].to_pylist(), strict=True)
    ]
    return table.append_column("site", pa.array(names))


def _first_edits(size: int) -> dict[str, Any]:
    """Time the first edits of a set that was loaded from a file, by the clock and by the thread's CPU time."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "set.rookery"
        _matcher(size).compile().save(path)
        warm = _matcher(1_000)
        for number, text in enumerate(_added(WARM)):  # all that edits and matches compile, segments included
            warm.add(20_000_000 + number, text)
        warm.match_many(_events(100, 1), event_id="id")
        taken = []
        loaded: Any = rookery.matcher(rookery.CompiledSet.load(path, verify=False))
        for number, (matcher, text) in enumerate(zip((warm, warm, loaded, loaded), _added(4), strict=True)):
            clock, cpu = time.perf_counter(), time.thread_time()
            matcher.add(10_000_000 + number, text)
            taken.append(((time.perf_counter() - clock) * 1e3, (time.thread_time() - cpu) * 1e3))
    return {"first edits": taken[2:]}


class _Adder(threading.Thread):
    """Adds subscriptions at a steady rate until there are no more, or the time is over."""

    def __init__(self, matcher: Any, texts: list[str], seconds: float) -> None:
        super().__init__(daemon=True)
        self.matcher, self.texts, self.seconds = matcher, texts, seconds
        self.made = 0
        self.clock, self.cpu = np.zeros(len(texts)), np.zeros(len(texts))
        self.late = 0
        self.fault: BaseException | None = None

    def run(self) -> None:
        try:
            begin = time.perf_counter()
            for number, text in enumerate(self.texts):
                wait = begin + number / RATE - time.perf_counter()
                if wait + (self.seconds - number / RATE) < 0:
                    break
                if wait > 0:
                    time.sleep(wait)
                self.late += wait < -1e-3
                clock, cpu = time.perf_counter(), time.thread_time()
                self.matcher.add(10_000_000 + number, text)
                self.clock[number], self.cpu[number] = time.perf_counter() - clock, time.thread_time() - cpu
                self.made += 1
        except BaseException as fault:
            self.fault = fault


def _beside_matching(size: int, seconds: float) -> dict[str, Any]:
    count = int(RATE * seconds)
    events, texts = _events(10 * BATCH, count), _added(count)
    batches = [events.slice(first, BATCH) for first in range(0, len(events), BATCH)]
    matcher = _matcher(size)
    packed = matcher.compile()
    packed.match_many(batches[0], event_id="id")
    memory, nbytes = [_resident()], [matcher.nbytes / 1e6]
    adder = _Adder(matcher, texts, seconds)
    adder.start()
    spent, matched, due = np.zeros(2), 0, time.perf_counter() + PACK_SECONDS
    while adder.is_alive():
        if time.perf_counter() > due:
            packed = matcher.compile()
            due = time.perf_counter() + PACK_SECONDS
        spent += _turns((matcher, packed), batches[matched % len(batches)])[0]
        matched += 1
    if adder.fault is not None:
        raise adder.fault
    memory.append(_resident())
    nbytes.append(matcher.nbytes / 1e6)
    afresh, rounds, equal = matcher.compile(), [], True
    for _ in range(ROUNDS):
        taken = np.zeros(2)
        for batch in batches:
            one, (found, wanted) = _turns((matcher, afresh), batch)
            taken += one
            equal &= found.equals(wanted)
        rounds.append(taken)
    return {
        "adds": adder.made,
        "late": adder.late,
        **{
            name: [float(np.percentile(one[: adder.made], part)) * 1e6 for part in (50, 99, 100)]
            for name, one in (("clock", adder.clock), ("cpu", adder.cpu))
        },
        "beside it": (matched * BATCH / spent).tolist(),
        "right after": (len(batches) * BATCH / np.median(rounds, axis=0)).tolist(),
        "memory": [*memory, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3],
        "nbytes": nbytes,
        "equal": equal,
    }


def _turns(sets: tuple[Any, ...], batch: pa.Table) -> tuple[Array, list[pa.Table]]:
    """Match a batch by each set in turn; return the CPU time that each took, and what it found."""
    taken, found = np.zeros(len(sets)), []
    for place, one in enumerate(sets):
        began = time.thread_time()
        found.append(one.match_many(batch, event_id="id"))
        taken[place] = time.thread_time() - began
    return taken, found


def _resident() -> float:
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * resource.getpagesize() / 1e6
