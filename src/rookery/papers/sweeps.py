"""Parameters of an experiment: which configurations, and with how many seeds each."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from rookery.papers.table import Cell

__all__ = ["Sweep", "Task", "grid"]


@dataclass(frozen=True, slots=True)
class Sweep:
    """Configurations, each run with `runs` seeds."""

    configurations: tuple[Mapping[str, Cell], ...]
    runs: int = 1


def grid(*, runs: int = 1, **choices: Any) -> Sweep:
    """Return every combination of the choices; what is no list is the same in all."""
    lists = [value if isinstance(value, list | tuple | range) else [value] for value in choices.values()]
    return Sweep(tuple(dict(zip(choices, point, strict=True)) for point in itertools.product(*lists)), runs)


@dataclass(frozen=True, slots=True)
class Task:
    """One configuration with one seed of the experiment whose `run` is in `module`."""

    module: str
    parameters: Mapping[str, Cell]
    seed: int

    def key(self, code: str) -> str:
        """Return what names the outcome: the same task by the same code has the same rows."""
        text = json.dumps([code, self.module, dict(self.parameters), self.seed], sort_keys=True)
        return blake2b(text.encode(), digest_size=16).hexdigest()
