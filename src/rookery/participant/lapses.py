"""What has come too late: instances whose deadline passed, samples whose life is over.

*Deadline* (DDS 1.4, 2.2.3.7): an endpoint that promised or expects a sample of each instance so often reports each
period in which none was written or came. The first sample of an instance begins the watch, its end ends it.
*Lifespan* (2.2.3.16): a writer lets go of samples that are older than it said, and a reader that asks for one of them
is told that it will not come.

An endpoint has one timer: with one period for all, instances fall due in the order in which they were last heard of.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Final

from rookery.participant.instances import instance_name
from rookery.rtps.context import ParticipantContext
from rookery.rtps.events import DeadlineMissed, SampleKind
from rookery.rtps.history import History
from rookery.rtps.identity import Guid
from rookery.rtps.qos import INFINITE, QualityOfService
from rookery.rtps.types import CdrStruct

__all__ = ["Lapses"]

#: Instances of one endpoint that are watched; the one that was heard of longest ago is forgotten first.
_INSTANCES: Final = 65_536


@dataclass(slots=True)
class _Watched:
    period: int
    #: How instances are told apart where a sample does not name its own; None for a topic without keys.
    keys: CdrStruct | None
    due: dict[bytes, int] = field(default_factory=dict)


class Lapses:
    """The deadlines and lifespans of one participant's endpoints."""

    def __init__(self, context: ParticipantContext, *, epoch: int) -> None:
        self._context = context
        #: What to add to a time here for the time of a sample.
        self._epoch = epoch
        self._watched: dict[Guid, _Watched] = {}
        self._lifespans: dict[Guid, tuple[int, History]] = {}

    def begin(
        self, endpoint: Guid, qos: QualityOfService, type: CdrStruct | None, history: History | None = None
    ) -> None:
        """Watch an endpoint, as far as its policies ask for it; a writer comes with its history."""
        if qos.deadline < INFINITE:
            self._watched[endpoint] = _Watched(qos.deadline, type if type is not None and type.is_keyed else None)
        if history is not None and qos.lifespan < INFINITE:
            self._lifespans[endpoint] = (qos.lifespan, history)

    def forget(self, endpoint: Guid) -> None:
        """Watch an endpoint no more."""
        self._watched.pop(endpoint, None)
        self._lifespans.pop(endpoint, None)
        self._context.deadlines.cancel(("deadline", endpoint))
        self._context.deadlines.cancel(("lifespan", endpoint))

    def watches(self, endpoint: Guid) -> bool:
        """Say whether an endpoint's samples are to be told of."""
        return endpoint in self._watched or endpoint in self._lifespans

    def sample(self, endpoint: Guid, kind: SampleKind, instance: bytes, payload: bytes, now: int) -> None:
        """Note that an endpoint has written or received a sample, or the end of an instance."""
        watched = self._watched.get(endpoint)
        if watched is not None:
            name = instance or instance_name(watched.keys, kind, payload)
            watched.due.pop(name, None)
            if kind is SampleKind.ALIVE:
                watched.due[name] = now + watched.period
                if len(watched.due) > _INSTANCES:
                    del watched.due[next(iter(watched.due))]
            self._arm_deadline(endpoint, watched)
        if endpoint in self._lifespans:
            lifespan = self._lifespans[endpoint][0]
            self._context.deadlines.arm_sooner(("lifespan", endpoint), now + lifespan, partial(self._expire, endpoint))

    def _arm_deadline(self, endpoint: Guid, watched: _Watched) -> None:
        first = next(iter(watched.due.values()), None)
        if first is None:
            self._context.deadlines.cancel(("deadline", endpoint))
        else:
            self._context.deadlines.arm(("deadline", endpoint), first, partial(self._missed, endpoint))

    def _missed(self, endpoint: Guid, now: int) -> None:
        watched = self._watched.get(endpoint)
        if watched is None:
            return
        for instance, due in list(watched.due.items()):
            if due > now:
                break
            self._context.report(DeadlineMissed(endpoint, instance))
            del watched.due[instance]
            watched.due[instance] = max(due + watched.period, now + 1)
        self._arm_deadline(endpoint, watched)

    def _expire(self, endpoint: Guid, now: int) -> None:
        found = self._lifespans.get(endpoint)
        if found is None:
            return
        lifespan, history = found
        oldest = history.expire(now + self._epoch - lifespan)
        if oldest is not None:
            due = oldest - self._epoch + lifespan
            self._context.deadlines.arm(("lifespan", endpoint), due, partial(self._expire, endpoint))
