"""The oracle: every event against every subscription, one tree at a time.

It shares the parser, the type check and the reading of one value with the rest, and nothing else: no boxes, no codes,
no index, no columns (a batch is its rows, one by one), its own rule for topics and dates, written as the specification
says it. Everything faster must equal it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rookery.errors import DuplicateSubscriptionError, EventError, SubscriptionError, UnknownSubscriptionError
from rookery.matching.output import check_request
from rookery.matching.records import records_to_table
from rookery.model.batches import Batch, Events, batch_of, event_ids
from rookery.model.check import Checker, Parameters, checking
from rookery.model.evaluate import Condition, condition
from rookery.model.event_columns import python_values
from rookery.model.events import check_on_error, plain_value, read_value, shown_value
from rookery.model.expressions import NOW_PATH, Literal, Timestamp, value_text
from rookery.model.instants import instant_of
from rookery.model.parser import parse
from rookery.model.schema import Schema
from rookery.model.shapes import refuse_wall_time
from rookery.model.subscriptions import Record, make_record
from rookery.model.tables import checked_subscriptions, read_subscriptions

if TYPE_CHECKING:
    from rookery.matching.compiled import CompiledSet
    from rookery.matching.explain import Explanation
    from rookery.matching.matcher import Matcher

__all__ = ["ScanMatcher"]

Path = tuple[str | int, ...]
#: The versions of one id: of each its record, and its condition.
Versions = dict[int, tuple[Record, Condition]]


class ScanMatcher:
    """The same interface as `Matcher`, with dicts and loops.

    An edit puts new dicts in place of those that it changes, and who matches takes a copy of the outermost first, so
    one may edit while others match.
    """

    engine = "scan"

    def __init__(self, schema: Schema, *, on_error: str = "raise", wall_time: bool = True) -> None:
        self.schema = schema
        self._wall_time = wall_time
        self.quarantined: list[SubscriptionError] = []
        self._on_error = on_error
        self._versions: dict[str | int, Versions] = {}
        self._paths: dict[str, list[Path]] = {}  # by condition

    def __len__(self) -> int:
        return sum(map(len, list(self._versions.values())))

    def __contains__(self, subscription_id: object) -> bool:
        return subscription_id in self._versions

    @property
    def nbytes(self) -> int:
        return sum(
            len(record.where or "") + 200 for versions in self._versions.values() for record, _ in versions.values()
        )

    def add(self, subscription_id: str | int, where: str = "", **details: Any) -> None:
        try:
            record = make_record(subscription_id, where, **details)
            self._enter(self._versions, record)
        except SubscriptionError as error:
            if self._on_error == "raise":
                raise
            self.quarantined.append(error)

    def _enter(self, held: dict[str | int, Versions], record: Record, *, replacing: bool = False) -> None:
        versions = held.get(record.subscription_id, {})
        if record.version in versions and not replacing:
            raise DuplicateSubscriptionError("in the set already", subscription_id=record.subscription_id)
        if held and type(record.subscription_id) is not type(next(iter(held))):
            raise SubscriptionError("ids are of one type", subscription_id=record.subscription_id)
        entry = (record, self._compile(record))
        held[record.subscription_id] = {record.version: entry} if replacing else {**versions, record.version: entry}

    def _compile(self, record: Record) -> Condition:
        where = record.where or ""
        try:
            expression = parse(where)
            if not self._wall_time:
                refuse_wall_time(where, expression)
            decide = checking(where, expression, lambda tree: condition(tree, self.schema, record.parameters))
        except SubscriptionError as error:
            error.subscription_id = record.subscription_id
            raise
        self._paths[where] = [one.path for one in Checker(self.schema, record.parameters).reads(expression)]
        return decide

    def add_many(self, table: Any) -> int:
        held = dict(self._versions)
        count, faults = 0, []
        for record in checked_subscriptions(read_subscriptions(table)):
            try:
                if isinstance(record, SubscriptionError):
                    raise record
                self._enter(held, record)
                count += 1
            except SubscriptionError as error:
                faults.append(error)
        if faults and self._on_error == "raise":
            raise faults[0]
        self.quarantined += faults
        self._versions = held
        return count

    def replace(
        self, subscription_id: str | int, where: str = "", *, version: int | None = None, **details: Any
    ) -> None:
        if version is None:
            version = max(self._known(subscription_id)) + 1
        record = make_record(subscription_id, where, version=version, **details)
        self._enter(self._versions, record, replacing=True)

    def set_parameters(self, subscription_id: str | int, parameters: Parameters, *, version: int | None = None) -> None:
        versions = self._known(subscription_id)
        wanted = max(versions) if version is None else version
        if wanted not in versions:
            raise UnknownSubscriptionError(f"subscription {subscription_id!r} has no version {version}")
        old = versions[wanted][0]
        values = make_record(subscription_id, old.where, parameters=parameters).parameters
        record = Record(
            old.subscription_id, old.where, old.topic, values, old.subscriber, old.version, old.valid_from, old.valid_to
        )
        self._versions[subscription_id] = {**versions, wanted: (record, self._compile(record))}

    def remove(self, subscription_id: str | int, *, version: int | None = None) -> None:
        versions = self._known(subscription_id)
        if version is not None and version not in versions:
            raise UnknownSubscriptionError(f"subscription {subscription_id!r} has no version {version}")
        if version is None or len(versions) == 1:
            del self._versions[subscription_id]
        else:
            left = {one: entry for one, entry in versions.items() if one != version}
            self._versions[subscription_id] = left

    def _known(self, subscription_id: str | int) -> Versions:
        found = self._versions.get(subscription_id)
        if found is None:
            raise UnknownSubscriptionError(f"no subscription {subscription_id!r} is in the set")
        return found

    def add_boxes(
        self,
        subscription_id: Any,
        *,
        equals: Mapping[str, Any] | None = None,
        lower: Mapping[str, Any] | None = None,
        upper: Mapping[str, Any] | None = None,
        topic: str | None = None,
    ) -> int:
        """Add boxes as the texts that they stand for."""
        ids = pa.array(subscription_id).to_pylist()
        signs = (("=", equals or {}), (">=", lower or {}), ("<=", upper or {}))
        columns = [
            (name, sign, pa.array(values).to_pylist()) for sign, given in signs for name, values in given.items()
        ]
        texts = [
            " AND ".join(
                f"{name} {sign} {_literal(values[row])}" for name, sign, values in columns if values[row] is not None
            )
            for row in range(len(ids))
        ]
        return self.add_many(
            pa.table({"subscription_id": ids, "where": texts, "topic": pa.array([topic] * len(ids), pa.string())})
        )

    def _twin(self, held: Iterable[Versions]) -> Matcher:
        """Return a matcher of another engine with some of the subscriptions: for what is no part of an oracle."""
        from rookery.matching.bitmap.engine import BitmapEngine
        from rookery.matching.matcher import Matcher

        twin = Matcher(self.schema, BitmapEngine)
        records = [record for versions in held for record, _ in versions.values()]
        twin.add_many(records_to_table(records, None))
        return twin

    def explain(
        self,
        subscription_id: str | int,
        event: Mapping[str, Any],
        *,
        topic: str | None = None,
        on_error: str = "raise",
        now: object = None,
        **details: Any,
    ) -> Explanation:
        """Say why an event does or does not match a subscription."""
        check_on_error(on_error)
        still = self._still()
        twin = still._twin([still._known(subscription_id)])
        topic = still._event_topic(event, topic, on_error)  # by the whole set's topics, which the twin does not know
        return twin.explain(subscription_id, event, topic=topic, on_error=on_error, now=now, **details)

    def compile(self) -> CompiledSet:
        """Return the set as it stands, immutable."""
        return self._twin(list(self._versions.values())).compile()

    def _still(self) -> ScanMatcher:
        """Return the set as it stands, which no edit changes."""
        still = ScanMatcher(self.schema)
        still._versions, still._paths = dict(self._versions), self._paths
        return still

    # ---- matching ------------------------------------------------------------------------------------------------

    def match(
        self,
        event: Mapping[str, Any],
        *,
        topic: str | None = None,
        time: object = None,
        on_error: str = "raise",
        now: object = None,
    ) -> list[str | int]:
        check_on_error(on_error)
        still = self._still()
        event = still._at(event, now)
        still._require_time(time is not None)
        at = _microseconds(time, on_error) if still._dated() else None
        return [one for one, _ in still._judge(event, topic, at, on_error)]

    def match_numbers(
        self, events: Events, *, missing: str = "error"
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return the pairs of a batch by row and id, of a set whose ids are numbers."""
        still = self._still()
        still._require_time(False)
        found = [
            (row, int(one))
            for row, event in enumerate(still._rows(batch_of(events), missing))
            for one, _ in still._judge(event, None, None, "raise")
        ]
        return np.array([row for row, _ in found], np.int64), np.array([one for _, one in found], np.int64)

    def match_many(
        self,
        events: Events,
        *,
        event_id: str = "event_id",
        time: str | None = None,
        topic: str | None = None,
        as_of: object = None,
        missing: str = "error",
        on_error: str = "raise",
        now: object = None,
    ) -> pa.Table:
        batch = batch_of(events)
        if now is not None:
            batch = batch.at(now)
        check_request(batch, event_id=event_id, missing=missing, on_error=on_error)
        still = self._still()
        still._require_time(time is not None or as_of is not None)
        rows = still._rows(batch, missing)
        if not rows and "topic" not in batch and batch.lacking("topic") is None:
            still._topic(topic)
        at: list[int | None] = [None] * len(rows)
        if as_of is not None:
            at = [_microseconds(as_of, "raise")] * len(rows)
        elif time is not None and still._dated():
            at = [_microseconds(one, on_error) for one in _raw(batch, time)]
        found = [
            (index, one, version)
            for index, event in enumerate(rows)
            for one, version in still._judge(event, topic, at[index], on_error)
        ]
        ids: list[Any] = [one for _, one, _ in found]
        id_type = pa.int64() if still._versions and isinstance(next(iter(still._versions)), int) else pa.string()
        return pa.table(
            {
                "event_id": event_ids(batch, event_id, pa.array([index for index, _, _ in found], pa.int64())),
                "subscription_id": pa.array(ids, id_type),
                "version": pa.array([version for _, _, version in found], pa.int64()),
            }
        )

    def _at(self, event: Mapping[str, Any], now: object) -> Mapping[str, Any]:
        """Return an event with the time that now() is, where a condition asks for it."""
        if NOW_PATH not in self._named() or (now is None and NOW_PATH[0] in event):
            return event
        if now is None:
            raise EventError("a condition asks for now(); give now=")
        return {**event, NOW_PATH[0]: Timestamp(instant_of(now))}

    def _rows(self, batch: Batch, missing: str) -> list[dict[str, Any]]:
        """Return a batch as dict events of what the subscriptions name."""
        if NOW_PATH in self._named() and NOW_PATH[0] not in batch:
            raise EventError("a condition asks for now(); give now=")
        rows: list[dict[str, Any]] = [{} for _ in range(batch.num_rows)]
        for path in self._named():
            if missing == "error" or path[0] in batch:
                _require_parts(path, batch.column(str(path[0])), missing)
        for name in {str(path[0]) for path in self._named()} | {"topic"}:
            if name in batch:
                lacking = batch.lacking(name)
                for index, value in enumerate(_raw(batch, name)):
                    if lacking is None or not lacking[index]:
                        rows[index][name] = value
        return rows

    def _named(self) -> dict[Path, None]:
        """Return the paths that the conditions name."""
        texts = {record.where or "": None for versions in self._versions.values() for record, _ in versions.values()}
        return {path: None for text in texts for path in self._paths[text]}

    def _judge(
        self, event: Mapping[str, Any], topic: str | None, at: int | None, on_error: str
    ) -> list[tuple[str | int, int]]:
        row = {path: read_value(event, self.schema.attribute(path), on_error) for path in self._named()}
        return self._decide(row, self._event_topic(event, topic, on_error), at)

    def _event_topic(self, event: Mapping[str, Any], topic: str | None, on_error: str) -> str | None:
        if topic is not None or not self._topics() or "topic" not in event:
            return self._topic(topic)
        own = plain_value(event["topic"])
        if own is None or isinstance(own, str):
            return own
        if on_error == "null":
            return None
        raise EventError(f"topic is a string, and the event has {shown_value(own)}")

    def _decide(self, row: Mapping[Path, Any], topic: str | None, at: int | None) -> list[tuple[str | int, int]]:
        found: list[tuple[str | int, int]] = []
        for subscription_id, versions in self._versions.items():
            version = _in_effect([record for record, _ in versions.values()], at)
            if version is None:
                continue
            record, decide = versions[version]
            if (record.topic is None or record.topic == topic) and decide(row) is True:
                found.append((subscription_id, version))
        return found

    def _topics(self) -> set[str]:
        return {
            record.topic
            for versions in self._versions.values()
            for record, _ in versions.values()
            if record.topic is not None
        }

    def _topic(self, topic: str | None) -> str | None:
        topics = self._topics()
        if topic is not None and not isinstance(topic, str):
            raise EventError(f"topic is a string, and the event has {shown_value(topic)}")
        if topic is None and len(topics) > 1:
            raise EventError(f"the set has {len(topics)} topics, and the events name none")
        return topic if topic is not None or not topics else next(iter(topics))

    def _dated(self) -> bool:
        return any(record.dated for versions in self._versions.values() for record, _ in versions.values())

    def _require_time(self, given: bool) -> None:
        if not given and self._dated():
            raise EventError("subscriptions have effective dates, and the events have no time")


def _literal(value: Any) -> str:
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat()}'"
    return value_text(Literal(Decimal(repr(value)) if isinstance(value, float) else value))


def _in_effect(versions: list[Record], at: int | None) -> int | None:
    """Return the version that decides at a time: the highest with valid_from ≤ t < valid_to."""
    ordered = sorted(versions, key=lambda record: record.version)
    for place in range(len(ordered) - 1, -1, -1):
        record = ordered[place]
        begin, end = record.valid_from, record.valid_to
        if end is None and place + 1 < len(ordered):
            end = ordered[place + 1].valid_from
            if end is None:
                continue  # the next version holds since it was seen
        if at is None:
            if begin is None and end is None:
                return record.version
            return None  # only a version without any date can judge an event without a time
        if (begin is None or begin <= at) and (end is None or at < end):
            return record.version
    return None


def _microseconds(value: Any, on_error: str) -> int | None:
    """Return the time of an event in whole microseconds, rounded down, None for NULL."""
    value = plain_value(value)
    if value is None:
        return None
    try:
        microseconds = instant_of(value) // 1_000
        if abs(microseconds) < 1 << 63:
            return microseconds
    except (TypeError, ValueError):
        pass
    if on_error == "null":
        return None
    raise EventError(f"the time is wrong: {value!r}")


def _raw(batch: Batch, name: str) -> list[Any]:
    column = batch.column(name)
    return column if isinstance(column, list) else python_values(column)


def _require_parts(path: Path, column: Any, missing: str) -> None:
    """Refuse a struct column without the field that a path names, unless what is missing is NULL."""
    kind = None if isinstance(column, list) else column.type
    for step in path[1:]:
        while isinstance(kind, pa.BaseExtensionType | pa.DictionaryType | pa.RunEndEncodedType):
            kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind.value_type
        if isinstance(kind, pa.StructType) and isinstance(step, str):
            if kind.names.count(step) != 1 and missing == "error":
                raise EventError(f"the events have no {step!r} in {path[0]}")
            kind = kind.field(step).type if step in kind.names else None
        else:
            kind = getattr(kind, "value_type", None)
