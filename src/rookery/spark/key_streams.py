"""A stream in the plan *keys*: rules that no worker holds, a compiled set for each part, mapped where its events come.

When the query starts, tasks compile each part's rules once and keep the set beside the checkpoint (`made/`), and
`parts/<number>` names them with the map of values. A micro-batch is shuffled once by the part of its events; the task
of a part maps its set, or has it from before, and matches. The driver sees counts and a sample of the rules.

Rule 1: the rules of a query are those of its start: an edit counts when it is started again.
Rule 2: a replay gives the same answer. Each micro-batch is bound to the number of its parts and to a time, which is
its now(), by exclusive creation. A query that was stopped in the middle of a micro-batch goes on with the parts of that
one, and takes what was edited at its next start.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rookery.errors import PipelineError
from rookery.model.storage import create, names_in, path_of, remove_tree
from rookery.model.tables import TRIGGER_COLUMNS, read_subscriptions
from rookery.spark.columns import map_batches
from rookery.spark.compat import need, partition_by
from rookery.spark.crossing import spark_schema, unfold
from rookery.spark.jobs import job_description
from rookery.spark.key_map import HotKey, KeyMap
from rookery.spark.key_rules import BLOB, PART, PartRules, RuleReader, check_unique, rules_frame, spread_rules
from rookery.spark.keys import fit_keys
from rookery.spark.live_rules import KEPT_BATCHES, SWEEP
from rookery.spark.projection import check_read
from rookery.spark.range_sql import quoted
from rookery.spark.rules import OnError, Reading, require_columns, schema_of
from rookery.spark.stream import batch_number
from rookery.spark.subscriptions import FrameRules, Subscriptions
from rookery.spark.versions import VersionLog
from rookery.spark.worker import crossing_schema, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rookery import CompiledSet

log = logging.getLogger("rookery.spark")

__all__ = ["MatchKeyStream", "PartSets", "SaveParts", "match_key_stream"]

_SAVED = "part int, made string, rules bigint, columns array<string>"
#: Sets that this process has proved whole: they are mapped again without.
_PROVED: set[str] = set()


@dataclass(frozen=True, slots=True)
class PartSets:
    """The compiled sets of all parts that have rules, by the names they have in the log."""

    number: int
    fingerprint: str
    parts: KeyMap
    made: dict[int, str]
    columns: tuple[str, ...]
    id_type: str

    def to_json(self) -> str:
        """Return all but the number, which is the file's name."""
        return json.dumps({name: value for name, value in asdict(self).items() if name != "number"})

    @classmethod
    def from_json(cls, number: int, text: str) -> PartSets:
        """Read what `to_json` wrote."""
        known = json.loads(text)
        parts = known["parts"]
        hot = tuple(HotKey(**one) for one in parts["hot"])
        made = {int(part): name for part, name in known["made"].items()}
        return cls(
            number, known["fingerprint"], KeyMap(parts["column"], parts["plain"], hot), made, tuple(known["columns"]),
            known["id_type"],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SaveParts:
    """The task that compiles the rules of its parts and keeps the sets."""

    read: RuleReader
    log: VersionLog

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Compile the parts of the task."""
        held: dict[int, list[bytes]] = {}
        for batch in batches:
            for part, blob in zip(batch[PART].to_pylist(), batch[BLOB].to_pylist(), strict=True):
                held.setdefault(part, []).append(blob)
        for part, blobs in held.items():
            compiled = PartRules(self.read).compiled(blobs)
            made = [part], [self.log.keep(compiled)], [len(compiled)], [compiled.columns]
            kinds = pa.int32(), pa.string(), pa.int64(), pa.list_(pa.string())
            arrays = [pa.array(one, kind) for one, kind in zip(made, kinds, strict=True)]
            yield pa.record_batch(arrays, names=["part", "made", "rules", "columns"])


@dataclass(frozen=True, slots=True)
class MatchKeyStream:
    """The task of a part in a micro-batch."""

    reading: Reading
    log: VersionLog
    sets: PartSets
    output: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match the events of the task against the set of their part."""
        pairs, reading = self.output.remove(len(self.output) - 1), None
        for batch in batches:
            numbers = batch.column(PART).to_numpy(zero_copy_only=False)
            starts = [*np.flatnonzero(np.diff(numbers, prepend=-1)).tolist(), batch.num_rows]
            for start, end in pairwise(starts):
                name = self.sets.made.get(int(numbers[start]))
                if name is None:
                    continue
                reading = reading or self._bound()
                compiled = self._compiled(name)
                part = batch.slice(start, end - start).drop_columns([PART])
                check_read(compiled.columns, part)
                for found in rows(compiled, part, reading, pairs):
                    label = pa.array(np.full(found.num_rows, numbers[start], np.int32))
                    yield pa.record_batch([*found.columns, label], schema=self.output)

    def _bound(self) -> Reading:
        """Bind the micro-batch, or read what it is bound to; now and then forget what is long done."""
        batch = batch_number()
        number, now = self.log.note(batch, self.sets.number, datetime.now(UTC))
        if batch % SWEEP == 0:
            self.log.forget(before=batch - KEPT_BATCHES)
        if number != self.sets.number:
            raise PipelineError(
                f"this micro-batch was begun with parts {number} of the rules, and the query has {self.sets.number}: "
                "start it again"
            )
        return replace(self.reading, now=now)

    def _compiled(self, name: str) -> CompiledSet:
        compiled = self.log.whole(name).load(verify=name not in _PROVED)
        _PROVED.add(name)
        return compiled


def match_key_stream(
    events: DataFrame,
    subscriptions: Subscriptions,
    reading: Reading,
    *,
    checkpoint: str,
    key: str | None = None,
    parts: int | None = None,
    columns: Sequence[str] = (),
    on_error: OnError = "quarantine",
) -> DataFrame:
    """Return the matches of a streaming DataFrame with rules that meet its events by the values of a column."""
    from pyspark.sql.functions import explode

    from rookery.spark.pipeline import arrow_schema

    need((4, 1), "a stream in the plan 'keys'", "use the plan 'broadcast'")
    require_columns(events.columns, event_id=reading.event_id, time=reading.time)
    version_log, arrow = VersionLog(checkpoint), arrow_schema(events)
    version_log.open({"event_id": reading.event_id, "time": reading.time, "topic": reading.topic, "plan": "keys"})
    reader = RuleReader.of(schema_of(arrow), reading, subscriptions, on_error)
    sets = _sets(events, subscriptions, reader, version_log, key=key, parts=parts)
    needed = reading.columns([*sets.columns, *columns], events.columns)
    of_event = sets.parts.of_event(reading.event_id)
    part = explode(of_event) if any(one.columns > 1 for one in sets.parts.hot) else of_event[0]
    sent = events.select(part.alias(PART), *(quoted(name) for name in needed))
    placed = partition_by(sent, sets.parts.parts, PART)
    id_type = pa.int64() if sets.id_type == "int64" else pa.string()
    output = crossing_schema(
        arrow.field(reading.event_id).type, id_type, explain=False, columns=[arrow.field(name) for name in columns]
    ).append(pa.field("zone", pa.int32()))
    task = MatchKeyStream(reading, version_log, sets, output)
    return unfold(map_batches(placed, task, spark_schema(output, events)))


def _sets(
    events: DataFrame, rules: Subscriptions, reader: RuleReader, version_log: VersionLog, *, key: str | None,
    parts: int | None,
) -> PartSets:  # fmt: skip
    """Return the sets of the parts: those of before where the rules are the same, or a micro-batch is open."""
    source = rules.source
    if isinstance(source, FrameRules) and source.table is None:
        raise PipelineError(
            "a stream in the plan 'keys' takes its rules from files or a table: a DataFrame has no sign"
        )
    sign = f"{source.fingerprint()} {key} {parts} {reader.schema.to_dict()} {reader.reading.folded}"
    folder = version_log.folder / "parts"
    folder.mkdir(parents=True, exist_ok=True)
    numbers = sorted(int(one) for one in names_in(folder) if one.isdigit())
    begun = version_log.batches()
    last = version_log.history()[begun[-1]] if begun else None
    is_open = bool(begun) and str(begun[-1]) not in names_in(path_of(version_log.checkpoint) / "commits")
    if numbers:
        number = last if is_open and last is not None else numbers[-1]
        known = PartSets.from_json(number, (folder / str(number)).read_text(encoding="utf-8"))
        if is_open and known.fingerprint != sign:
            log.warning("micro-batch %s is open: the rules of before stay until the next start", begun[-1])
        if is_open or known.fingerprint == sign:
            return known
    made = _compile(events, rules, reader, version_log, 1 + max(numbers, default=0), sign, key=key, parts=parts)
    if not create(folder / str(made.number), made.to_json().encode()):
        raise PipelineError(f"another query has just started with the checkpoint {version_log.checkpoint}")
    for number in numbers:
        (folder / str(number)).unlink(missing_ok=True)
    for name in names_in(version_log.folder / "made"):
        if name not in made.made.values():
            remove_tree(version_log.folder / "made" / name)
    return made


def _compile(
    events: DataFrame, rules: Subscriptions, reader: RuleReader, version_log: VersionLog, number: int, sign: str, *,
    key: str | None, parts: int | None,
) -> PartSets:  # fmt: skip
    """Compile the sets of all parts in tasks."""
    frame = rules_frame(events.sparkSession, rules)
    if any(name in frame.columns for name in TRIGGER_COLUMNS):
        raise PipelineError("rules with triggers have a state by key, which the plan 'keys' has not: use 'broadcast'")
    check_unique(frame)
    key_map, drawn, _ = fit_keys(events, frame, reader, key=key, parts=parts)
    spread = partition_by(spread_rules(frame, reader, key_map), key_map.parts, PART)
    with job_description(events.sparkSession, f"rules compiled in {key_map.parts} parts"):
        saved = spread.mapInArrow(SaveParts(reader, version_log), _SAVED).collect()
    if not sum(row["rules"] for row in saved):
        raise PipelineError("none of the rules compiles, so nothing could match")
    columns = sorted({name for row in saved for name in row["columns"]} | {key_map.column})
    ids = read_subscriptions(drawn.slice(0, 1), id_type=reader.id_type).schema.field("subscription_id").type
    made = {row["part"]: row["made"] for row in saved}
    return PartSets(number, sign, key_map, made, tuple(columns), str(ids))
