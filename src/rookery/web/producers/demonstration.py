"""The demonstration of the pipeline, recorded: its rules, its batches, the zones of its job, examples and the ledger.

An example is every hundredth event, with the count of its matches as Spark found them; the page can explain each of
them by the rules that were recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from rookery.web import records
from rookery.web.producers.live_brokers import watch_brokers
from rookery.web.producers.streams import record_skew, watch_stream
from rookery.web.recorder import Recorder
from rookery.web.records import name

__all__ = ["RecordedDemonstration"]

#: One event in so many is recorded.
EXAMPLE = 100
#: The column of the event's time: some limits are dated.
TIME = "ts"


class RecordedDemonstration:
    """Satisfies `spark.demonstration.Observer`."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._rules: dict[tuple[Any, int], dict[str, Any]] = {}
        self._finish: Callable[[], None] = lambda: None

    def say(self, line: str) -> None:
        """Record a line that was told to the user."""
        self._recorder.write(records.NoteRecord(at=self._recorder.clock(), text=line))

    def discovered(self, octets: Mapping[str, int]) -> None:
        """Record what finding each other has cost under each protocol."""
        at = self._recorder.clock()
        for protocol, cost in octets.items():
            self._recorder.write(records.TrafficRecord(at=at, protocol=name(protocol), octets=cost))

    async def brokers(self, entry: str) -> None:
        """Record the zones of the live brokers until cancelled."""
        await watch_brokers(self._recorder, entry=entry)

    def began(self, events: Any, rules: Any) -> None:
        """Record schema and rules, and measure the zones of the job."""
        from rookery.model import Schema
        from rookery.spark.pipeline import arrow_schema

        schema = Schema.from_arrow(arrow_schema(events))
        self._recorder.write(records.SchemaRecord(at=self._recorder.clock(), attributes=schema.to_dict()))
        self.edited(rules)
        record_skew(self._recorder, events, rules, name="batch", time=TIME)

    def edited(self, rules: Any) -> None:
        """Record the rules that are new, other than before, or gone."""
        at = self._recorder.clock()
        now = {(row["subscription_id"], row["version"]): row for row in rules.to_pylist()}
        for key in self._rules.keys() - now.keys():
            old = self._rules[key]
            self._recorder.write(
                records.SubscriptionRecord(at=at, id=key[0], where=old["where"], version=key[1], gone=True)
            )
        for key, row in now.items():
            if self._rules.get(key) != row:
                dates = {name: row[name].isoformat() for name in ("valid_from", "valid_to") if row.get(name)}
                self._recorder.write(
                    records.SubscriptionRecord(at=at, id=key[0], where=row["where"], version=key[1], **dates)
                )
        self._rules = now

    def streaming(self, query: Any, checkpoint: str) -> None:
        """Follow the batches of the stream."""
        self._finish = watch_stream(self._recorder, query, checkpoint)

    def found(self, source: str, events: Any, pairs: Any, *, expected: int, missed: int, extra: int) -> None:
        """Record examples and the ledger of one run."""
        self._finish()
        self._finish = lambda: None
        at = self._recorder.clock()
        wanted = Counter(pairs[:, 0].tolist())
        for row in events.to_pylist()[::EXAMPLE] if source.endswith("stream") else ():
            time = row[TIME].isoformat()
            self._recorder.write(
                records.EventRecord(
                    at=at,
                    id=str(row["event_id"]),
                    time=time,
                    matched=wanted[row["event_id"]],
                    values={**row, TIME: time},
                )
            )
        delivered = len(pairs) - extra
        self._recorder.write(
            records.LedgerRecord(
                at=at,
                source=source,
                published=events.num_rows,
                expected=expected,
                delivered=delivered,
                missed=missed,
                extra=extra,
            )
        )
