"""A compiled set that another engine matches.

What is saved and sent is always the index of `bitmap`: one format, whoever matches. Where the set is used, another
engine's structure may be built from its rows, once in a process; the answers are the same, pair for pair.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from rookery.matching.compiled import CompiledSet
from rookery.matching.view import Engine

__all__ = ["OtherEngine"]

Array = np.ndarray[Any, Any]


class OtherEngine(CompiledSet):
    """A compiled set with the structure of another engine; its bytes and its hash are those of the set itself."""

    __slots__ = ("_set",)

    def __init__(self, compiled: CompiledSet, engine: Engine) -> None:
        view = compiled._view
        packed = engine.packed(view.engine.rows(), view.space)
        super().__init__(dataclasses.replace(view, engine=packed), compiled.content_hash)
        self._set = compiled

    @property
    def engine(self) -> str:
        """The name of the engine."""
        return self._view.engine.name

    def _parts(self) -> tuple[dict[str, Any], dict[str, Array]]:
        return self._set._parts()
