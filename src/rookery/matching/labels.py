"""Labels: integers for the texts that subscriptions name, in the texts' own order.

Theory. A text that some subscription compares with gets a label, and labels ascend as the texts do, with gaps between
them. A text of an event that has a label takes it; any other takes the label of the text before it, plus one. So
`<`, `=`, IN and prefix patterns on strings are comparisons of integers, and a new text is given a label inside a gap
without touching the others, in its middle. Texts that come in order, up or down, each beside the one before it, are
placed in ever smaller steps, so that one gap holds millions of them (`_place`). Where a gap is full all the same, all
are spread anew, and the caller moves its bounds along (`moved`).

Rule: labels never change. An edit returns others, which share with these all that stays: texts lie in parts of growing
size, and an edit copies the last one, which is short; parts of like size become one as long as that takes a moment.
Where every part costs who reads (conditions on texts), there are two, a large one and the newest.

A column of events is looked up without a Python object per text: a long one by Arrow in one pass over its bytes, where
the labelled texts are hashed anew at each call, a shorter one by halves, in a kernel.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from math import isqrt
from sys import getsizeof
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rookery.matching.label_kernels import around_texts

__all__ = ["LABEL_LIMIT", "LABEL_STEP", "LabelPart", "Labels", "Moves", "moved"]

Array = np.ndarray[Any, Any]
#: The labels that moved, old and new, both ascending.
Moves = tuple[list[int], list[int]]

#: Labels lie strictly between plus and minus this.
LABEL_LIMIT = 1 << 62
_LOWEST, _HIGHEST = -LABEL_LIMIT, LABEL_LIMIT
#: How far apart two labels are at least: a label, the gap just after it, the gap just before the next one.
LABEL_STEP = 4
#: Texts that come in order are placed this far apart at the ends, so that the ends do not fill by halving.
_END_STEP = 1 << 36
#: Up to so many texts, and up to this fraction of the labelled ones, are looked up by halves: more by Arrow. So many
#: at a time: the interpreter is held meanwhile.
_FEW_TEXTS, _SHORT = 4096, 8
_NO_BYTES = np.frombuffer(b"\0", np.uint8)
#: A text of a long run takes this power of two of its gap, divided by the length of the run: no run fills a gap so.
_RUN_SHIFT = 8
#: The runs of texts in order that are remembered.
_RUNS = 256
#: The newest texts, which every edit copies, are this many at the most; of two parts, more (`_most_recent`).
_FEW = 256
#: Texts of a part that is made of two in the course of an edit.
_MERGED = 1 << 15


class LabelPart:
    """Texts in order with their labels; never changed once made."""

    __slots__ = ("_columns", "by_text", "derived", "labels", "texts")

    def __init__(self, texts: list[str], labels: list[int], by_text: dict[str, int] | None = None) -> None:
        self.texts = texts
        self.labels = labels
        self.by_text = dict(zip(texts, labels, strict=True)) if by_text is None else by_text
        self._columns: tuple[pa.Array, Array] | None = None
        #: What others make of these texts once and keep as long as they stay.
        self.derived: Any = None

    def columns(self) -> tuple[pa.Array, Array]:
        """Return the texts and the labels as columns, made at the first look-up; who comes second makes the same."""
        if self._columns is None:
            self._columns = pa.array(self.texts, pa.string()), np.array(self.labels, np.int64)
        return self._columns

    def laid_out(self) -> tuple[Array, Array, Array]:
        """Return the bytes of the texts, where each of them begins, and the labels."""
        texts, labels = self.columns()
        return (*_laid_out(texts), labels)

    @property
    def nbytes(self) -> int:
        sample = self.texts[:: len(self.texts) // 256 + 1]
        texts = sum(map(getsizeof, sample)) * len(self.texts) // max(1, len(sample))
        columns = 0 if self._columns is None else self._columns[0].nbytes + self._columns[1].nbytes
        return (
            texts + 32 * len(self.labels) + getsizeof(self.texts) + getsizeof(self.labels) + getsizeof(self.by_text)
        ) + columns


def _laid_out(texts: pa.Array) -> tuple[Array, Array]:
    """Return the bytes of Arrow's texts, and where each of them begins; what stands at a NULL means nothing."""
    if not len(texts):
        return _NO_BYTES, np.zeros(1, np.int32)
    _, starts, data = texts.buffers()
    places = np.frombuffer(starts, np.int64 if pa.types.is_large_string(texts.type) else np.int32)
    places = places[texts.offset : texts.offset + len(texts) + 1]
    return (np.frombuffer(data, np.uint8) if data is not None and len(data) else _NO_BYTES), places


_NONE = LabelPart([], [])


class Labels:
    """The labels of one string attribute, in parts, the newest texts in the last."""

    __slots__ = ("_columns", "_parts", "_runs", "_two", "ordered")

    def __init__(self, *parts: LabelPart, ordered: bool = False, two: bool = False) -> None:
        self._parts = (*parts, *(_NONE,) * (2 - len(parts)))
        #: Whether any subscription uses the order; without it an unknown text needs no search.
        self.ordered = ordered
        self._two = two
        #: By label, how many texts came in order up to it: upward positive, downward negative.
        self._runs: dict[int, int] = {}
        #: Texts and labels of all parts but the last as columns, made at the first look-up and shared while they stay.
        self._columns: list[tuple[pa.Array, Array]] = []

    def _with(self, *parts: LabelPart) -> Labels:
        labels = Labels(*parts, ordered=self.ordered, two=self._two)
        labels._runs = self._runs
        return labels

    def __len__(self) -> int:
        return sum(len(part.texts) for part in self._parts)

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self._parts)

    @property
    def parts(self) -> tuple[LabelPart, ...]:
        """The parts, two at least."""
        return self._parts

    @property
    def texts(self) -> list[str]:
        """All texts, in order."""
        return _in_order([part.texts for part in self._parts])

    @property
    def values(self) -> list[int]:
        """All labels, in order."""
        return _in_order([part.labels for part in self._parts])

    @classmethod
    def restore(cls, texts: list[str], values: list[int], ordered: bool, two: bool = False) -> Labels:
        """Make labels again from what `texts` and `values` gave."""
        return cls(LabelPart(texts, values), ordered=ordered, two=two)

    def in_order(self) -> Labels:
        """Return the same labels for a set in which some subscription uses the order."""
        if self.ordered:
            return self
        labels = self._with(*self._parts)
        labels.ordered, labels._columns = True, self._columns
        return labels

    def __getitem__(self, text: str) -> int:
        label = self._known(text)
        if label is None:
            raise KeyError(text)
        return label

    def _known(self, text: str) -> int | None:
        for part in self._parts:
            label = part.by_text.get(text)
            if label is not None:
                return label
        return None

    def code(self, text: str) -> int:
        """Return the code of an event's text."""
        label = self._known(text)
        if label is not None:
            return label
        if not self.ordered:
            return _LOWEST
        before = self._around(text)[0]
        return _LOWEST if before is None else before + 1

    def _around(self, text: str) -> tuple[int | None, int | None]:
        """Return the labels of the texts just before and just after one that has none."""
        below: int | None = None
        above: int | None = None
        for part in self._parts:
            position = bisect_right(part.texts, text)
            if position and (below is None or part.labels[position - 1] > below):
                below = part.labels[position - 1]
            if position < len(part.labels) and (above is None or part.labels[position] < above):
                above = part.labels[position]
        return below, above

    def codes(self, texts: pa.Array, null: int) -> Array:
        """Return the codes of an Arrow array of strings; a null has the code `null`."""
        if len(texts) <= _FEW_TEXTS or _SHORT * len(texts) < len(self):
            return self._codes_by_halves(texts, null)
        codes = np.full(len(texts), _LOWEST, np.int64)
        strange, left = np.arange(len(texts)), texts  # those without a label, and where they are
        for known, labels in self._looked_up():
            if len(labels) and len(left):
                place = pc.index_in(left, value_set=known if texts.type == known.type else known.cast(texts.type))
                mine = place.is_valid().to_numpy(zero_copy_only=False)
                codes[strange[mine]] = labels[place.drop_null().to_numpy()]
                strange = strange[~mine]
                left = left.filter(pa.array(~mine))
        if self.ordered:
            encoded = left.dictionary_encode()
            by_text = [null if text is None else self.code(text) for text in encoded.dictionary.to_pylist()]
            codes[strange] = np.array([*by_text, null], np.int64)[encoded.indices.fill_null(len(by_text)).to_numpy()]
        if texts.null_count:
            codes[texts.is_null().to_numpy(zero_copy_only=False)] = null
        return codes

    def _codes_by_halves(self, texts: pa.Array, null: int) -> Array:
        exact = np.full(len(texts), _LOWEST, np.int64)
        below = np.full(len(texts), _LOWEST - 1, np.int64)
        data, starts = _laid_out(texts)
        for known in [part.laid_out() for part in self._parts if part.texts]:
            for first in range(0, len(texts), _FEW_TEXTS):
                end = first + _FEW_TEXTS
                around_texts(data, starts[first : end + 1], *known, exact[first:end], below[first:end])
        codes: Array = np.where(exact == _LOWEST, below + 1, exact) if self.ordered else exact
        if texts.null_count:
            codes[texts.is_null().to_numpy(zero_copy_only=False)] = null
        return codes

    def _looked_up(self) -> list[tuple[pa.Array, Array]]:
        """Return the texts and labels as columns, those of the last part apart."""
        if not self._columns:
            parts = [part.columns() for part in self._parts[:-1]]
            self._columns.append(
                parts[0]
                if len(parts) == 1
                else (pa.concat_arrays([one for one, _ in parts]), np.concatenate([one for _, one in parts]))
            )
        return [self._columns[0], self._parts[-1].columns()]

    # ---- other labels ---------------------------------------------------------------------------------------------

    def insert(self, texts: Iterable[str]) -> tuple[Labels, Moves | None]:
        """Return labels with these texts too, and the old and new labels of the old texts if all had to move."""
        fresh = sorted({text for text in texts if self._known(text) is None})
        if not fresh:
            return self, None
        if len(fresh) * 8 < len(self) or len(fresh) == 1:
            labels, enough = self._placed(fresh)
        else:
            labels, enough = self._merged(fresh)
        if enough:
            return labels, None
        spread = self._with(_numbered(labels.texts))
        old = self.values
        return spread, (old, [spread[text] for text in self.texts])

    def _placed(self, fresh: list[str]) -> tuple[Labels, bool]:
        """Place a few texts, each in its gap; say whether every gap was large enough."""
        *others, recent = self._parts
        texts, values, by_text = recent.texts.copy(), recent.labels.copy(), recent.by_text.copy()
        labels = self._with(*others, LabelPart(texts, values, by_text))
        labels._columns, labels._runs = self._columns, self._runs.copy()
        enough = True
        for text in fresh:
            label, step = labels._place(text)
            position = bisect_right(texts, text)
            texts.insert(position, text)
            values.insert(position, label)
            by_text[text] = label
            enough = enough and step >= LABEL_STEP
        if self._two and len(texts) > _most_recent(len(labels)):
            labels = labels._with(_one_of(labels._parts))
        elif not self._two and len(texts) > _FEW:
            labels = labels._closed()
        return labels, enough

    def _place(self, text: str) -> tuple[int, int]:
        """Return a label for a text, and how far it is from the nearest; note the run that it goes on with."""
        below, above = self._around(text)
        low = _LOWEST if below is None else below
        high = _HIGHEST if above is None else above
        half, runs = (high - low) // 2, self._runs
        if below is None or above is None:
            step = min(half, _END_STEP)
            return (high - step if below is None and above is not None else low + step), step
        upward, downward = runs.get(below, -1), -runs.get(above, 1)  # -1: it is in no such run
        length = max(upward, downward)
        if upward == downward or length < 0:
            length, step, label = 0, half, low + half
        else:
            step = (high - low) >> min(length + 2, _RUN_SHIFT + length.bit_length())
            label = low + step if upward > downward else high - step
            del runs[below if upward > downward else above]
            length += 1
        runs[label] = length if upward > downward else -length
        if len(runs) > _RUNS:
            del runs[next(iter(runs))]
        return label, step

    def _closed(self) -> Labels:
        """Return the same labels with an empty part at the end; parts of like size become one."""
        parts = list(self._parts)
        while (
            len(parts) > 1
            and len(parts[-2].texts) <= 2 * len(parts[-1].texts)
            and len(parts[-2].texts) + len(parts[-1].texts) <= _MERGED
        ):
            last, before = parts.pop(), parts.pop()
            parts.append(_one_of((before, last)))
        return self._with(*parts, _NONE)

    def _merged(self, fresh: list[str]) -> tuple[Labels, bool]:
        """Merge many texts, mostly into nothing; say whether every gap was large enough."""
        texts = sorted(self.texts + fresh)
        if not len(self):
            return self._with(_numbered(texts)), True
        labels: list[int | None] = [self._known(text) for text in texts]
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
            enough = enough and step >= LABEL_STEP
            for index in range(place, end):
                labels[index] = low + step * (index - place + 1)
            place = end
        return self._with(LabelPart(texts, [label for label in labels if label is not None])), enough

    def kept(self, bounds: Array) -> Labels:
        """Return the labels without the texts that none of these bounds names; the others keep their labels."""
        values = np.array(self.values, np.int64)
        if not len(values):
            return self
        named = np.zeros(len(values), np.bool_)
        flat = bounds.reshape(-1)
        place = np.searchsorted(values, flat)
        for side in (np.clip(place - 1, 0, len(values) - 1), np.clip(place, 0, len(values) - 1)):
            offset = flat - values[side]
            named[side[(offset >= -1) & (offset <= 1)]] = True
        if named.all():
            return self
        texts = self.texts
        places = np.flatnonzero(named)
        return self._with(LabelPart([texts[one] for one in places.tolist()], values[places].tolist()))


def _in_order(parts: list[list[Any]]) -> list[Any]:
    """Return what sorted lists hold, sorted."""
    filled = [part for part in parts if part]
    return filled[0] if len(filled) == 1 else sorted(one for part in filled for one in part)


def _one_of(parts: Sequence[LabelPart]) -> LabelPart:
    """Return the texts of several parts as one."""
    by_text: dict[str, int] = {}
    for part in parts:
        by_text |= part.by_text
    return LabelPart(_in_order([part.texts for part in parts]), _in_order([part.labels for part in parts]), by_text)


def _most_recent(count: int) -> int:
    """Return how many texts may be new: copying them at each edit costs about what merging them now and then does."""
    return max(_FEW, 2 * isqrt(count))


def _numbered(texts: list[str]) -> LabelPart:
    """Return texts with labels that are spread evenly over the middle; at both ends there is room for as much again."""
    step = (_HIGHEST - _LOWEST) // (4 * (len(texts) + 1))
    start = -step * (len(texts) // 2)
    return LabelPart(texts, [start + step * index for index in range(len(texts))])


def moved(bounds: Array, old: list[int], new: list[int]) -> Array:
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
        near = (offset >= -1) & (offset <= 1)  # not by its absolute value: that of the lowest int64 is itself
        result[near] = news[side][near] + offset[near]
    return result
