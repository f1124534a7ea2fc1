"""Labels: integers for the texts that subscriptions name, in the texts' own order.

Theory. A text that some subscription compares with gets a label, and labels ascend as the texts do, with gaps between
them. A text of an event that has a label takes it; any other takes the label of the text before it, plus one. So
`<`, `=`, IN and prefix patterns on strings are comparisons of integers, and a new text is given a label inside a gap
without touching the others. Where a gap is full, all are spread anew, and the caller moves its bounds along (`moved`).

A column of events is looked up by Arrow in one pass over its bytes, with no Python object per text. Arrow hashes the
labelled texts anew at each call, so a column much shorter than their list is looked up text by text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Labels", "moved"]

_LOWEST, _HIGHEST = -(1 << 62), 1 << 62
#: A label, the gap just after it, the gap just before the next one.
_LEAST_STEP = 4
#: Texts that come in order are placed this far apart at the ends, so that the ends do not fill by halving.
_END_STEP = 1 << 36
#: A column is looked up by Arrow from this fraction of the labelled texts on.
_SHORT = 8


class Labels:
    """The labels of one string attribute."""

    __slots__ = ("_by_text", "_labels", "_table", "_texts", "ordered")

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._labels: list[int] = []
        self._by_text: dict[str, int] = {}
        #: The texts and labels as columns, made at the first look-up after an edit.
        self._table: tuple[pa.Array, np.ndarray[Any, Any]] | None = None
        #: Whether any subscription uses the order; without it an unknown text needs no search.
        self.ordered = False

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def texts(self) -> list[str]:
        return self._texts

    @property
    def values(self) -> list[int]:
        return self._labels

    @classmethod
    def restore(cls, texts: list[str], values: list[int], ordered: bool) -> Labels:
        """Make labels again from what `texts` and `values` gave."""
        labels = cls()
        labels._texts, labels._labels, labels.ordered = texts, values, ordered
        labels._by_text = dict(zip(texts, values, strict=True))
        return labels

    def __getitem__(self, text: str) -> int:
        return self._by_text[text]

    def code(self, text: str) -> int:
        """Return the code of an event's text."""
        label = self._by_text.get(text)
        if label is not None:
            return label
        if not self.ordered:
            return _LOWEST
        position = bisect_right(self._texts, text)
        return self._labels[position - 1] + 1 if position else _LOWEST

    def codes(self, texts: pa.Array, null: int) -> np.ndarray[Any, Any]:
        """Return the codes of an Arrow array of strings; a null has the code `null`."""
        if _SHORT * len(texts) < len(self._texts):
            return np.array([null if text is None else self.code(text) for text in texts.to_pylist()], np.int64)
        if self._table is None:
            self._table = pa.array(self._texts, pa.string()), np.array(self._labels, np.int64)
        known, labels = self._table
        place = pc.index_in(texts, value_set=known if texts.type == known.type else known.cast(texts.type))
        found = place.is_valid().to_numpy(zero_copy_only=False)
        codes = np.full(len(texts), _LOWEST, np.int64)
        codes[found] = labels[place.drop_null().to_numpy()]
        if self.ordered:
            strange = texts.filter(pa.array(~found)).dictionary_encode()
            by_text = [null if text is None else self.code(text) for text in strange.dictionary.to_pylist()]
            codes[~found] = np.array([*by_text, null], np.int64)[strange.indices.fill_null(len(by_text)).to_numpy()]
        if texts.null_count:
            codes[texts.is_null().to_numpy(zero_copy_only=False)] = null
        return codes

    def insert(self, texts: Iterable[str]) -> tuple[list[int], list[int]] | None:
        """Give labels to new texts. Returns None, or the old and new labels of the old texts if all had to move."""
        fresh = sorted({text for text in texts if text not in self._by_text})
        if not fresh:
            return None
        self._table = None
        if len(fresh) == 1 or len(fresh) * 8 < len(self._texts):
            placed = min([self._place(text) for text in fresh])  # every text is placed, in a good gap or not
        else:
            placed = self._merge(fresh)
        return None if placed else self._spread(set(fresh))

    def _place(self, text: str) -> bool:
        position = bisect_right(self._texts, text)
        low = self._labels[position - 1] if position else _LOWEST
        high = self._labels[position] if position < len(self._labels) else _HIGHEST
        at_end = position == len(self._labels)
        step = min((high - low) // 2, _END_STEP) if at_end or not position else (high - low) // 2
        label = low + step if position or at_end else high - step
        self._texts.insert(position, text)
        self._labels.insert(position, label)
        self._by_text[text] = label
        return step >= _LEAST_STEP

    def _merge(self, fresh: list[str]) -> bool:
        """Merge many texts, mostly into nothing; say whether every gap was large enough."""
        before = len(self._texts)
        self._texts = sorted(self._texts + fresh)
        if not before:
            self._number()
            return True
        old = self._by_text
        labels: list[int | None] = [old.get(text) for text in self._texts]
        place, enough = 0, True
        while place < len(labels):
            if labels[place] is not None:
                place += 1
                continue
            end = place
            while end < len(labels) and labels[end] is None:
                end += 1
            low = labels[place - 1] if place else _LOWEST
            high = labels[end] if end < len(labels) else _HIGHEST
            assert low is not None
            assert high is not None
            step = (high - low) // (end - place + 1)
            enough = enough and step >= _LEAST_STEP
            for index in range(place, end):
                labels[index] = low + step * (index - place + 1)
            place = end
        self._labels = [label for label in labels if label is not None]
        self._by_text = dict(zip(self._texts, self._labels, strict=True))
        return enough

    def _number(self) -> None:
        step = min((_HIGHEST - _LOWEST) // (len(self._texts) + 1), _END_STEP)
        start = -step * (len(self._texts) // 2)
        self._labels = [start + step * index for index in range(len(self._texts))]
        self._by_text = dict(zip(self._texts, self._labels, strict=True))

    def _spread(self, fresh: set[str]) -> tuple[list[int], list[int]]:
        old = {text: label for text, label in self._by_text.items() if text not in fresh}
        self._number()
        pairs = sorted((label, self._by_text[text]) for text, label in old.items())
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def moved(bounds: np.ndarray[Any, Any], old: list[int], new: list[int]) -> np.ndarray[Any, Any]:
    """Return bounds made with the old labels (a label, or one beside it) as the new labels give them."""
    olds, news = np.array(old, np.int64), np.array(new, np.int64)
    if not len(olds):
        return bounds
    place = np.searchsorted(olds, bounds)
    left = np.clip(place - 1, 0, len(olds) - 1)
    right = np.clip(place, 0, len(olds) - 1)
    result = bounds.copy()
    for side in (left, right):
        offset = bounds - olds[side]
        near = np.abs(offset) <= 1
        result[near] = news[side][near] + offset[near]
    return result
