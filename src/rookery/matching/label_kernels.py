"""The kernel that looks texts up among others that lie in order, by halves. Twin: `tests/twins/labels.py`.

Texts lie as Arrow has them, as UTF-8 one behind the other, each from one start to the next; the order of their bytes is
that of their characters.
"""

from __future__ import annotations

from typing import Any

from rookery.kernels import short_kernel

__all__ = ["around_texts"]


@short_kernel
def around_texts(data: Any, starts: Any, known: Any, known_starts: Any, labels: Any, exact: Any, below: Any) -> None:
    """For each text note the label of the same known text, if there is one, and the greatest of those before it.

    What is in `exact` and `below` stays where these known texts have nothing to say.
    """
    for row in range(starts.shape[0] - 1):
        first, end = starts[row], starts[row + 1]
        size = end - first
        low, high = 0, labels.shape[0]
        same = False
        while low < high:
            middle = (low + high) // 2
            other, stop = known_starts[middle], known_starts[middle + 1]
            shorter = min(size, stop - other)
            place = 0
            while place < shorter and data[first + place] == known[other + place]:
                place += 1
            if place < shorter:
                after = data[first + place] > known[other + place]
            else:
                after = size > stop - other
                if size == stop - other:
                    exact[row] = labels[middle]
                    same = True
                    break
            if after:
                low = middle + 1
            else:
                high = middle
        if not same and low and labels[low - 1] > below[row]:
            below[row] = labels[low - 1]
