"""Filters that travel: a reader says what it wants, and a writer sends it nothing else (RTPS 2.5, 8.7.6 and 9.6.4.1).

A reader announces its condition as DDS SQL where every stack would read it in the same way: comparisons of whole
numbers, float64s, texts and truths with literals, joined by AND, OR and NOT, of members that are always there (what
others make of an absent one is not said anywhere). Anything else it keeps to itself. It
filters in any case, so what a writer does not leave out is left out here.

A writer compiles the conditions of all its remote readers into one set. A sample is sent to those that it may concern;
for the others its number becomes part of a GAP. Samples that are written in one go are matched as a batch. A condition
that does not compile here asks for everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from rookery.errors import RookeryError, WireFormatError
from rookery.model import Schema
from rookery.model import types as model
from rookery.model.expressions import And, Between, Comparison, Constant, Expression, Field, Literal, Not, Or, to_text
from rookery.model.parser import parse
from rookery.participant.event_types import EventType, event_type
from rookery.rtps.announcements import ContentFilter
from rookery.rtps.cdr import decode_sample
from rookery.rtps.history import EVERYBODY, Choice
from rookery.rtps.identity import Guid
from rookery.rtps.types import CdrStruct

__all__ = ["WriterFilters", "filter_of"]

#: Longer conditions stay here: an announcement is to fit into a datagram with others.
_LONGEST: Final = 1_000
#: Fewer samples are matched one by one.
_BATCH: Final = 16
#: The place of a sample in a batch, under a name that no member of a type has.
_PLACE: Final = " place"


def filter_of(topic: str, conditions: Iterable[str | None], type: EventType) -> ContentFilter | None:
    """Return the filter of a reader that serves some conditions; None if it has to have everything."""
    said: list[str] = []
    optional = {field.name for field in type.struct.fields if field.optional}
    room = _LONGEST
    for condition in conditions:
        # Asked at each subscription, so it ends where the answer is known, however many there are.
        room -= len(condition or "")
        if not condition or room < 0:
            return None
        try:
            expression = parse(condition)
        except RookeryError:
            return None
        if not _is_ddssql(expression, type.schema, optional):
            return None
        said.append(to_text(expression))
    together = said[0] if len(said) == 1 else " OR ".join(f"({each})" for each in said)
    return ContentFilter(topic, together) if len(together.encode("utf-8")) <= _LONGEST else None


def _is_ddssql(expression: Expression, schema: Schema, optional: set[str]) -> bool:
    match expression:
        case Comparison(left=Field(path), right=Literal(value)):
            return path[0] not in optional and _is_comparable(path, schema, value)
        case Between(field=Field(path), low=Literal(low), high=Literal(high), negated=False):
            there = path[0] not in optional
            return there and _is_comparable(path, schema, low) and _is_comparable(path, schema, high)
        case Not(operand):
            return _is_ddssql(operand, schema, optional)
        case And(operands) | Or(operands):
            return all(_is_ddssql(operand, schema, optional) for operand in operands)
        case Constant():
            return False  # TRUE has nothing to leave out
    return False


def _is_comparable(path: tuple[str | int, ...], schema: Schema, value: object) -> bool:
    """Say whether an attribute and a literal compare in every stack as they do here."""
    if len(path) != 1 or path[0] not in schema:
        return False
    kind = schema.types[str(path[0])]
    if isinstance(kind, model.IntegerType):
        return type(value) is int
    if isinstance(kind, model.FloatType):
        return kind.bits == 64 and not isinstance(value, bool | str)
    # A text with a quotation mark is written in one way here and in another elsewhere.
    return isinstance(kind, model.StringType) and isinstance(value, str) and "'" not in value


class WriterFilters:
    """The filters of a writer's remote readers, as one compiled set."""

    def __init__(self, struct: CdrStruct) -> None:
        self._struct = struct
        #: Made when the first filter comes: most writers never need one.
        self._set: Any = None
        self._readers: dict[int, Guid] = {}
        self._numbers: dict[Guid, int] = {}
        self._next = 1
        #: Who has a filter, as one object as long as nobody's changes; None until it is asked for.
        self._filtered: frozenset[Guid] | None = None

    def __len__(self) -> int:
        return len(self._readers)

    def set(self, reader: Guid, wanted: ContentFilter | None) -> None:
        """Take the filter of a reader, instead of its last one; None asks for everything."""
        self._filtered = None
        number = self._numbers.pop(reader, None)
        if number is not None:
            del self._readers[number]
            self._set.remove(number)
        if wanted is None or not wanted.is_ddssql:
            return
        try:
            if self._set is None:
                from rookery.matching import matcher  # who only looks at a domain needs no compiler of kernels

                self._set = matcher(event_type(self._struct, type_name=self._struct.name).schema, wall_time=False)
            self._set.add(self._next, wanted.expression, parameters=wanted.values or None)
        except RookeryError:
            return
        self._readers[self._next], self._numbers[reader] = reader, self._next
        self._next += 1

    def choices(self, payloads: Sequence[bytes]) -> list[Choice]:
        """Return who is to have each of some samples; one that cannot be read goes to everybody."""
        if not self._readers:
            return [EVERYBODY] * len(payloads)
        if self._filtered is None:
            self._filtered = frozenset(self._numbers)
        found: list[list[int] | None]
        if len(payloads) < _BATCH:
            found = [None if event is None else self._set.match(event) for event in map(self._read, payloads)]
        else:
            found = self._match_many(payloads)
        filtered, readers = self._filtered, self._readers
        return [
            EVERYBODY
            if numbers is None or len(numbers) == len(readers)
            else Choice(filtered, frozenset([readers[number] for number in numbers]))
            for numbers in found
        ]

    def _match_many(self, payloads: Sequence[bytes]) -> list[list[int] | None]:
        """Match samples as a batch: for more than a few that takes a fraction of the time of one by one."""
        found: list[list[int] | None] = [None] * len(payloads)
        events = []
        for place, event in enumerate(map(self._read, payloads)):
            if event is not None:
                event[_PLACE] = place
                events.append(event)
                found[place] = []
        matches = self._set.match_many(events, event_id=_PLACE)
        for place, number in zip(matches["event_id"].to_pylist(), matches["subscription_id"].to_pylist(), strict=True):
            found[place].append(number)
        return found

    def _read(self, payload: bytes) -> dict[str, Any] | None:
        try:
            return decode_sample(self._struct, payload)
        except WireFormatError:
            return None
