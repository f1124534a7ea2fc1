"""Whose samples of an instance a reader takes: those of the strongest writer, or the newest ones.

*Exclusive ownership* (DDS 1.4, 2.2.3.9): an instance belongs to the strongest of the writers that have written it and
are there. One that is gone, gives no sign of life, has unregistered the instance or was silent about it for longer than
the reader's deadline does not count. Of equally strong ones the one with the least name has it, at every reader.
*Destination order by source time* (2.2.3.17): a sample that was written before the last one that was taken of its
instance is not taken; of two that were written at once the one of the least name is.

What is not taken is `SampleSuperseded`: its number is done with, and its writer has the instance, but that is all.
Samples are told apart by what they say themselves: writers of two versions of XCDR may name one instance differently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from rookery.participant.instances import instance_name
from rookery.rtps.events import SampleKind, SampleReceived, SampleSuperseded
from rookery.rtps.identity import Guid
from rookery.rtps.qos import DestinationOrder, Ownership, QualityOfService
from rookery.rtps.types import CdrStruct

__all__ = ["Arbitration"]

#: Instances of one reader that are known; the one of which a sample was taken longest ago is forgotten first.
_INSTANCES: Final = 65_536


@dataclass(slots=True)
class _Instance:
    """The last sample that was taken of an instance; `owner` is None where its writer gave the instance up."""

    owner: Guid | None
    heard: int
    written: int
    writer: Guid


@dataclass(slots=True)
class _Reader:
    qos: QualityOfService
    keys: CdrStruct | None
    instances: dict[bytes, _Instance] = field(default_factory=dict)


class Arbitration:
    """The readers of one participant that do not take everything."""

    def __init__(self, *, epoch: int, offer_of: Callable[[Guid], QualityOfService | None]) -> None:
        """Make one; `offer_of` returns the policies of a writer, None for one that is not there."""
        self._epoch = epoch
        self._offer_of = offer_of
        self._readers: dict[Guid, _Reader] = {}

    def begin(self, reader: Guid, qos: QualityOfService, type: CdrStruct | None) -> None:
        """Judge what comes for a reader, if its policies ask for it."""
        if qos.ownership is Ownership.EXCLUSIVE or qos.destination_order is DestinationOrder.BY_SOURCE:
            self._readers[reader] = _Reader(qos, type if type is not None and type.is_keyed else None)

    def forget(self, reader: Guid) -> None:
        """Judge nothing for a reader any more."""
        self._readers.pop(reader, None)

    def judge(self, sample: SampleReceived, now: int) -> SampleReceived | SampleSuperseded:
        """Return what is to be reported of a sample."""
        reader = self._readers.get(sample.reader)
        if reader is None:
            return sample
        name = instance_name(reader.keys, sample.kind, sample.payload) or sample.key_hash or b""
        written = now + self._epoch if sample.timestamp is None else sample.timestamp
        last = reader.instances.pop(name, None)
        if last is not None and not self._is_taken(reader.qos, last, sample.writer, written, now):
            reader.instances[name] = last
            return SampleSuperseded(sample)
        owner = None if sample.kind & SampleKind.UNREGISTERED else sample.writer
        reader.instances[name] = _Instance(owner, now, written, sample.writer)
        if len(reader.instances) > _INSTANCES:
            del reader.instances[next(iter(reader.instances))]
        return sample

    def _is_taken(self, qos: QualityOfService, last: _Instance, writer: Guid, written: int, now: int) -> bool:
        if qos.ownership is Ownership.EXCLUSIVE and not self._is_owner(qos, last, writer, now):
            return False
        if qos.destination_order is DestinationOrder.BY_SOURCE:
            return written > last.written or (written == last.written and writer <= last.writer)
        return True

    def _is_owner(self, qos: QualityOfService, last: _Instance, writer: Guid, now: int) -> bool:
        if last.owner is None or last.owner == writer or now - last.heard > qos.deadline:
            return True
        there, here = self._offer_of(last.owner), self._offer_of(writer)
        if there is None or here is None:
            return there is None
        return (-here.ownership_strength, writer) < (-there.ownership_strength, last.owner)
