"""What the texts of one event say: the labels that `index.py` finds for columns, without an array for each column.

Rule 1: only the attributes that the event has are read. What it lacks is NULL, and no pattern is TRUE of NULL.
Rule 2: one kernel asks all patterns of all texts, those that are folded of the folded text.
Rule 3: a regular expression is asked only when a match hinges on it: RE2 compiles it for each call, which takes longer
than all the rest. Until then a condition whose literals are there is OPEN.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rookery.matching.present import Present
from rookery.matching.program_kernels import FALSE, OPEN
from rookery.matching.texts.kernels import find_in_event
from rookery.matching.texts.patterns import ADDRESSES, PatternTable
from rookery.model.check import ComputedAttribute
from rookery.model.computed import computed_value
from rookery.model.events import read_value
from rookery.model.folding import folded
from rookery.model.regexes import regex_holds
from rookery.model.schema import Attribute

__all__ = ["EventPatterns", "EventTruths"]

Array = np.ndarray[Any, Any]
Path = tuple[str | int, ...]
#: A regular expression and the text that it is asked of.
Question = tuple[str, str]
_LOW = 0xFFFFFFFF


@dataclass(slots=True)
class EventTruths:
    """The labels of the conditions that are TRUE of one event, or OPEN: those in ascending order, with their states."""

    labels: Array
    states: Array  # int8: 0 is TRUE
    questions: dict[int, list[Question]] = field(default_factory=dict)  # by label
    _answers: dict[Question, bool] = field(default_factory=dict)

    def ask(self, place: int) -> bool:
        """Say whether a condition is TRUE; it is not OPEN any more."""
        if self.states[place] == OPEN:
            held = any(map(self._answer, self.questions[int(self.labels[place])]))
            self.states[place] = 0 if held else FALSE
        return bool(self.states[place] == 0)

    def _answer(self, question: Question) -> bool:
        held = self._answers.get(question)
        if held is None:
            held = self._answers[question] = regex_holds(*question)
        return held


@dataclass(frozen=True, slots=True)
class _Reader:
    """An attribute, and the tables of patterns that are asked of its text as it is and folded: from one to another."""

    attribute: Attribute
    plain: tuple[int, int] | None
    fold: tuple[int, int] | None


class EventPatterns:
    """The patterns of one part of the conditions, for one event at a time; it never changes."""

    __slots__ = ("_labels", "_most", "_owner_first", "_owners", "_present", "_readers", "_regexes", "_tables")

    def __init__(
        self,
        columns: Collection[tuple[Path, bool, PatternTable]],
        regexes: Mapping[int, tuple[Path, str]],
        owners: tuple[Array, Array],
        labels: Array,
        attribute_of: Callable[[Path], Attribute],
    ) -> None:
        """Take the tables of each path, folded or not, the regular expressions by leaf, and whose each leaf is."""
        asked: dict[Path, dict[bool, tuple[int, int]]] = {}
        rows: list[list[int]] = []
        for path, fold, table in columns:
            first = len(rows)
            rows += table.addresses()
            asked.setdefault(path, {})[fold] = first, len(rows)
        self._readers = [_Reader(attribute_of(path), mine.get(False), mine.get(True)) for path, mine in asked.items()]
        self._present = Present([one.attribute for one in self._readers])
        self._tables = np.array(rows, np.int64).reshape(-1, ADDRESSES)
        self._most = max((len(table.leaf) for _, _, table in columns), default=0)
        self._regexes = regexes
        self._owner_first, self._owners = owners
        self._labels: list[int] = labels.tolist()

    def find(
        self, event: Mapping[str, Any], on_error: str, wanted: Collection[Path] | None = None
    ) -> tuple[list[int], dict[int, list[Question]]]:
        """Return the labels that are TRUE, and those that are OPEN with what is to be asked; of `wanted` paths only."""
        texts: dict[Path, str] = {}
        pieces: list[bytes] = []
        asked: list[int] = []
        start = 0
        for number in self._present(event):
            reader = self._readers[number]
            attribute = reader.attribute
            if wanted is not None and attribute.path not in wanted:
                continue
            text = _text(event, attribute, on_error)
            if text is None:
                continue
            texts[attribute.path] = text
            if reader.plain is not None:
                pieces.append(text.encode())
                asked += (start, start + len(pieces[-1]), *reader.plain)
                start += len(pieces[-1])
            if reader.fold is not None:
                pieces.append(folded(text).encode())
                asked += (start, start + len(pieces[-1]), *reader.fold)
                start += len(pieces[-1])
        if not asked:
            return [], {}
        found = find_in_event(
            np.frombuffer(b"".join(pieces) or b"\0", np.uint8), np.array(asked, np.int64).reshape(-1, 4), self._tables,
            self._most, self._owner_first, self._owners,
        )  # fmt: skip
        labels, regexes = self._labels, self._regexes
        sure: set[int] = set()
        hinges: list[int] = []
        for pair in found.tolist():
            if pair & _LOW in regexes:
                hinges.append(pair)
            else:
                sure.add(labels[pair >> 32])
        questions: dict[int, list[Question]] = {}
        for pair in hinges:
            label = labels[pair >> 32]
            if label not in sure:
                path, pattern = regexes[pair & _LOW]
                questions.setdefault(label, []).append((pattern, texts[path]))
        return [*sure], questions


def _text(event: Mapping[str, Any], attribute: Attribute, on_error: str) -> str | None:
    value: Any = event.get(attribute.path[0]) if len(attribute.path) == 1 else None  # type: ignore[arg-type]
    if type(value) is str and value.isascii():  # the usual text, at once
        return value
    if isinstance(attribute, ComputedAttribute):
        value = computed_value(attribute, lambda one: read_value(event, one, on_error))
    else:
        value = read_value(event, attribute, on_error)
    return None if value is None else str(value)
