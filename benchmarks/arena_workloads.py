"""The workloads of the arena: generators that anyone can run, files that anyone can read, and one oracle for all.

A subscription is a list of predicates, all of which must hold; a predicate is `[field, "between", low, high]` (an end
may be null), `[field, "=", value]`, `[field, "in", [values]]`, or of a text `[field, "prefix" | "suffix" | "contains",
text]`. An event is a flat JSON object. Doubles are multiples of a quarter, which decimal and binary engines read alike.
The oracle evaluates predicates on the columns with NumPy and knows no engine.

- `ranges`: five of twenty doubles, each within a range of 25 %.
- `devices`: a device of 1,000, a type of 10, and thresholds on three doubles.
- `stock`: a symbol by Zipf's law, a range of prices around it, a least volume.
- `high-match`: three wide ranges on three doubles: about one subscription in five wants an event.
- `in-lists`: a campaign's list of 5 to 20 sites of 1,000, a country, a least bid.
- `text`: an image that ends in a name and a command line that contains a word, as Sigma's rules of process creation.
- `robots`: topics below a robot's name, a node, a least rate.
- `flights`: real ones, where the package with them is installed: `benchmarks/arena_flights.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.arena_flights import flights

__all__ = ["WORKLOADS", "ArenaWorkload", "make", "oracle_count", "write_files"]

Predicate = list[Any]
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class ArenaWorkload:
    """Subscriptions, and events as columns."""

    name: str
    subscriptions: list[list[Predicate]]
    columns: dict[str, Array]

    def events(self, count: int) -> list[dict[str, Any]]:
        """Return the first events as objects."""
        names = list(self.columns)
        rows = zip(*(column[:count].tolist() for column in self.columns.values()), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]


def _doubles(random: np.random.Generator, count: int, top: int = 1000) -> Array:
    return random.integers(0, 4 * top, count) / 4.0


def _ranges(random: np.random.Generator, size: int, events: int) -> ArenaWorkload:
    names = [f"a{number}" for number in range(20)]
    subscriptions = []
    for _ in range(size):
        lows = _doubles(random, 5, 750)
        fields = random.choice(20, 5, replace=False)
        subscriptions.append(
            [[names[f], "between", float(lo), float(lo) + 250.0] for f, lo in zip(fields, lows, strict=True)]
        )
    return ArenaWorkload("ranges", subscriptions, {name: _doubles(random, events) for name in names})


def _devices(random: np.random.Generator, size: int, events: int) -> ArenaWorkload:
    subscriptions: list[list[Predicate]] = []
    for _ in range(size):
        low, high, floor = _doubles(random, 3, 500)
        subscriptions.append([
            ["device", "=", int(random.integers(1000))], ["type", "=", int(random.integers(10))],
            ["a0", "between", float(low), None], ["a1", "between", None, float(high) + 500.0],
            ["a2", "between", float(floor), None],
        ])  # fmt: skip
    columns = {"device": random.integers(0, 1000, events), "type": random.integers(0, 10, events)}
    return ArenaWorkload("devices", subscriptions, columns | {f"a{n}": _doubles(random, events) for n in range(3)})


def _stock(random: np.random.Generator, size: int, events: int) -> ArenaWorkload:
    symbols = np.array([f"S{number:03d}" for number in range(500)])
    weights = 1.0 / np.arange(1, 501)
    weights /= weights.sum()
    middle = _doubles(random, 500, 900) + 50.0
    subscriptions: list[list[Predicate]] = []
    for chosen in random.choice(500, size, p=weights):
        low = float(middle[chosen] - 40.0 + _doubles(random, 1, 60)[0])
        volume = int(random.integers(0, 9_000))
        subscriptions.append([["symbol", "=", str(symbols[chosen])], ["price", "between", low, low + 20.0],
                              ["volume", "between", float(volume), None]])  # fmt: skip
    traded = random.choice(500, events, p=weights)
    price = middle[traded] + np.round(random.normal(0, 15, events) * 4) / 4.0
    columns = {"symbol": symbols[traded], "price": price, "volume": random.integers(0, 10_000, events).astype(float)}
    return ArenaWorkload("stock", subscriptions, columns)


def _high_match(random: np.random.Generator, size: int, events: int) -> ArenaWorkload:
    subscriptions = [
        [[f"a{n}", "between", float(low), float(low) + 600.0] for n, low in enumerate(_doubles(random, 3, 400))]
        for _ in range(size)
    ]
    return ArenaWorkload("high-match", subscriptions, {f"a{n}": _doubles(random, events) for n in range(3)})


def _in_lists(random: np.random.Generator, size: int, events: int) -> ArenaWorkload:
    countries = np.array(["AT", "BR", "CA", "DE", "FR", "IN", "JP", "MX", "SE", "US"])
    subscriptions: list[list[Predicate]] = []
    for _ in range(size):
        sites = random.choice(1000, int(random.integers(5, 21)), replace=False)
        subscriptions.append([["site", "in", [f"site{number}" for number in sites]],
                              ["country", "=", str(random.choice(countries))],
                              ["bid", "between", float(_doubles(random, 1, 500)[0]), None]])  # fmt: skip
    columns = {
        "site": np.array([f"site{number}" for number in random.integers(0, 1000, events)]),
        "country": random.choice(countries, events),
        "bid": _doubles(random, events),
    }
    return ArenaWorkload("in-lists", subscriptions, columns)


def _text(random: np.random.Generator, size: int, events: int) -> ArenaWorkload:
    programs = np.array([f"\\tool{number}.exe" for number in range(200)])
    words = np.array([f"-opt{number}x" for number in range(400)])
    subscriptions: list[list[Predicate]] = [
        [["Image", "suffix", str(random.choice(programs))], ["CommandLine", "contains", str(random.choice(words))]]
        for _ in range(size)
    ]
    images = [f"C:\\Windows\\System32{program}" for program in random.choice(programs, events)]
    lines = [f"run {' '.join(random.choice(words, 8))} done" for _ in range(events)]
    return ArenaWorkload("text", subscriptions, {"Image": np.array(images), "CommandLine": np.array(lines)})


def _robots(random: np.random.Generator, size: int, events: int) -> ArenaWorkload:
    subscriptions: list[list[Predicate]] = [
        [["topic", "prefix", f"/fleet/robot{random.integers(200)}/"], ["node", "=", f"node{random.integers(20)}"],
         ["rate", "between", float(_doubles(random, 1, 500)[0]), None]]
        for _ in range(size)
    ]  # fmt: skip
    tails = np.array(["scan", "odom", "camera/front", "camera/rear", "battery", "cmd_vel"])
    topics = [f"/fleet/robot{random.integers(200)}/{random.choice(tails)}" for _ in range(events)]
    nodes = np.array([f"node{number}" for number in random.integers(0, 20, events)])
    columns = {"topic": np.array(topics), "node": nodes, "rate": _doubles(random, events)}
    return ArenaWorkload("robots", subscriptions, columns)


def _flights(random: np.random.Generator, size: int, events: int) -> ArenaWorkload:
    return ArenaWorkload("flights", *flights(random, size, events))


WORKLOADS: dict[str, Callable[[np.random.Generator, int, int], ArenaWorkload]] = {
    "ranges": _ranges, "devices": _devices, "stock": _stock, "high-match": _high_match, "in-lists": _in_lists,
    "text": _text, "robots": _robots, "flights": _flights,
}  # fmt: skip


def make(name: str, *, subscriptions: int, events: int, seed: int = 1) -> ArenaWorkload:
    """Return a workload: the same for the same arguments, everywhere. One whose package is missing raises."""
    return WORKLOADS[name](np.random.default_rng([seed, len(name)]), subscriptions, events)


def _holds(predicate: Predicate, column: Array) -> Array:
    operator, value = predicate[1], predicate[2]
    if operator == "between":
        low = -np.inf if value is None else value
        high = np.inf if predicate[3] is None else predicate[3]
        return (column >= low) & (column <= high)
    if operator == "=":
        return np.asarray(column == value)
    if operator == "in":
        return np.isin(column, value)
    find = {"prefix": np.char.startswith, "suffix": np.char.endswith}.get(operator)
    return find(column, value) if find else np.char.find(column, value) >= 0


def oracle_count(workload: ArenaWorkload, events: int) -> int:
    """Return how many (event, subscription) pairs match among the first events."""
    columns = {name: column[:events] for name, column in workload.columns.items()}
    total = 0
    for predicates in workload.subscriptions:
        wanted = np.ones(events, bool)
        for predicate in predicates:
            wanted &= _holds(predicate, columns[predicate[0]])
        total += int(wanted.sum())
    return total


def write_files(workload: ArenaWorkload, folder: Path, events: int) -> None:
    """Write `NAME.subscriptions.jsonl` (id, predicates) and `NAME.events.jsonl`."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{workload.name}.subscriptions.jsonl").open("w", encoding="utf-8") as out:
        for number, predicates in enumerate(workload.subscriptions):
            out.write(json.dumps({"id": str(number), "predicates": predicates}) + "\n")
    with (folder / f"{workload.name}.events.jsonl").open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(event) + "\n" for event in workload.events(events))
