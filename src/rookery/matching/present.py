"""Which of many attributes an event can have, by its keys: of the hundreds that a set names, an event has some.

Rule: an attribute is NULL of an event without its key. One that is computed is NULL where all its fields are, unless
its expression gives NULL a value (`coalesce(a, 5)`): then it is looked at in every event.
"""

from __future__ import annotations

from collections.abc import Sequence

from rookery.model.check import ComputedAttribute
from rookery.model.schema import Attribute

__all__ = ["Present"]


class Present:
    """Numbers of attributes by the keys of events; it never changes."""

    __slots__ = ("_always", "_by_key")

    def __init__(self, attributes: Sequence[Attribute]) -> None:
        """Take the attributes in the order of their numbers."""
        self._by_key: dict[str | int, list[int]] = {}
        self._always: list[int] = []
        for number, attribute in enumerate(attributes):
            fields: Sequence[Attribute] = (attribute,)
            if isinstance(attribute, ComputedAttribute):
                fields = attribute.fields
                if attribute.value_of({one.path: None for one in fields}) is not None:
                    self._always.append(number)
                    continue
            for key in {one.path[0] for one in fields}:
                self._by_key.setdefault(key, []).append(number)

    def __call__(self, event: object) -> list[int]:
        """Return the numbers of the attributes that an event can have, in order; of what is no dict, all."""
        if type(event) is not dict:
            return sorted({*self._always, *(number for mine in self._by_key.values() for number in mine)})
        keys = event.keys() & self._by_key.keys()
        return sorted({*self._always, *(number for key in keys for number in self._by_key[key])})
