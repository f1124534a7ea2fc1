"""An experiment is data: what makes its rows, with which parameters, how they are judged, and how they are drawn.

    CLAIMS["used-nodes"] = Experiment(
        rows=used_nodes,                       # (parameters, seed) → one row or several
        full=grid(used=[1, 16, 256], runs=5),  # every combination, five seeds each
        quick=grid(used=[1, 16]),              # seconds, and the same verdict
        check=check_used_nodes,                # table → Judgment
        figure=chart("names in use", "nodes", Lines("used", "nodes", by="place")),
    )

A claim that looks at another's rows is `replace(other, check=…, figure=…)`; what claims share runs once.
"""

from __future__ import annotations

import importlib
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from rookery.papers.figures import Figure
from rookery.papers.table import Cell, Row, Table
from rookery.papers.verdicts import Judgment

__all__ = ["Experiment", "Parameters", "Sweep", "Task", "grid", "several", "table_of"]

Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sweep:
    """Configurations, each run with `runs` seeds."""

    configurations: tuple[Mapping[str, Cell], ...]
    runs: int = 1


def grid(*, runs: int = 1, **choices: Any) -> Sweep:
    """Return every combination of the choices; what is no list is the same in all."""
    lists = [value if isinstance(value, list | tuple | range) else [value] for value in choices.values()]
    return Sweep(tuple(dict(zip(choices, point, strict=True)) for point in itertools.product(*lists)), runs)


def several(*sweeps: Sweep, runs: int = 1) -> Sweep:
    """Return the configurations of several sweeps, one after the other."""
    return Sweep(tuple(one for sweep in sweeps for one in sweep.configurations), runs)


@dataclass(frozen=True, slots=True)
class Task:
    """One configuration with one seed of the function `maker`, written `module:name`."""

    maker: str
    parameters: Mapping[str, Cell]
    seed: int

    def key(self, code: str) -> str:
        """Return what names the outcome: the same task by the same code has the same rows."""
        text = json.dumps([code, self.maker, dict(self.parameters), self.seed], sort_keys=True)
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def rows(self) -> list[Row]:
        """Run it in this process; rows pass through JSON, as those of every task do."""
        module, _, name = self.maker.partition(":")
        made = getattr(importlib.import_module(module), name)(self.parameters, self.seed)
        found: list[Row] = json.loads(json.dumps([made] if isinstance(made, Mapping) else list(made), allow_nan=False))
        return found


@dataclass(frozen=True, slots=True)
class Experiment:
    """How a claim is tried, judged and drawn."""

    rows: Callable[[Parameters, int], Row | Sequence[Row]]
    full: Sweep
    quick: Sweep
    check: Callable[[Table], Judgment]
    figure: Figure
    times: tuple[str, ...] = ()
    """The columns that are measured times, or made from them."""

    @property
    def maker(self) -> str:
        """What makes the rows, by name: claims that have one maker share its tasks, and each task runs once."""
        return f"{self.rows.__module__}:{self.rows.__name__}"

    def sweep(self, *, quick: bool) -> Sweep:
        """Return the parameters."""
        return self.quick if quick else self.full

    def tasks(self, *, quick: bool, seed: int) -> list[Task]:
        """Return the tasks: each configuration with each of its seeds."""
        sweep = self.sweep(quick=quick)
        return [
            Task(self.maker, configuration, seed + number)
            for configuration in sweep.configurations
            for number in range(sweep.runs)
        ]


def table_of(tasks: Sequence[Task], outcomes: Sequence[Sequence[Row]]) -> Table:
    """Return the table of an experiment: for each row its configuration, its seed, and what was measured."""
    return Table(
        [
            {**task.parameters, "seed": task.seed, **row}
            for task, found in zip(tasks, outcomes, strict=True)
            for row in found
        ]
    )
