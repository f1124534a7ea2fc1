"""Matches back onto DDS: a function for `foreachBatch` that publishes each row of a micro-batch to a topic.

    query = (
        match(events, rules, event_id="_offset", checkpoint="state/")
        .writeStream.foreachBatch(publish_to("matches", domain_id=0))
        .option("checkpointLocation", "state/")
        .start()
    )

The driver is one DDS participant with one writer for as long as the function lives. A micro-batch is done when every
reliable reader has acknowledged every row; if that does not happen in time the batch fails, and Spark's replay sends it
again. Delivery is at least once: a driver that is killed between sending and Spark's own note sends the whole
micro-batch again, as a new DDS writer. So each sample carries the number of its micro-batch: numbers never go down, and
only the last one a reader has seen can come again. A reader that remembers the rows of that one drops every repeat.

DDS has no NULL: a row that holds one is an error. Rows pass through the driver, a piece of the micro-batch at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from rookery.errors import SinkError
from rookery.model import Schema
from rookery.spark.types import arrow_schema_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rookery.live.client import Client
    from rookery.live.dds import DdsOptions
    from rookery.live.plain import PlainClient

__all__ = ["Publication", "publish_to"]

BATCH = "batch_id"
_PIECE = 1_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def publish_to(
    topic: str,
    *,
    domain_id: int = 0,
    type_name: str | None = None,
    key: Iterable[str] = (),
    transient_local: bool = False,
    readers: int = 1,
    seconds: float = 30.0,
    options: DdsOptions | None = None,
) -> Publication:
    """Return a function for `foreachBatch` that publishes the rows of each micro-batch to a DDS topic.

    The sample has the columns of the rows and `batch_id`. A micro-batch waits for so many `readers` before its first
    row, and for their acknowledgments after its last; either takes at most so many `seconds`. With `transient_local`
    readers that come later get what was written since the driver started. `options` are those of
    `rookery.open`.
    """
    return Publication(
        topic,
        type_name=type_name or topic,
        key=tuple(key),
        transient_local=transient_local,
        readers=readers,
        seconds=seconds,
        domain_id=domain_id,
        options=options,
    )


class Publication:
    """A DDS writer in the driver; call it with each micro-batch. It joins the domain at the first one."""

    def __init__(
        self,
        topic: str,
        *,
        type_name: str,
        key: tuple[str, ...],
        transient_local: bool,
        readers: int,
        seconds: float,
        domain_id: int,
        options: DdsOptions | None,
    ) -> None:
        self.topic = topic
        self._type_name = type_name
        self._key = key
        self._transient_local = transient_local
        self._readers = readers
        self._seconds = seconds
        self._domain_id = domain_id
        self._options = options
        self._schema: Schema | None = None
        self._client: PlainClient

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Publish one micro-batch, and wait until the readers have it."""
        schema, moments = self._schema_of(rows)
        try:
            if self._schema is None:
                self._start(schema)
            elif schema != self._schema:
                raise SinkError(f"the rows for {self.topic!r} have other columns than before: {list(schema)}")
            client = self._client
            client.run(lambda one: one.dds.wait_for_readers(self.topic, count=self._readers, seconds=self._seconds))
            events = self._events(rows, moments, batch_id)
            while piece := list(islice(events, _PIECE)):
                client.run(lambda one, piece=piece: self._send(one, piece))  # type: ignore[misc]
            client.flush(self.topic, seconds=self._seconds)
        except TimeoutError:
            raise SinkError(
                f"the readers of {self.topic!r} did not take micro-batch {batch_id} within {self._seconds} s (wanted: "
                f"{self._readers} of them): start them, give them more time, or publish without any (readers=0)"
            ) from None

    def close(self) -> None:
        """Leave the domain."""
        if self._schema is not None:
            self._schema = None
            self._client.close()

    def _start(self, schema: Schema) -> None:
        from rookery.live.dds import DdsOptions
        from rookery.live.opening import open as open_client
        from rookery.live.transport import DdsWriterOptions

        options = self._options or DdsOptions()
        options = replace(options, name=options.name or "rookery stream")
        self._client = open_client(f"dds://{self._domain_id}", options).plain()
        writer = DdsWriterOptions(type_name=self._type_name, key=self._key, transient_local=self._transient_local)
        self._client.advertise(self.topic, schema=schema, dds=writer)
        self._schema = schema

    async def _send(self, client: Client, events: list[dict[str, Any]]) -> None:
        async with asyncio.timeout(self._seconds):  # the readers may be slower than we are
            await client.publish_many(self.topic, events)

    def _schema_of(self, rows: DataFrame) -> tuple[Schema, tuple[str, ...]]:
        import pyarrow as pa

        arrow = arrow_schema_of(rows.schema)
        if BATCH in arrow.names:
            raise SinkError(f"the rows have a column {BATCH!r} already: rename it, the sample needs that name")
        moments = tuple(column.name for column in arrow if pa.types.is_timestamp(column.type))
        return Schema.from_arrow(arrow.append(pa.field(BATCH, pa.int64()))), moments

    def _events(self, rows: DataFrame, moments: tuple[str, ...], batch_id: int) -> Iterator[dict[str, Any]]:
        from pyspark.sql import functions

        # Spark gives instants to Python in the machine's own time zone; a number has none.
        plain = rows.withColumns({name: functions.unix_micros(name) for name in moments})
        for row in plain.toLocalIterator():
            event = row.asDict(recursive=True)
            empty = [name for name, value in event.items() if value is None]
            if empty:
                raise SinkError(f"{empty[0]!r} is NULL in a row for {self.topic!r}, and DDS has no NULL: give a value")
            for name in moments:
                event[name] = _EPOCH + timedelta(microseconds=event[name])
            yield {**event, BATCH: batch_id}
