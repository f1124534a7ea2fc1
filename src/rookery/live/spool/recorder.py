"""From a DDS topic into a spool: join as a reader, gather, make durable, and only then acknowledge.

The reader acknowledges to the DDS writer what the disk has, not what has arrived. So a reliable writer holds every
sample until it is safe here, and a writer that is faster than the disk is held up by its own history, not by our
memory: at most one group is being written while one more gathers, and when that is full too nothing is read from the
network until the disk has caught up.

Groups: records wait for others to come along (`gather_seconds`), up to a number and a size. A sample that the filter
does not want, that cannot be read, or that only ends an instance is counted and acknowledged with its group. A spool
with endings records ends too, whatever the filter: an end has keys alone, which say nothing of what is wanted.

After a crash the spool knows the last number that counts of every writer, and goes on behind it: what a transient-local
writer still has is asked for from there, and nothing is recorded twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from rookery.errors import WireFormatError
from rookery.live.lapses import warn_of_lapse
from rookery.live.spool.folder import ALIVE, STATE
from rookery.live.spool.writer import SpoolWriter
from rookery.live.udp import UdpParticipant
from rookery.matching import matcher
from rookery.participant.event_types import EventType
from rookery.participant.exchange import warm
from rookery.rtps.events import (
    DeadlineMissed,
    EndpointMatched,
    EndpointUnmatched,
    Event,
    LivelinessChanged,
    SampleKind,
    SampleReceived,
    SampleSuperseded,
)
from rookery.rtps.identity import Guid, guid_from_text
from rookery.rtps.qos import QualityOfService

__all__ = ["Counts", "Grouping", "SpoolRecorder"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Grouping:
    """How records are gathered into groups that become durable together."""

    seconds: float = 0.02
    """How long the first one waits for others."""
    records: int = 10_000
    size_bytes: int = 4 << 20
    """Octets of the samples, as they came."""


@dataclass(slots=True)
class Counts:
    """What happened to the samples since the recorder began."""

    recorded: int = 0
    unwanted: int = 0
    """Those that the filter does not want."""
    unreadable: int = 0
    endings: int = 0
    """Ends of instances, which carry no event; recorded by a spool with endings."""
    groups: int = 0
    superseded: int = 0
    """Those of instances that a stronger writer has, where they belong to the strongest."""


@dataclass(slots=True)
class _Group:
    rows: list[dict[str, Any]] = field(default_factory=list)
    size_bytes: int = 0
    last: dict[Guid, int] = field(default_factory=dict)


class SpoolRecorder:
    """One reader of a topic, and the spool that it fills. Give `on_event` to the participant, then call `start`."""

    def __init__(
        self,
        spool: SpoolWriter,
        type: EventType,
        *,
        qos: QualityOfService,
        where: str | None = None,
        grouping: Grouping | None = None,
    ) -> None:
        self.counts = Counts()
        self.matched: set[Guid] = set()
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._spool = spool
        self._type = type
        self._qos = qos
        self._grouping = grouping or Grouping()
        self._filter: Any = None
        if where is not None:
            self._filter = matcher(type.schema, wall_time=False)
            self._filter.add(1, where)
        self._loop = asyncio.get_running_loop()
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="spool")
        self._reader: Guid | None = None
        self._gathering = _Group()
        self._writing: tuple[_Group, Future[range]] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def warm(self) -> None:
        """Load what the first records need, before anyone can see us and wait: seconds on a busy machine."""
        pa.RecordBatch.from_pylist([], schema=self._spool.schema)
        pa.array([0])  # this imports pandas, where there is one
        if self._filter is not None:
            warm()

    def start(self, udp: UdpParticipant) -> None:
        """Begin to read, behind what counts already."""
        self._udp = udp
        kept = {guid_from_text(text): number for text, number in self._spool.writers.items()}
        description = self._spool.description
        self._reader = udp.participant.create_reader(
            description.topic,
            description.type_name,
            self._type.requested(self._qos),
            keyed=self._type.is_keyed,
            now=udp.now(),
            type=self._type.struct,
            acknowledge_when_kept=True,
            kept=kept,
        )
        udp.flush()

    def on_event(self, event: Event) -> None:
        """Take what the participant tells."""
        match event:
            case SampleReceived(reader=reader) if reader == self._reader:
                self._gather(event)
            case SampleSuperseded(sample) if sample.reader == self._reader:
                self.counts.superseded += 1
                self._gather(sample, counts=False)
            case EndpointMatched(local, remote) if local == self._reader:
                self.matched.add(remote)
            case EndpointUnmatched(local, remote) if local == self._reader:
                self.matched.discard(remote)
            case DeadlineMissed() | LivelinessChanged():
                warn_of_lapse(event, self._spool.description.topic)

    async def finish(self) -> None:
        """Make durable and acknowledge what has come, and stop."""
        self._stop_timer()
        while not self.failed.done() and (self._writing is not None or self._gathering.last):
            self._catch_up()
            self._commit()
        self._disk.shutdown()
        if self.failed.done():
            await self.failed

    def _gather(self, sample: SampleReceived, *, counts: bool = True) -> None:
        """Take a sample into the group; one that does not count is acknowledged with it, and that is all."""
        group = self._gathering
        group.last[sample.writer] = sample.sequence
        row = self._row(sample) if counts else None
        if row is not None:
            group.rows.append(row)
            group.size_bytes += len(sample.payload)
        if len(group.rows) >= self._grouping.records or group.size_bytes >= self._grouping.size_bytes:
            self._catch_up()
            self._commit()
        elif self._timer is None and self._writing is None:
            self._timer = self._loop.call_later(self._grouping.seconds, self._commit)

    def _row(self, sample: SampleReceived) -> dict[str, Any] | None:
        is_alive, with_endings = sample.kind is SampleKind.ALIVE, self._spool.description.endings
        self.counts.endings += not is_alive
        if not is_alive and not with_endings:
            return None
        try:
            event = (self._type.decode if is_alive else self._type.decode_key)(sample.payload)
        except WireFormatError:  # an end may also name its instance by a hash alone
            self.counts.unreadable += 1
            return None
        if is_alive and self._filter is not None and not self._filter.match(event):
            self.counts.unwanted += 1
            return None
        if with_endings:
            ended = "disposed" if sample.kind & SampleKind.DISPOSED else "unregistered"
            event = {STATE.name: ALIVE if is_alive else ended, **event}
        written = None if sample.timestamp is None else _EPOCH + timedelta(microseconds=sample.timestamp)
        return {"_writer": str(sample.writer), "_sequence": sample.sequence, "_written": written, **event}

    # What becomes durable. At most one group is with the disk at a time.

    def _commit(self) -> None:
        self._stop_timer()
        if self._writing is not None or self.failed.done() or not self._gathering.last:
            return
        group, self._gathering = self._gathering, _Group()
        if not group.rows:
            self._acknowledge(group.last)
            return
        future = self._disk.submit(self._append, group)
        self._writing = (group, future)
        future.add_done_callback(lambda _: self._loop.call_soon_threadsafe(self._when_written, future))

    def _append(self, group: _Group) -> range:
        batch = pa.RecordBatch.from_pylist(group.rows, schema=self._spool.schema)
        return self._spool.append(batch, {str(guid): number for guid, number in group.last.items()})

    def _catch_up(self) -> None:
        """Wait for the disk; meanwhile nothing is read from the network, which is what bounds our memory."""
        if self._writing is not None:
            future = self._writing[1]
            future.exception()
            self._when_written(future)

    def _when_written(self, future: Future[range]) -> None:
        if self._writing is None or self._writing[1] is not future:
            return  # somebody has waited for it
        group, self._writing = self._writing[0], None
        error = future.exception()
        if error is not None:
            if not self.failed.done():
                self.failed.set_exception(error)
            return
        self.counts.recorded += len(group.rows)
        self.counts.groups += 1
        self._acknowledge(group.last)
        if self._gathering.last and self._timer is None:
            self._timer = self._loop.call_later(self._grouping.seconds, self._commit)

    def _acknowledge(self, last: Mapping[Guid, int]) -> None:
        assert self._reader is not None  # samples come from it alone
        for writer, number in last.items():
            self._udp.participant.keep(self._reader, writer, through=number, now=self._udp.now())
        # Not from inside the participant's own round of events: it may be in the midst of one.
        self._loop.call_soon(self._udp.flush)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
