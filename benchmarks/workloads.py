"""The three workloads of the matching benchmark, as columns, as Arrow and as text.

- `range`: twenty double attributes; a subscription tests five of them, chosen at random, for a range of 25 % each.
- `mixed`: an integer category of 20 values, and ranges of 25 % on four of twenty double attributes.
- `device`: an integer device id of 1000 values, an integer type of 10, and one threshold on each of three doubles
  (a0 at least, a1 at most, a2 at least). A threshold lets between 0 and 50 % of the events pass, 25 % on average.

Events are uniform and independent. Doubles lie in [0, 1000) in steps of 1/64: an engine that computes in decimals reads
the same numbers as one that computes in binary, so all totals must agree to the last match.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import rookery

__all__ = ["WORKLOADS", "Boxes", "Events", "Workload", "make_boxes", "make_events"]

Array = np.ndarray[Any, Any]

TOP = 1000
STEP = 64
WIDTH = TOP // 4


@dataclass(frozen=True, slots=True)
class Workload:
    """Equalities as (name, cardinality), the number of doubles, and how many of them each subscription tests."""

    name: str
    equalities: tuple[tuple[str, int], ...]
    doubles: int
    tested: int
    one_sided: bool

    @property
    def double_names(self) -> list[str]:
        return [f"a{number}" for number in range(self.doubles)]

    @property
    def schema(self) -> rookery.Schema:
        return rookery.Schema(**{name: int for name, _ in self.equalities}, **dict.fromkeys(self.double_names, float))

    def describe(self) -> str:
        """Return one line that states the attributes and their types."""
        keys = "".join(f"{name} int64 of {size:,} values, " for name, size in self.equalities)
        if self.one_sided:
            return f"{keys}{self.doubles} float64 with a one-sided threshold each (passes 0 to 50 % of events)"
        return f"{keys}{self.tested} ranges of 25 % on {self.tested} of {self.doubles} float64 attributes at random"


WORKLOADS = {
    one.name: one
    for one in (
        Workload("range", (), 20, 5, False),
        Workload("mixed", (("category", 20),), 20, 4, False),
        Workload("device", (("device", 1000), ("type", 10)), 3, 3, True),
    )
}


@dataclass(frozen=True, slots=True)
class Boxes:
    """Subscriptions: predicate p of subscription s is `lower[p, s] <= value of attribute[p, s] <= upper[p, s]`."""

    workload: Workload
    equals: Array  # int64 [equalities, count]
    attribute: Array  # uint8 [tested, count]
    lower: Array  # float64 [tested, count]; -inf where open
    upper: Array  # float64 [tested, count]; +inf where open

    @property
    def count(self) -> int:
        return self.lower.shape[1]

    def columns(self) -> dict[str, Any]:
        """Return the arguments of `Matcher.add_boxes`: one column per side that is bounded, null where it is open."""
        equals = {name: self.equals[place] for place, (name, _) in enumerate(self.workload.equalities)}
        sides: dict[str, dict[str, Any]] = {"lower": {}, "upper": {}}
        for number, name in enumerate(self.workload.double_names):
            for side, bounds in (("lower", self.lower), ("upper", self.upper)):
                values = np.full(self.count, np.nan)
                for place in range(self.attribute.shape[0]):
                    mine = (self.attribute[place] == number) & np.isfinite(bounds[place])
                    values[mine] = bounds[place, mine]
                open_here = np.isnan(values)
                if not open_here.all():
                    sides[side][name] = pa.array(values, mask=open_here)
        return {"subscription_id": np.arange(self.count), "equals": equals, **sides}

    def predicates(self) -> Iterator[list[tuple[str, float | None, float | None]]]:
        """Yield each subscription as (name, least, greatest); None where open."""
        names = self.workload.double_names
        keys = [name for name, _ in self.workload.equalities]
        for row in range(self.count):
            found: list[tuple[str, float | None, float | None]] = []
            for place, name in enumerate(keys):
                value = int(self.equals[place, row])
                found.append((name, value, value))
            for place in range(self.attribute.shape[0]):
                low, high = float(self.lower[place, row]), float(self.upper[place, row])
                found.append(
                    (
                        names[self.attribute[place, row]],
                        None if low == -np.inf else low,
                        None if high == np.inf else high,
                    )
                )
            yield found

    def texts(self) -> list[str]:
        """Return each subscription as a WHERE clause."""
        return [
            " AND ".join(_comparison(*one) for one in predicates if one[1:] != (None, None))
            for predicates in self.predicates()
        ]


def _comparison(name: str, low: float | None, high: float | None) -> str:
    if low is None:
        return f"{name} <= {high!r}"
    if high is None:
        return f"{name} >= {low!r}"
    return f"{name} = {low!r}" if low == high else f"{name} BETWEEN {low!r} AND {high!r}"


@dataclass(frozen=True, slots=True)
class Events:
    """Events, as the peers like them: keys and doubles as matrices, one row per event."""

    workload: Workload
    keys: Array  # int64 [count, equalities]
    doubles: Array  # float64 [count, doubles]

    def table(self) -> pa.Table:
        """Return the events as an Arrow table with an `id`."""
        columns: dict[str, Any] = {"id": np.arange(len(self.doubles))}
        for place, (name, _) in enumerate(self.workload.equalities):
            columns[name] = np.ascontiguousarray(self.keys[:, place])
        for place, name in enumerate(self.workload.double_names):
            columns[name] = np.ascontiguousarray(self.doubles[:, place])
        return pa.table(columns)

    def dicts(self, count: int) -> list[dict[str, Any]]:
        """Return the first events as dicts, without the id."""
        rows: list[dict[str, Any]] = self.table().slice(0, count).drop_columns(["id"]).to_pylist()
        return rows


def make_boxes(workload: Workload, count: int, *, seed: int = 1) -> Boxes:
    """Make the subscriptions of a workload; the same seed and count give the same ones."""
    random = np.random.default_rng([seed, count])
    equals = np.stack(
        [random.integers(0, size, count) for _, size in workload.equalities] or [np.empty(count, np.int64)]
    )
    equals = equals[: len(workload.equalities)]
    if workload.one_sided:
        attribute = np.repeat(np.arange(workload.tested, dtype=np.uint8)[:, None], count, axis=1)
        lower, upper = np.full((3, count), -np.inf), np.full((3, count), np.inf)
        for place in range(workload.tested):
            passing = random.integers(1, TOP * STEP // 2, count) / STEP
            if place == 1:
                upper[place] = passing
            else:
                lower[place] = TOP - passing
        return Boxes(workload, equals, attribute, lower, upper)
    attribute = np.empty((workload.tested, count), np.uint8)
    for first in range(0, count, 100_000):  # the lowest of twenty dice are a choice without repetition
        part = min(100_000, count - first)
        dice = random.random((part, workload.doubles), dtype=np.float32)
        attribute[:, first : first + part] = np.argpartition(dice, workload.tested, axis=1)[:, : workload.tested].T
    lower = random.integers(0, (TOP - WIDTH) * STEP, (workload.tested, count)) / STEP
    return Boxes(workload, equals, attribute, lower, lower + WIDTH)


def make_events(workload: Workload, count: int, *, seed: int = 2) -> Events:
    """Make events; a smaller count gives the first of a larger one."""
    keys = [
        np.random.default_rng([seed, place]).integers(0, size, count)
        for place, (_, size) in enumerate(workload.equalities)
    ]
    columns = [
        np.random.default_rng([seed, 100 + place]).integers(0, TOP * STEP, count) / STEP
        for place in range(workload.doubles)
    ]
    return Events(
        workload,
        np.stack(keys, axis=1) if keys else np.empty((count, 0), np.int64),
        np.ascontiguousarray(np.stack(columns, axis=1)),
    )
