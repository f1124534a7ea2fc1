"""What a broker writes to its log: the batches that it promised to keep, by owner and number."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from rookery.brokers.batches import EventBatch
from rookery.machine.disk import Disk
from rookery.machine.log import COMPACT_FROM, RecordLog

__all__ = ["BrokerRecords", "open_records"]

BrokerRecords: TypeAlias = RecordLog[EventBatch]

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(EventBatch).decode


def open_records(disk: Disk, *, compact_from: int = COMPACT_FROM) -> BrokerRecords:
    """Open the log of a broker, or begin one."""
    return RecordLog(disk, encode=_encode, decode=_decode, compact_from=compact_from)
