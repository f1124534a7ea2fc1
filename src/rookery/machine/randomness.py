"""What a machine needs of a generator of random numbers; `random.Random` has it all.

Rule: a machine is given its generator at construction and makes none, so that a seed decides a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

__all__ = ["RandomNumbers"]


class RandomNumbers(Protocol):
    """A source of random numbers."""

    def random(self) -> float: ...
    def getrandbits(self, k: int, /) -> int: ...
    def randrange(self, stop: int, /) -> int: ...
    def uniform(self, a: float, b: float) -> float: ...
    def paretovariate(self, alpha: float) -> float: ...
    def sample(self, population: Sequence[int], k: int) -> list[int]: ...
