"""Generated workloads: events and subscriptions that anybody can make again from a seed.

Rule: row n of a workload is a pure function of (name, seed, n). Rows come in blocks of 8,192, each with a counter-based
generator of its own, so any worker makes any part of the stream, and a replay makes the same rows.

`telemetry`: devices that report temperature, voltage, pressure and a mode once in a while; limits per device, and one
dated change of all temperature limits in the middle of the time line. `ranges`: eight uniform numbers, and rules with
three ranges; what matching papers measure. `devices`: equality on the device and two thresholds, for large rule sets.
Each workload also has its oracle: the rules as plain NumPy bounds, never read from the WHERE text.

No Arrow array is made while this module is imported: the first one makes Arrow import pandas, half a second in each
of the small processes by which Spark plans a Python data source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rookery.errors import PipelineError

__all__ = ["BLOCK", "CHANGE", "START", "WORKLOADS", "Workload", "oracle", "workload"]

BLOCK = 8192

#: The time line of `telemetry`: it starts here, and the limits change after this many microseconds of it.
START = datetime(2026, 1, 1, tzinfo=UTC)
START_MICROSECONDS = int(START.timestamp()) * 1_000_000

MODES = ("idle", "run", "safe", "test")


@dataclass(frozen=True, slots=True)
class Workload:
    """One workload: how to make a block of events, the rules, and the rules' bounds for the oracle."""

    name: str
    schema: pa.Schema
    block: Callable[[np.random.Generator, int, int], dict[str, pa.Array]]
    rules: Callable[[int, int], pa.Table]
    bounds: Callable[[int, int], Bounds]

    def events(self, first: int, last: int, *, seed: int = 1) -> Iterator[pa.RecordBatch]:
        """Make rows `first` to `last` (exclusive), in batches of at most one block."""
        for number in range(first // BLOCK, -(-last // BLOCK)):
            start = number * BLOCK
            generator = np.random.Generator(np.random.Philox(key=[seed, number]))
            batch = pa.record_batch(self.block(generator, start, BLOCK), schema=self.schema)
            low, high = max(first - start, 0), min(last - start, BLOCK)
            yield batch if high - low == BLOCK else batch.slice(low, high - low)

    def table(self, rows: int, *, seed: int = 1) -> pa.Table:
        """Make the first `rows` events as one table."""
        return pa.Table.from_batches(self.events(0, rows, seed=seed), schema=self.schema)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Rules as the oracle sees them: bounds per attribute, an equal device, days of validity."""

    ids: NDArray[np.int64]
    versions: NDArray[np.int64]
    lower: dict[str, NDArray[np.float64]]
    upper: dict[str, NDArray[np.float64]]
    device: NDArray[np.int64] | None = None
    valid_from: NDArray[np.int64] | None = None
    valid_to: NDArray[np.int64] | None = None


def oracle(events: pa.Table, bounds: Bounds) -> NDArray[np.int64]:
    """Evaluate every rule on every event with NumPy: rows of (event id, subscription id, version), sorted."""
    columns = {name: events[name].to_numpy() for name in bounds.lower}
    ids = events["event_id"].to_numpy()
    times = events["ts"].cast(pa.int64()).to_numpy() if "ts" in events.column_names else None
    device = None if bounds.device is None else _device_numbers(events["device"])
    found = []
    for rule in range(len(bounds.ids)):
        rows = np.arange(len(ids)) if device is None else device[bounds.device[rule]]  # type: ignore[index]
        good = np.ones(len(rows), dtype=bool)
        for name, values in columns.items():
            good &= (values[rows] >= bounds.lower[name][rule]) & (values[rows] < bounds.upper[name][rule])
        if bounds.valid_from is not None and bounds.valid_to is not None and times is not None:
            good &= (times[rows] >= bounds.valid_from[rule]) & (times[rows] < bounds.valid_to[rule])
        hits = ids[rows[good]]
        label = np.full((len(hits), 2), (bounds.ids[rule], bounds.versions[rule]), dtype=np.int64)
        found.append(np.column_stack([hits, label]))
    pairs = np.concatenate(found) if found else np.empty((0, 3), dtype=np.int64)
    return pairs[np.lexsort(pairs.T[::-1])]


def _device_numbers(column: pa.ChunkedArray) -> dict[int, NDArray[np.int64]]:
    """Return the rows of each device, by number."""
    numbers = np.array([int(name[1:]) for name in column.to_pylist()], dtype=np.int64)
    order = np.argsort(numbers, kind="stable")
    values, starts = np.unique(numbers[order], return_index=True)
    groups = dict(zip(values.tolist(), np.split(order, starts[1:]), strict=True))
    return _Groups(groups)


class _Groups(dict[int, NDArray[np.int64]]):
    def __missing__(self, key: int) -> NDArray[np.int64]:
        return np.empty(0, dtype=np.int64)


# --- telemetry ------------------------------------------------------------------------------------------------------

DEVICES = 2_500
RULES_PER_DEVICE = 4
STEP = 20_000  # microseconds between two events
CHANGE = START + timedelta(microseconds=STEP * 50_000)
CHANGE_MICROSECONDS = START_MICROSECONDS + STEP * 50_000
NEVER, FOREVER = -(2**62), 2**62

TELEMETRY = pa.schema(
    [
        ("event_id", pa.int64()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("device", pa.string()),
        ("mode", pa.string()),
        ("temperature", pa.float64()),
        ("voltage", pa.float64()),
        ("pressure", pa.float64()),
    ]
)


@cache
def device_names() -> pa.Array:
    """Return the names of the devices of `telemetry`."""
    return pa.array([f"d{number:05d}" for number in range(DEVICES)])


def _telemetry_block(generator: np.random.Generator, start: int, count: int) -> dict[str, pa.Array]:
    ids = np.arange(start, start + count, dtype=np.int64)
    return {
        "event_id": pa.array(ids),
        "ts": pa.array(START_MICROSECONDS + ids * STEP, pa.timestamp("us", tz="UTC")),
        "device": device_names().take(pa.array(generator.integers(0, DEVICES, count))),
        "mode": pa.array(MODES).take(pa.array(generator.integers(0, len(MODES), count))),
        "temperature": pa.array(generator.normal(20.0, 15.0, count)),
        "voltage": pa.array(generator.normal(28.0, 2.0, count)),
        "pressure": pa.array(generator.gamma(2.0, 50.0, count)),
    }


def _telemetry_bounds(count: int, seed: int) -> Bounds:
    """One rule is one pair (device, kind of limit); a temperature limit has two versions around the change."""
    generator = np.random.Generator(np.random.Philox(key=[seed, 2**63]))
    device = np.arange(count) % DEVICES
    kind = (np.arange(count) // DEVICES) % RULES_PER_DEVICE
    limit = np.where(kind == 0, generator.uniform(30, 60, count), 0.0)
    later = limit + generator.uniform(-8, 8, count)
    low = np.full(count, -np.inf)
    high = np.full(count, np.inf)
    names = ("temperature", "voltage", "pressure")
    lower, upper = {name: low.copy() for name in names}, {name: high.copy() for name in names}
    lower["temperature"][kind == 0] = limit[kind == 0]
    lower["voltage"][kind == 1] = generator.uniform(30, 34, count)[kind == 1]
    upper["voltage"][kind == 2] = generator.uniform(22, 26, count)[kind == 2]
    lower["pressure"][kind == 3] = generator.uniform(200, 400, count)[kind == 3]
    upper["temperature"][kind == 3] = generator.uniform(0, 30, count)[kind == 3]
    dated = np.flatnonzero(kind == 0)
    number = len(dated)
    for name in names:
        lower[name] = np.concatenate([lower[name], lower[name][dated]])
        upper[name] = np.concatenate([upper[name], upper[name][dated]])
    lower["temperature"][count:] = later[dated]
    valid_to = np.where(kind == 0, CHANGE_MICROSECONDS, FOREVER)
    valid_from = np.where(kind == 0, START_MICROSECONDS, NEVER)
    return Bounds(
        ids=np.concatenate([np.arange(count), dated]),
        versions=np.concatenate([np.ones(count, np.int64), np.full(number, 2, np.int64)]),
        lower=lower,
        upper=upper,
        device=np.concatenate([device, device[dated]]),
        valid_from=np.concatenate([valid_from, np.full(number, CHANGE_MICROSECONDS)]),
        valid_to=np.concatenate([valid_to, np.full(number, FOREVER)]),
    )


# --- ranges and devices ---------------------------------------------------------------------------------------------

AXES = tuple(f"a{number}" for number in range(8))
RANGES = pa.schema([("event_id", pa.int64()), *((name, pa.float64()) for name in AXES)])
DEVICE_SPACE = 100_000
DEVICE_EVENTS = pa.schema(
    [("event_id", pa.int64()), ("device", pa.string()), ("x", pa.float64()), ("y", pa.float64()), ("z", pa.float64())]
)


def _ranges_block(generator: np.random.Generator, start: int, count: int) -> dict[str, pa.Array]:
    values = generator.random((8, count))
    return {"event_id": pa.array(np.arange(start, start + count, dtype=np.int64))} | {
        name: pa.array(values[number]) for number, name in enumerate(AXES)
    }


def _ranges_bounds(count: int, seed: int) -> Bounds:
    """Three of eight attributes bounded, each to a tenth of its span: one event in a thousand matches a rule."""
    generator = np.random.Generator(np.random.Philox(key=[seed, 2**63]))
    chosen = np.argsort(generator.random((count, 8)), axis=1)[:, :3]
    lower, upper = np.full((8, count), -np.inf), np.full((8, count), np.inf)
    rows = np.arange(count)
    for turn in range(3):
        start = generator.random(count) * 0.9
        lower[chosen[:, turn], rows], upper[chosen[:, turn], rows] = start, start + 0.1
    return Bounds(
        ids=rows.astype(np.int64),
        versions=np.ones(count, np.int64),
        lower=dict(zip(AXES, lower, strict=True)),
        upper=dict(zip(AXES, upper, strict=True)),
    )


def _devices_block(generator: np.random.Generator, start: int, count: int) -> dict[str, pa.Array]:
    numbers = generator.integers(0, DEVICE_SPACE, count)
    codes, inverse = np.unique(numbers, return_inverse=True)
    names = pa.array([f"d{number:05d}" for number in codes.tolist()], pa.string())
    values = generator.random((3, count))
    return {
        "event_id": pa.array(np.arange(start, start + count, dtype=np.int64)),
        "device": names.take(pa.array(inverse)),
        **{name: pa.array(values[number]) for number, name in enumerate("xyz")},
    }


def _devices_bounds(count: int, seed: int) -> Bounds:
    generator = np.random.Generator(np.random.Philox(key=[seed, 2**63]))
    low = generator.random(count) * 0.5 + 0.4
    return Bounds(
        ids=np.arange(count, dtype=np.int64),
        versions=np.ones(count, np.int64),
        lower={"x": low, "y": np.full(count, -np.inf)},
        upper={"x": np.full(count, np.inf), "y": generator.random(count) * 0.5 + 0.3},
        device=np.arange(count, dtype=np.int64) % DEVICE_SPACE,
    )


def _rules(bounds: Bounds) -> pa.Table:
    """Write the bounds as subscription records: WHERE text, version and validity."""
    texts = []
    for rule in range(len(bounds.ids)):
        terms = [] if bounds.device is None else [f"device = 'd{bounds.device[rule]:05d}'"]
        for name in bounds.lower:
            low, high = float(bounds.lower[name][rule]), float(bounds.upper[name][rule])
            terms += [f"{name} >= {low!r}"] if np.isfinite(low) else []
            terms += [f"{name} < {high!r}"] if np.isfinite(high) else []
        texts.append(" and ".join(terms))
    columns = {
        "subscription_id": pa.array(bounds.ids),
        "where": pa.array(texts, pa.string()),
        "version": pa.array(bounds.versions),
    }
    if bounds.valid_from is not None and bounds.valid_to is not None:
        instant = pa.timestamp("us", tz="UTC")
        columns["valid_from"] = pa.array(bounds.valid_from, mask=bounds.valid_from == NEVER).cast(instant)
        columns["valid_to"] = pa.array(bounds.valid_to, mask=bounds.valid_to == FOREVER).cast(instant)
    return pa.table(columns)


def _made(
    name: str,
    schema: pa.Schema,
    block: Callable[[np.random.Generator, int, int], dict[str, pa.Array]],
    bounds: Callable[[int, int], Bounds],
) -> Workload:
    return Workload(name, schema, block, lambda count, seed: _rules(bounds(count, seed)), bounds)


WORKLOADS = {
    "telemetry": _made("telemetry", TELEMETRY, _telemetry_block, _telemetry_bounds),
    "ranges": _made("ranges", RANGES, _ranges_block, _ranges_bounds),
    "devices": _made("devices", DEVICE_EVENTS, _devices_block, _devices_bounds),
}


def workload(name: str) -> Workload:
    """Return the workload of this name."""
    if name not in WORKLOADS:
        raise PipelineError(f"there is no workload {name!r}; there are {', '.join(WORKLOADS)}")
    return WORKLOADS[name]
