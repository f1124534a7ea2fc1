"""The kernel that looks texts up in plain Python; `rows.py` says what a twin is."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["around_texts"]

Array = np.ndarray[Any, Any]


def _texts(data: Array, starts: Array) -> list[bytes]:
    return [data[first:end].tobytes() for first, end in pairwise(starts.tolist())]


def around_texts(
    data: Array, starts: Array, known: Array, known_starts: Array, labels: Array, exact: Array, below: Array
) -> None:
    """Note the label of the same known text, or the greatest of those before it."""
    there = _texts(known, known_starts)
    for row, text in enumerate(_texts(data, starts)):
        place = bisect_left(there, text)
        if place < len(there) and there[place] == text:
            exact[row] = labels[place]
        elif place:
            below[row] = max(below[row], labels[place - 1])
