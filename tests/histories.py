"""A history of a world is a seed; one that fails is told with its fewest faults, and a command that replays it.

The faults of a history (crashes, cuts, pauses, full disks) are numbered as they come: `Faults.strikes` is asked before
each one, and may leave it out. What else a history draws from its dice stays as it was. So a failing history can be
lived through again with fewer faults, and the smallest set that still fails is found by leaving out halves, quarters
and so on (Zeller's delta debugging).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping

__all__ = ["Faults", "fewest", "live_or_shrink", "live_through_all", "replayed"]


class Faults:
    """Which of the faults of a history strike: all of them, or those of a set."""

    def __init__(self, only: Iterable[int] | None = None) -> None:
        self.count = 0
        self._only = None if only is None else frozenset(only)

    def strikes(self) -> bool:
        """Tell whether the next fault strikes."""
        number = self.count
        self.count += 1
        return self._only is None or number in self._only


def fewest(fails: Callable[[list[int]], bool], faults: list[int]) -> list[int]:
    """Return a part of these faults that fails and of which no single one can be left out."""
    parts = 2
    while len(faults) >= 2:
        size = -(-len(faults) // parts)
        chunks = [faults[start : start + size] for start in range(0, len(faults), size)]
        for chunk in chunks:
            left = [fault for fault in faults if fault not in chunk]
            if fails(left):
                faults, parts = left, max(parts - 1, 2)
                break
        else:
            if size == 1:
                break
            parts = min(2 * parts, len(faults))
    return [] if len(faults) == 1 and fails([]) else faults


def live_or_shrink(live: Callable[[int, Faults], object], seed: int, *, test: str) -> None:
    """Live through a history; where it fails raise with its fewest faults and the command that replays them."""
    faults = Faults()
    try:
        live(seed, faults)
    except Exception as error:
        left = fewest(lambda only: _fails(live, seed, only), list(range(faults.count)))
        named = ",".join(map(str, left)) or "none"
        raise AssertionError(
            f"history {seed} fails with {len(left)} of its {faults.count} faults; "
            f"replay: ROOKERY_SEED={seed} ROOKERY_FAULTS={named} pytest {test}"
        ) from error


def live_through_all(
    live: Callable[[int, Faults], object],
    seeds: Iterable[int],
    *,
    test: str,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Live through many histories, all of them even where some fail; then raise with how to replay those that did.

    `say` is told of each failure when it is found, and in the end how many there were.
    """
    count, failures = 0, []
    for seed in seeds:
        count += 1
        try:
            live_or_shrink(live, seed, test=test)
        except AssertionError as failure:
            failures.append(failure)
            say(f"{failure}: {failure.__cause__!r}")
    say(f"{count} histories, the last one {seed}: {len(failures)} failed" if count else "no histories")
    if failures:
        raise AssertionError("\n".join(map(str, failures))) from failures[0].__cause__


def replayed(environment: Mapping[str, str] = os.environ) -> tuple[int, Faults] | None:
    """Return the history that a replay command names, if one does: for tests, no command reads these variables."""
    if "ROOKERY_SEED" not in environment:
        return None
    named = environment.get("ROOKERY_FAULTS", "")
    only = None if not named else [int(fault) for fault in named.split(",") if fault != "none"]
    return int(environment["ROOKERY_SEED"]), Faults(only)


def _fails(live: Callable[[int, Faults], object], seed: int, only: list[int]) -> bool:
    try:
        live(seed, Faults(only))
    except Exception:
        return True
    return False
