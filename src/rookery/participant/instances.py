"""The instances of a keyed topic, as a reader sees them: alive, disposed, or without writers (DDS 1.4, 2.2.2.5.1.3).

A sample makes its instance alive. A disposal says that what it stood for is gone. A writer that unregisters an
instance, or is lost, writes it no more; without any writer left an instance that is not disposed has *no writers*. A
later sample makes it alive again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from rookery.errors import WireFormatError
from rookery.rtps.cdr import decode_key, decode_sample, key_hash
from rookery.rtps.events import SampleKind
from rookery.rtps.identity import Guid
from rookery.rtps.types import CdrStruct

__all__ = ["InstanceChanged", "InstanceState", "Instances", "instance_name"]

#: Instances of one topic that are known; the one that was heard of longest ago is forgotten first.
_MOST: Final = 65_536


class InstanceState(Enum):
    """What is known of an instance."""

    ALIVE = "alive"
    DISPOSED = "disposed"
    NO_WRITERS = "no writers"


@dataclass(frozen=True, slots=True)
class InstanceChanged:
    """An instance of a topic, named by its keys, is in another state."""

    topic: str
    key: Mapping[str, Any]
    state: InstanceState


@dataclass(slots=True)
class _Instance:
    key: dict[str, Any]
    state: InstanceState = InstanceState.ALIVE
    writers: set[Guid] = field(default_factory=set)


class Instances:
    """The instances of one topic."""

    def __init__(self, topic: str, keys: tuple[str, ...]) -> None:
        self._topic = topic
        self._keys = keys
        self._known: dict[tuple[Any, ...], _Instance] = {}

    def __iter__(self) -> Any:
        return iter([(dict(one.key), one.state) for one in self._known.values()])

    def take(self, writer: Guid, kind: SampleKind, event: Mapping[str, Any]) -> InstanceChanged | None:
        """Take in a sample, or the end of an instance with its keys; return what has changed."""
        name = tuple(_hashable(event[key]) for key in self._keys)
        instance = self._known.pop(name, None)
        is_new = instance is None
        if instance is None:
            instance = _Instance({key: event[key] for key in self._keys})
        self._known[name] = instance
        if len(self._known) > _MOST:
            del self._known[next(iter(self._known))]
        before = instance.state
        if kind is SampleKind.ALIVE:
            instance.writers.add(writer)
            instance.state = InstanceState.ALIVE
        if kind & SampleKind.UNREGISTERED:
            instance.writers.discard(writer)
        if kind & SampleKind.DISPOSED:
            instance.state = InstanceState.DISPOSED
        elif not instance.writers and instance.state is InstanceState.ALIVE:
            instance.state = InstanceState.NO_WRITERS
        return self._changed(instance) if is_new or instance.state is not before else None

    def note(self, writer: Guid, kind: SampleKind, event: Mapping[str, Any]) -> None:
        """Note that a writer has an instance, or has it no more, though what it says of it counts for nothing."""
        instance = self._known.get(tuple(_hashable(event[key]) for key in self._keys))
        if instance is not None:
            (instance.writers.discard if kind & SampleKind.UNREGISTERED else instance.writers.add)(writer)

    def lose(self, writer: Guid) -> list[InstanceChanged]:
        """Take out a writer that is gone; return the instances that nobody writes any more."""
        changed = []
        for instance in self._known.values():
            if writer in instance.writers:
                instance.writers.discard(writer)
                if not instance.writers and instance.state is InstanceState.ALIVE:
                    instance.state = InstanceState.NO_WRITERS
                    changed.append(self._changed(instance))
        return changed

    def _changed(self, instance: _Instance) -> InstanceChanged:
        return InstanceChanged(self._topic, dict(instance.key), instance.state)


def instance_name(keys: CdrStruct | None, kind: SampleKind, payload: bytes) -> bytes:
    """Return the hash of the keys that a sample says; empty where there are none or they cannot be read."""
    if keys is None or not payload:
        return b""
    try:
        return key_hash(keys, (decode_sample if kind is SampleKind.ALIVE else decode_key)(keys, payload))
    except WireFormatError:
        return b""


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((name, _hashable(part)) for name, part in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, list) else value
