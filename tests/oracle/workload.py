"""One round of the comparison: a schema, subscriptions in both languages, and events, from one seed.

Subscriptions have topics, versions and dates; the SQL of one says in full when its version decides: its own dates, the
versions above it, the topic. Events come with a topic column or one topic for all, with a time column or as of one
time, sliced and in chunks, with columns that no condition names, and sometimes without one that some do.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .columns import Shape, column_of, paths_of, random_shape
from .conditions import Condition, Writer
from .kinds import LEAF_KINDS, Kind, pool_of
from .literals import Leaf, quoted

__all__ = ["Round", "Subscription", "make_round"]

_NAMES = ["a", "b", "size", "größe", "_x", "timestamp", "Value9", "n1", "is_new", "名前", "topics", "t"]
_TOPICS = ["north", "south", "NA", " ", "it's"]
_DAYS = [1_767_225_600 * 10**6 + day * 86_400 * 10**6 for day in range(5)]  # microseconds


@dataclass(frozen=True, slots=True)
class Subscription:
    """One version of a subscription, and when it matches in SQL."""

    subscription_id: int | str
    version: int
    topic: str | None
    valid_from: int | None  # microseconds
    valid_to: int | None
    condition: Condition
    sql: str


@dataclass(frozen=True, slots=True)
class Round:
    """What is matched, and how."""

    seed: int
    schema: dict[str, Any]
    leaves: list[Leaf]
    ranked: set[int]
    subscriptions: list[Subscription]
    table: pa.Table
    arguments: dict[str, Any]  # of match_many: time, topic, as_of, missing, on_error

    @property
    def topic_column(self) -> str | None:
        return "topic" if "topic" in self.table.column_names and "topic" not in self.arguments else None


def _written(shape: Shape) -> Any:
    if isinstance(shape, Kind):
        return shape.written
    return {name: _written(part) for name, part in shape.items()} if isinstance(shape, dict) else [_written(shape[0])]


def _path_text(path: tuple[str | int, ...]) -> str:
    return str(path[0]) + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path[1:])


def make_round(seed: int, *, subscriptions: int, events: int, attributes: int = 6) -> Round:
    """Return the round of a seed."""
    random = Random(seed)
    names = random.sample(_NAMES, random.randint(2, attributes))
    far = random.random() < 0.15
    shapes = {name: random_shape(random, LEAF_KINDS) for name in names}
    if random.random() < 0.2:
        shapes["topic"] = next(one for one in LEAF_KINDS if one.family == "string")
    found = [leaf for name, shape in shapes.items() for leaf in paths_of(shape, (name,))]
    leaves = [
        Leaf(number, _path_text(path), path, kind, tuple(pool_of(random, kind, far=far)))
        for number, (path, kind) in enumerate(found)
    ]
    table, arguments = _events(random, shapes, events, far)
    writer = Writer(random, leaves, boxes=random.random() < 0.3)
    made = _subscriptions(random, writer, subscriptions, table, arguments)
    schema = {name: _written(shape) for name, shape in shapes.items()}
    return Round(seed, schema, leaves, writer.ranked, made, table, arguments)


def _events(random: Random, shapes: dict[str, Shape], count: int, far: bool) -> tuple[pa.Table, dict[str, Any]]:
    arguments: dict[str, Any] = {}
    extra = random.randrange(40)
    rows = count + extra
    strange = random.random() < 0.2
    columns = {name: column_of(random, shape, rows, far=far, strange=strange) for name, shape in shapes.items()}
    if strange:
        arguments["on_error"] = "null"
    if random.random() < 0.1 and len(columns) > 1:
        del columns[random.choice([name for name in columns if name != "topic"])]
        arguments["missing"] = "null"
    if random.random() < 0.5:
        columns["unused"] = _unused(random, rows)
    topics = random.random()
    if topics < 0.5 and "topic" not in columns:
        columns["topic"] = _topics(random, rows)
    elif topics < 0.65:
        arguments["topic"] = random.choice(_TOPICS)
    times = random.random()
    if times < 0.35:
        columns["at"], arguments["time"] = _times(random, rows), "at"
    elif times < 0.5:
        arguments["as_of"] = _moment(random.choice(_DAYS) + random.choice([0, -1, 1, 3_600 * 10**6]))
    names = random.sample(list(columns), len(columns))
    table = pa.table({name: columns[name] for name in names}).slice(random.randint(0, extra), count)
    if random.random() < 0.5:
        cut = random.randrange(count)
        table = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    table = table.append_column("event_id", pa.array(range(count), pa.int64()))
    return table, arguments


def _unused(random: Random, rows: int) -> pa.Array:
    """Return a column that no condition can name."""
    return random.choice(
        [
            lambda: pa.array([b"x"] * rows, pa.binary_view()),
            lambda: pa.array(["x" * 20] * rows, pa.string_view()),
            lambda: pc.run_end_encode(pa.array([1] * rows)),
            lambda: pa.array([[("k", 1)]] * rows, pa.map_(pa.string(), pa.int64())),
            lambda: pa.array([timedelta(1)] * rows, pa.duration("us")),
        ]
    )()


def _topics(random: Random, rows: int) -> pa.Array:
    generator = np.random.default_rng(random.getrandbits(32))
    places = generator.integers(0, len(_TOPICS) + 1, rows)
    array = pa.array([*_TOPICS, None]).take(pa.array(np.sort(places) if random.random() < 0.2 else places))
    form = random.randrange(6)
    if form == 0:
        return array.dictionary_encode()
    if form == 1:
        return pc.run_end_encode(array)
    return array.cast([pa.string_view(), pa.large_string(), pa.string(), pa.string()][form - 2])


def _times(random: Random, rows: int) -> pa.Array:
    """Return instants around the days on which versions begin and end, some finer than a microsecond."""
    days = [day * 1000 for day in _DAYS]
    kind = random.choice(
        [pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC", "Asia/Tokyo")]
        + [pa.date32(), pa.date64()]
    )
    unit = 86_400 * 10**9 if pa.types.is_date(kind) else {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[kind.unit]
    pool = [day + step for day in days for step in (0, 0, unit, -unit, 43_200 * 10**9)] + [0, -unit]
    if unit in (10**9, 10**6):
        pool += [9 * 10**21, -9 * 10**21]  # nearly all that microseconds can count, and past what nanoseconds can
    whole = [one // unit * (86_400_000 if pa.types.is_date64(kind) else 1) for one in pool]
    base = pa.array(whole, pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)
    generator = np.random.default_rng(random.getrandbits(32))
    return base.take(pa.array(generator.integers(0, len(base), rows), mask=generator.random(rows) < 0.05))


def _moment(microseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)


def _subscriptions(
    random: Random, writer: Writer, count: int, table: pa.Table, arguments: dict[str, Any]
) -> list[Subscription]:
    """Return subscriptions with their versions; a set of one topic where the events name none."""
    named = "topic" in table.column_names or "topic" in arguments
    topics = [None, None, *(_TOPICS if named else random.sample(_TOPICS, 1))]
    dated = "time" in arguments or "as_of" in arguments
    textual = random.random() < 0.2
    made: list[Subscription] = []
    while len(made) < count:
        versions = sorted(random.sample(range(1, 9), random.choice([1, 1, 2, 3]) if dated else 1))
        rows = [(version, *_dates(random, dated)) for version in versions]
        number = len(made)
        for place, (version, begin, end) in enumerate(rows):
            condition = writer.condition()
            topic = random.choice(topics)
            clauses = [condition.sql, _decides(rows, place, arguments)]
            if topic is not None and "topic" in arguments:
                clauses.append(f"({quoted(topic)} = {quoted(arguments['topic'])})")
            elif topic is not None and "topic" in table.column_names:
                clauses.append(f"(topic = {quoted(topic)})")
            sql = "(" + " AND ".join(one for one in clauses if one) + ")"
            made.append(Subscription(f"s{number}" if textual else number, version, topic, begin, end, condition, sql))
    return made


def _dates(random: Random, dated: bool) -> tuple[int | None, int | None]:
    if not dated or random.random() < 0.3:
        return None, None
    begin, end = sorted(random.sample(_DAYS, 2))
    return random.choice([(begin, end), (begin, None), (None, end), (None, None)])


def _decides(rows: list[tuple[int, int | None, int | None]], place: int, arguments: dict[str, Any]) -> str:
    """Return the SQL of: this version is in effect at the event's time, and none above it is."""
    if "as_of" in arguments:
        now = f"epoch_us(TIMESTAMPTZ '{arguments['as_of'].isoformat()}')::HUGEINT"
    elif "time" in arguments:
        now = "((time - ((time % 1000) + 1000) % 1000) // 1000)"  # rounded down, before 1970 too
    else:
        return ""
    if all(begin is None and end is None for _, begin, end in rows[place:]) and place == len(rows) - 1:
        return ""  # the highest version, undated: it decides even where the event has no time

    def holds(at: int) -> str:
        _, begin, end = rows[at]
        if end is None and at + 1 < len(rows) and (end := rows[at + 1][1]) is None:
            return "FALSE"  # the next version holds since it was seen
        parts = [f"{now} IS NOT NULL"]
        parts += [] if begin is None else [f"{now} >= {begin}"]
        parts += [] if end is None else [f"{now} < {end}"]
        return "(" + " AND ".join(parts) + ")"

    return "(" + " AND ".join([holds(place), *(f"NOT {holds(above)}" for above in range(place + 1, len(rows)))]) + ")"
