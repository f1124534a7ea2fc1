"""Events once for each condition on texts that they have: to an engine the label is one more value to be equal to.

Rule: memory is bounded by INSTANCE_CODES, however many labels there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["probe_instances"]

Array = np.ndarray[Any, Any]
#: Codes of instances that are matched at a time.
INSTANCE_CODES = 1 << 21


def probe_instances(
    probe: Callable[[Array], Array], codes: Array, number: int, events: Array, labels: Array
) -> Iterator[tuple[Array, Array]]:
    """Yield the places of labels, and the slots of the rows that hold with them; `number` is that of `$text`.

    Label i is one of event `events[i]`, whose codes are a line of `codes`.
    """
    step = max(1, INSTANCE_CODES // codes.shape[1])
    for begin in range(0, len(labels), step):
        instances = codes[events[begin : begin + step]]
        instances[:, number] = labels[begin : begin + step]
        pairs = probe(instances)
        yield begin + (pairs >> 32), pairs & 0xFFFFFFFF
