"""The slow twin of `rookery.gateway.conditions`: a decoder and a matcher for each site."""

from __future__ import annotations

from typing import Any

from rookery.errors import RookeryError, WireFormatError
from rookery.gateway.messages import Forwarded, Want
from rookery.matching import matcher
from rookery.participant.event_types import EventType, event_type
from rookery.rtps.events import SampleKind

__all__ = ["SiteCondition"]


class SiteCondition:
    """What one site wants of a channel: everything, or what satisfies one of its WHERE clauses."""

    def __init__(self, want: Want, type_name: str, *, engine: str = "bitmap") -> None:
        self._type: EventType | None = None
        self._matcher: Any = None
        self.fault = ""
        if not want.conditions:
            return
        try:
            self._type = event_type(want.schema, type_name=type_name)
            self._matcher = matcher(self._type.schema, engine=engine)
            for number, where in enumerate(want.conditions):
                self._matcher.add(number, where)
        except RookeryError as error:
            self.fault = str(error)
            self._type = None

    def holds(self, sample: Forwarded) -> bool:
        """Say whether the site wants a sample."""
        if self._type is None or sample.kind != SampleKind.ALIVE:
            return True
        try:
            event = self._type.decode(sample.payload)
        except WireFormatError:
            return True
        return bool(self._matcher.match(event))
