"""The states of edited sets that a process holds: a compiled set and the edits behind it, ready to match.

A worker process that has a set takes the next edits to it in time that does not grow with the set. What a set is, its
number says (`versions`): the same number is the same content, whether it was compiled whole or came by edits. So who
holds a state goes on from it, also past a merge, which names a compiled set that is the same; who holds none, or only a
later one, as a replay may, begins at the last set before that was compiled whole.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from rookery import CompiledSet
    from rookery.matching import Matcher

__all__ = ["STATES", "EditedSet", "SetStates", "apply_edit", "resumed"]

#: Sets that a process keeps: one that is edited, and one of before for a replay.
KEPT = 2


def resumed(carrier: Any) -> Matcher:
    """Return a state that goes on from a set that was compiled whole."""
    from rookery.matching import Matcher
    from rookery.matching.bitmap.engine import BitmapEngine

    return Matcher.resume(carrier.load(), BitmapEngine)


def apply_edit(state: Matcher, touched: pa.Array, records: pa.Table) -> None:
    """Put the compiled records of an edit in the place of all that a set holds of its ids."""
    state.replace_many(touched.drop_null().to_pylist(), records)


@dataclass(frozen=True, slots=True)
class EditedSet:
    """A set that came by edits: `edits` are the numbers and the names behind the set of number `whole`."""

    log: Any  # a VersionLog
    whole: int
    made: str
    edits: tuple[tuple[int, str], ...]

    @property
    def key(self) -> str:
        """What tells this set from others."""
        return f"{self.log.folder}/{self.number}"

    @property
    def number(self) -> int:
        """The number of the set whose content this is."""
        return self.edits[-1][0] if self.edits else self.whole

    def load(self) -> CompiledSet:
        """Return the set, its edits taken at the first call in this process."""
        return STATES.state(self).standing(self.key)


class SetStates:
    """The states in one process, each under the number of its set."""

    def __init__(self) -> None:
        self.states: OrderedDict[str, Matcher] = OrderedDict()

    def state(self, wanted: EditedSet) -> Matcher:
        """Return the state of a set, and keep it."""
        return self._kept(wanted.key, self._state(wanted))

    def edited(self, wanted: EditedSet, edit: Callable[[Matcher], bool], after: Callable[[], str]) -> None:
        """Edit the state of a set by a call, and keep it under the key of what it is then; no longer if it says no."""
        state = self._state(wanted)
        if edit(state):
            self._kept(after(), state)

    def _state(self, wanted: EditedSet) -> Matcher:
        """Take the nearest state of before out of what is kept, and bring it up."""
        later = list(wanted.edits)
        for place in range(len(later), -1, -1):
            number = later[place - 1][0] if place else wanted.whole
            found = self.states.pop(f"{wanted.log.folder}/{number}", None)
            if found is not None:
                later = later[place:]
                break
        else:
            found, later = self._begun(wanted)
        for _, name in later:
            apply_edit(found, *wanted.log.edit(name))
        return found

    def _begun(self, wanted: EditedSet) -> tuple[Matcher, list[tuple[int, str]]]:
        """Return a state at the last set that was compiled whole, and the edits behind it."""
        nearest = wanted.log.nearest(wanted)
        return resumed(nearest.log.whole(nearest.made)), list(nearest.edits)

    def _kept(self, key: str, state: Matcher) -> Matcher:
        self.states[key] = state
        self.states.move_to_end(key)
        while len(self.states) > KEPT:
            self.states.popitem(last=False)
        return state


STATES = SetStates()
