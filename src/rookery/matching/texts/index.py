"""Which conditions on texts are TRUE of which events.

The conditions of a set are the texts of one hidden attribute, `$text`, so they have labels like any other text: what is
TRUE of an event is a list of labels. Labels are a large part that stays and a few newest (`labels.py`), and patterns
are filed per part: one more pattern files the few anew, never the many.

An event is then matched once for what needs no text, with the label of the empty text in `$text`, and once for each
condition that is TRUE of it; a row that needs a text has one of those labels as its value of `$text`, so to every
engine it is one more equality.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rookery.errors import SchemaError
from rookery.matching.labels import LabelPart, Labels
from rookery.matching.pieces import in_order
from rookery.matching.program_kernels import OPEN
from rookery.matching.texts.event_texts import EventPatterns, EventTruths
from rookery.matching.texts.patterns import Pattern, PatternTable, like_parts, regex_parts
from rookery.model.folding import folded_column
from rookery.model.schema import Attribute
from rookery.model.texts import TextLeaf, text_leaves
from rookery.model.types import StringType

__all__ = ["NO_TEXT", "TEXT", "TextIndex", "Truths", "text_attributes"]

Array = np.ndarray[Any, Any]
Path = tuple[str | int, ...]

#: The hidden attribute of the conditions on texts, and its text where no text is needed.
TEXT = Attribute(("$text",), StringType())
NO_TEXT = ""
#: Texts at the head of a column by which it is judged whether texts repeat.
SAMPLE = 1024


@dataclass(frozen=True, slots=True)
class Truths:
    """The labels of the conditions that are TRUE of events: event e has those from `first[e]` to `first[e + 1]`."""

    first: Array
    labels: Array

    def pairs(self) -> tuple[Array, Array]:
        """Return the event of each label, and the labels."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first)), self.labels


@dataclass(frozen=True, slots=True)
class _Column:
    """The patterns of one attribute, folded or not."""

    path: Path
    folded: bool
    table: PatternTable


class _Conditions:
    """The conditions of one part of the labels."""

    __slots__ = ("_singly", "columns", "labels", "leaves", "owner_first", "owners", "regexes")

    def __init__(self, keys: list[str], labels: list[int]) -> None:
        self.labels = np.array(labels, np.int64)
        leaves: dict[TextLeaf, int] = {}
        owners: list[list[int]] = []
        for number, key in enumerate(keys):
            for leaf in text_leaves(key) if key != NO_TEXT else ():
                place = leaves.setdefault(leaf, len(leaves))
                if place == len(owners):
                    owners.append([])
                owners[place].append(number)
        self.leaves = list(leaves)
        self.owner_first = np.cumsum([0, *map(len, owners)], dtype=np.int64)
        self.owners = np.array([number for mine in owners for number in mine], np.int64)
        self.regexes = {place: leaf.pattern for leaf, place in leaves.items() if leaf.kind == "regex"}
        patterns: dict[tuple[Path, bool], list[Pattern]] = {}
        for place, leaf in enumerate(self.leaves):
            parts, fold = (
                regex_parts(place, leaf.pattern)
                if leaf.kind == "regex"
                else (like_parts(place, leaf.pattern), leaf.kind == "fold")
            )
            patterns.setdefault((leaf.path, fold), []).extend(parts)
        self.columns = [_Column(path, fold, PatternTable(mine)) for (path, fold), mine in patterns.items()]
        self._singly: EventPatterns | None = None

    def singly(self, attribute_of: Callable[[Path], Attribute]) -> EventPatterns:
        """Return the same conditions for one event at a time, made at the first of them."""
        if self._singly is None:  # who comes second makes the same
            self._singly = EventPatterns(
                [(one.path, one.folded, one.table) for one in self.columns],
                {place: (self.leaves[place].path, pattern) for place, pattern in self.regexes.items()},
                (self.owner_first, self.owners),
                self.labels,
                attribute_of,
            )
        return self._singly

    @property
    def nbytes(self) -> int:
        texts = sum(len(leaf.pattern) for leaf in self.leaves) + 200 * len(self.leaves)
        arrays = self.owners.nbytes + self.owner_first.nbytes + self.labels.nbytes
        return arrays + texts + sum(one.table.nbytes for one in self.columns)

    def find(self, column: _Column, texts: pa.Array) -> Array:
        """Return the pairs `event << 32 | condition` of one column of plain strings."""
        given = folded_column(texts) if column.folded else texts
        pairs = column.table.find(*_buffers(given))
        events, leaves = pairs >> 32, column.table.leaf[pairs & 0xFFFFFFFF]
        if self.regexes and len(leaves):
            kept = self._asked(texts, events, leaves)
            events, leaves = events[kept], leaves[kept]
        counts = self.owner_first[leaves + 1] - self.owner_first[leaves]
        found: Array
        if (counts == 1).all():
            found = (events << 32) | self.owners[self.owner_first[leaves]]
            return found
        ends = np.cumsum(counts)
        places = np.repeat(self.owner_first[leaves] - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)
        found = (np.repeat(events, counts) << 32) | self.owners[places]
        return found

    def _asked(self, texts: pa.Array, events: Array, leaves: Array) -> Array:
        """Ask the regular expressions of the events that have their literals."""
        kept = np.ones(len(leaves), np.bool_)
        regular = np.flatnonzero(np.isin(leaves, np.fromiter(self.regexes, np.int64)))
        regular = regular[np.argsort(leaves[regular], kind="stable")]
        ends = np.flatnonzero(np.diff(leaves[regular], append=-1))
        begin = 0
        for end in (ends + 1).tolist():
            mine = regular[begin:end]
            found = pc.match_substring_regex(texts.take(pa.array(events[mine])), self.regexes[int(leaves[mine[0]])])
            kept[mine] = found.to_numpy(zero_copy_only=False)
            begin = end
        return kept


def _buffers(texts: pa.Array) -> tuple[Array, Array, Array]:
    """Return the bytes of an array of strings, where each begins, and which are not NULL."""
    valid = np.ones(len(texts), np.bool_)
    if texts.null_count:
        valid = texts.is_valid().to_numpy(zero_copy_only=False)
    _, offsets, data = texts.buffers()
    width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    if offsets is None or not len(texts):
        return np.zeros(1, np.uint8), np.zeros(len(texts) + 1, np.int64), valid
    places = np.frombuffer(offsets, width)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    return np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8), places, valid


def _conditions(part: LabelPart) -> _Conditions:
    if part.derived is None:
        part.derived = _Conditions(part.texts, part.labels)  # who comes second makes the same
    found: _Conditions = part.derived
    return found


class TextIndex:
    """The conditions on texts of one state of a set; it takes time by how many are new, not by how many there are."""

    __slots__ = ("_before", "_parts")

    def __init__(self, labels: Labels) -> None:
        self._parts = [_conditions(part) for part in labels.parts]
        many, few = self._parts
        #: How many of the many stand before each of the few, both in the order of their labels.
        self._before = np.searchsorted(many.labels, few.labels)

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self._parts) + self._before.nbytes

    def truths(self, count: int, read: Callable[[Path], pa.Array], wanted: Collection[int] | None = None) -> Truths:
        """Return what is TRUE of `count` events, whose columns `read` gives; with `wanted`, of these labels only."""
        found = []
        for number, part in enumerate(self._parts):
            for column in part.columns:
                if wanted is not None and not _is_wanted(part, column, wanted):
                    continue
                pairs = _in_column(part, column, read(column.path))
                found.append((pairs & ~np.int64(0xFFFFFFFF)) | self._places(number, pairs & 0xFFFFFFFF))
        if not found:
            return Truths(np.zeros(count + 1, np.int64), np.empty(0, np.int64))
        events, places = in_order(np.concatenate(found), count)
        first = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(events, minlength=count), out=first[1:])
        return Truths(first, self._labels(places))

    def of_event(
        self,
        event: Mapping[str, Any],
        attribute_of: Callable[[Path], Attribute],
        on_error: str,
        wanted: Collection[int] | None = None,
    ) -> EventTruths:
        """Return what is TRUE of one event; with `wanted`, of the attributes that some of these labels are about."""
        found: list[int] = []
        questions: dict[int, list[tuple[str, str]]] = {}
        for part in self._parts:
            if not part.columns:
                continue
            paths = None
            if wanted is not None:
                paths = {column.path for column in part.columns if _is_wanted(part, column, wanted)}
            sure, more = part.singly(attribute_of).find(event, on_error, paths)
            found += sure
            questions |= more
        found += questions
        found.sort()
        states = np.zeros(len(found), np.int8)
        for label in questions:
            states[bisect_left(found, label)] = OPEN
        return EventTruths(np.array(found, np.int64), states, questions)

    def _places(self, number: int, conditions: Array) -> Array:
        """Return the places of conditions of a part among those of both, in the order of their labels."""
        if number:
            few: Array = self._before[conditions] + conditions
            return few
        return conditions + np.searchsorted(self._before, conditions, side="right") if len(self._before) else conditions

    def _labels(self, places: Array) -> Array:
        """Return the labels of places."""
        many, few = self._parts
        if not len(few.labels):
            found: Array = many.labels[places]
            return found
        mine = self._before + np.arange(len(self._before))
        behind = np.searchsorted(mine, places)
        is_few = mine[np.minimum(behind, len(mine) - 1)] == places
        labels = np.empty(len(places), np.int64)
        labels[is_few] = few.labels[behind[is_few]]
        labels[~is_few] = many.labels[(places - behind)[~is_few]]
        return labels


def _is_wanted(part: _Conditions, column: _Column, wanted: Collection[int]) -> bool:
    leaves = column.table.leaf
    owners = [part.owners[part.owner_first[one] : part.owner_first[one + 1]] for one in leaves.tolist()]
    mine = part.labels[np.concatenate(owners)]
    return not set(wanted).isdisjoint(mine.tolist())


def _in_column(part: _Conditions, column: _Column, texts: pa.Array) -> Array:
    """Return the pairs of one column; each text of a dictionary is looked at once, and so is one that repeats."""
    if not pa.types.is_dictionary(texts.type):
        few = texts.slice(0, SAMPLE)
        if len(texts) <= SAMPLE or len(few.unique()) > SAMPLE // 2:
            return part.find(column, texts)
        texts = texts.dictionary_encode()
    if len(texts.dictionary) > len(texts):
        return part.find(column, texts.dictionary_decode())
    pairs = np.sort(part.find(column, texts.dictionary))
    first = np.searchsorted(pairs, np.arange(len(texts.dictionary) + 1) << 32)
    # Of the places alone: a text of the dictionary may be NULL too, and then nothing is TRUE of it.
    rows = np.flatnonzero(texts.indices.is_valid().to_numpy(zero_copy_only=False))
    entry = texts.indices.drop_null().to_numpy(zero_copy_only=False).astype(np.int64)
    counts = first[entry + 1] - first[entry]
    ends = np.cumsum(counts)
    places = np.repeat(first[entry] - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)
    found: Array = (np.repeat(rows, counts) << 32) | (pairs[places] & 0xFFFFFFFF)
    return found


def text_attributes(labels: Labels, attribute_of: Callable[[Path], Attribute]) -> list[Attribute]:
    """Return the attributes that conditions on texts read; SchemaError where one is no string."""
    paths = dict.fromkeys(leaf.path for part in labels.parts for leaf in _conditions(part).leaves)
    found = [attribute_of(path) for path in paths]
    for attribute in found:
        if not isinstance(attribute.type, StringType):
            raise SchemaError(f"{attribute.text} is no text, and a pattern is sought in it")
    return found
