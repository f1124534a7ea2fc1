"""The code of a text axis: where a text lies between 0 and 1, in the order of texts.

Theory. A code has *knots*, texts of a sample in order, each with the share of the sample that lies below it. A text at
a knot has the knot's share; one between two knots lies between their shares, by its bytes after the prefix that both
knots have (every text between them has it too). So a text that many events have is a place of its own, texts that a
sample has never seen keep their order among the others, and a zone's median cuts where the events are.

Without a sample there is one gap, from the empty text to the end of all texts, in which bytes are spread by what texts
are made of: each printable ASCII character has ten parts of 1,111, every other byte one.

Rule 1: a code is monotone in the order of UTF-8 bytes, which is that of code points; ties are allowed, inversions not.
Whole numbers carry the bytes, so nothing is rounded before the one division.
Rule 2: the code travels with the axis, in trees and messages. Whoever places an event or a bound uses the same one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rookery.errors import SpaceError

__all__ = ["TextCode", "least_text", "spread"]

#: Knots that are learned at most, and the characters of each that count.
MOST_KNOTS = 256
LONGEST_KNOT = 48

#: Into how many parts each byte divides a place, and where the parts of printable bytes begin and end (`kernels.py`
#: has these numbers too: Numba's cache would not see them change here).
PARTS, CONTROL, PRINTABLE = 1111, 32, 982
WHOLE = 1 << 62


class TextCode:
    """Knots and their shares; without any, the default that needs no sample."""

    __slots__ = ("_bounds", "_gaps", "knots", "shares")

    def __init__(self, knots: Sequence[str] = (), shares: Sequence[float] = ()) -> None:
        self.knots = tuple(knots)
        self.shares = tuple(float(share) for share in shares)
        ends = (0.0, *self.shares, 1.0)
        if len(self.knots) != len(self.shares) or any(not low < high for low, high in pairwise(ends)):
            raise SpaceError("the code of a text axis needs a share for each text, each greater than the one before")
        self._bounds = [b"", *(utf8_bytes(text) for text in self.knots)]
        if any(not low < high for low, high in pairwise(self._bounds)):
            raise SpaceError("the code of a text axis needs texts in order, none twice and none empty")
        if any(len(text) > LONGEST_KNOT for text in self.knots) or len(self.knots) > MOST_KNOTS:
            raise SpaceError(f"the code of a text axis has at most {MOST_KNOTS} texts of {LONGEST_KNOT} characters")
        self._gaps = _gaps(self._bounds, ends)

    @classmethod
    def learn(cls, texts: Iterable[str | None]) -> TextCode:
        """Learn a code from the texts of a sample: at most so many of them become knots, evenly by their count."""
        counted = Counter(text for text in texts if text is not None)
        total = sum(counted.values())
        step = 2 * total / MOST_KNOTS if len(counted) > MOST_KNOTS else 0.0
        knots: dict[str, int] = {}
        below, due = 0, 0.0
        ordered = sorted(counted)
        for text in ordered:
            # What many events have is a knot, and so is the text after it, which then lies by that share higher. So
            # is the last one: beyond the last knot texts share no prefix.
            due_now = below >= due or counted[text] >= step or text == ordered[-1]
            if due_now and (knot := text[:LONGEST_KNOT]) and len(knots) < MOST_KNOTS:
                knots.setdefault(knot, below)
                due = below + step
            below += counted[text]
        return cls(tuple(knots), tuple((count + 1) / (total + 2) for count in knots.values()))

    @classmethod
    def of_values(cls, texts: Iterable[str]) -> TextCode:
        """Return the code in which some texts are as far from each other as they can be."""
        return cls.learn(dict.fromkeys(texts))

    def place(self, text: bytes) -> float:
        """Return where a text lies, given as UTF-8."""
        gap = bisect_right(self._bounds, text) - 1
        start, width, end, prefix, bottom, span = self._gaps[gap]
        if not span:
            return start
        return min(start + width * (float(spread(text, prefix) - bottom) / float(span)), end)

    def places(self, texts: pa.Array) -> NDArray[np.float64]:
        """Return where the texts of an Arrow array lie; what stands at a NULL means nothing."""
        from rookery.space.kernels import place_texts

        if pa.types.is_dictionary(texts.type):
            by_index = self.places(texts.dictionary)
            indices = texts.indices.fill_null(0) if texts.null_count else texts.indices
            return by_index[indices.to_numpy(zero_copy_only=False)] if len(by_index) else np.zeros(len(texts))
        out = np.empty(len(texts), np.float64)
        width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
        _, starts, data = texts.buffers()
        bounds = np.frombuffer(starts, width)[texts.offset : texts.offset + len(texts) + 1] if len(texts) else None
        if bounds is not None:
            place_texts(_bytes(data), bounds, out, *self._arrays())
        return out

    def _arrays(self) -> tuple[Any, ...]:
        """Return the kernel's form: the knots' bytes and where they begin, then the gaps by column."""
        starts = np.cumsum([0, *map(len, self._bounds)], dtype=np.int64)
        start, width, end, prefix, bottom, span = zip(*self._gaps, strict=True)
        return (
            _bytes(b"".join(self._bounds)), starts, np.array(start), np.array(width), np.array(end),
            np.array(prefix, np.int64), np.array(bottom, np.int64), np.array(span, np.int64),
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextCode) and (self.knots, self.shares) == (other.knots, other.shares)

    def __hash__(self) -> int:
        return hash((self.knots, self.shares))

    def __repr__(self) -> str:
        return f"TextCode of {len(self.knots)} texts" if self.knots else "TextCode()"

    def __reduce__(self) -> tuple[Any, ...]:
        return TextCode, (self.knots, self.shares)


#: Share at the knot, width and end of the gap after it, prefix of its texts, the place of the knot after the prefix
#: and how much lies between it and the next one's.
Gap = tuple[float, float, float, int, int, int]


def _gaps(bounds: list[bytes], ends: tuple[float, ...]) -> list[Gap]:
    found: list[Gap] = []
    for number, low in enumerate(bounds):
        last = number + 1 == len(bounds)
        prefix = 0 if last else _shared(low, bounds[number + 1])
        bottom = spread(low, prefix)
        top = WHOLE if last else spread(bounds[number + 1], prefix)
        start, end = ends[number], ends[number + 1]
        found.append((start, end - start, end, prefix, bottom, top - bottom))
    return found


def _shared(one: bytes, other: bytes) -> int:
    """Return the length of the prefix that two texts share."""
    shorter = min(len(one), len(other))
    return next((place for place in range(shorter) if one[place] != other[place]), shorter)


def spread(text: bytes, first: int = 0) -> int:
    """Return where bytes from `first` on lie among all bytes, between 0 and 2^62: nested intervals, exactly."""
    low, width = 0, WHOLE
    for byte in text[first:]:
        part = width // PARTS
        if not part:
            break
        if byte < 0x20:
            low, width = low + part * byte, part
        elif byte < 0x7F:
            low, width = low + part * (CONTROL + 10 * (byte - 0x20)), 10 * part
        else:
            low, width = low + part * (PRINTABLE + byte - 0x7F), part
    return low


def utf8_bytes(text: str) -> bytes:
    """Return a text as UTF-8; half a surrogate pair, which a bound may have, keeps its place in the order."""
    return text.encode("utf-8", "surrogatepass")


def least_text(reached: Callable[[bytes], bool]) -> bytes | None:
    """Return the least bytes for which a monotone condition of a code holds; None where it holds for none."""
    tail = b"\xff" * (4 * LONGEST_KNOT + 16)  # past every knot and past what `spread` looks at
    found = b""
    while not reached(found):
        low, high = 0, 256
        while low < high:
            middle = (low + high) // 2
            if reached(found + bytes([middle]) + tail):
                high = middle
            else:
                low = middle + 1
        if low == 256:
            return None
        found += bytes([low])
    return found


def _bytes(data: Any) -> NDArray[np.uint8]:
    return np.empty(0, np.uint8) if data is None or not len(data) else np.frombuffer(data, np.uint8)
