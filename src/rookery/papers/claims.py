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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rookery.errors import SettingsError
from rookery.papers.experiments import Experiment
from rookery.papers.verdicts import Verdict

__all__ = ["Claim", "chosen", "claims"]


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
    def experiment(self) -> Experiment:
        """How it is tried: the entry of its name in the `CLAIMS` of its seed."""
        seed, _, name = self.name.partition("/")
        entries: dict[str, Experiment] = importlib.import_module(f"{__package__}.{seed.replace('-', '_')}").CLAIMS
        return entries[name]


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
