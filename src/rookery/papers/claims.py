"""The list of claims (`claims.toml`), and the experiment of each.

The list is the contract: a claim without an experiment, or an experiment without a claim, is an error. `verdict` in the
list is the committed one; `timed` says that the verdict rests on a measured time, which another machine may decide
otherwise.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from rookery.errors import SettingsError
from rookery.papers.sweeps import Sweep, Task
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["Claim", "Experiment", "chosen", "claims"]


@dataclass(frozen=True, slots=True)
class Claim:
    """What a seed says, and what was found when the list was last committed."""

    name: str
    section: str
    says: str
    verdict: Verdict
    timed: bool

    @property
    def seed(self) -> str:
        """`seed-000` … `seed-004`, or `beyond`."""
        return self.name.partition("/")[0]

    @property
    def module(self) -> str:
        """The module of its experiment."""
        return f"{__package__}.{self.name.replace('-', '_').replace('/', '.')}"


@dataclass(frozen=True, slots=True)
class Experiment:
    """The parts of an experiment's module."""

    claim: Claim
    module: ModuleType

    @classmethod
    def of(cls, claim: Claim) -> Experiment:
        """Import the experiment of a claim."""
        return cls(claim, importlib.import_module(claim.module))

    def sweep(self, *, quick: bool) -> Sweep:
        """Return the parameters."""
        return cast(Sweep, self.module.QUICK if quick else self.module.FULL)

    def tasks(self, *, quick: bool, seed: int) -> list[Task]:
        """Return the tasks. Claims whose modules share one `run` share its tasks, and each task runs once."""
        sweep, home = self.sweep(quick=quick), cast(Callable[..., Any], self.module.run).__module__
        return [
            Task(home, configuration, seed + number)
            for configuration in sweep.configurations
            for number in range(sweep.runs)
        ]

    @property
    def times(self) -> tuple[str, ...]:
        """The columns that are measured times, or made from them."""
        return tuple(getattr(self.module, "TIMES", ()))

    def plot(self, table: Table) -> Any:
        """Draw the rows."""
        return self.module.plot(table)

    def check(self, table: Table) -> Judgment:
        """Judge the rows."""
        return cast(Judgment, self.module.check(table))

    def rows(self, tasks: Sequence[Task], outcomes: Sequence[Sequence[Row]]) -> Table:
        """Return the table: for each row its configuration, its seed, and what was measured."""
        return Table(
            [
                {**task.parameters, "seed": task.seed, **row}
                for task, found in zip(tasks, outcomes, strict=True)
                for row in found
            ]
        )


@functools.cache
def claims() -> tuple[Claim, ...]:
    """Return all claims, in the order of the list."""
    document = tomllib.loads((Path(__file__).parent / "claims.toml").read_text(encoding="utf-8"))
    return tuple(
        Claim(
            name=entry["name"],
            section=entry["section"],
            says=entry["says"],
            verdict=Verdict(entry["verdict"]),
            timed=entry.get("timed", False),
        )
        for entry in document["claim"]
    )


def chosen(names: Sequence[str]) -> tuple[Claim, ...]:
    """Return the claims of these names, or of these seeds; all of them for no name."""
    if not names:
        return claims()
    known = {claim.name for claim in claims()} | {claim.seed for claim in claims()}
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, sorted(known), n=1)
            advice = f"did you mean {close[0]!r}?" if close else "`rookery reproduce --list` shows them"
            raise SettingsError(f"no claim {name!r}: {advice}")
    return tuple(claim for claim in claims() if claim.name in names or claim.seed in names)
