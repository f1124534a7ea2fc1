"""The paths that a schema wants of documents, as a table of keys by the object in which they stand.

Theory. A condition reaches `a.b` as the key `a.b`, or as `b` inside `a`: a name is cut at any of its dots. So a state
is what stands before a key, with its dot (`a.`), and a cell is a key in a state: the slots that its value fills, and
the state inside it. The objects of a Windows event are states of their own, in which a key fills the slot of its bare
name too (`documents.py`, rule 3). A slot is a path; several columns may be made of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rookery.model.document_kernels import key_hash

__all__ = ["PathTable", "path_table"]

#: A state: which object of a Windows event it is (none mostly), and what stands before its keys.
State = tuple[str, str]
_ROOT: State = ("", "")
#: What the keys of the objects of a Windows event lead to, from a kind of object to another.
_WINDOWS = {
    ("", "Event"): "event", ("event", "EventData"): "data", ("event", "UserData"): "user",
    ("event", "System"): "system", ("system", "Provider"): "provider name", ("system", "EventID"): "event id",
    ("provider name", "#attributes"): "provider attributes",
}  # fmt: skip
#: The objects whose keys are fields by their own names; of the last, also those that are objects.
_BARE = ("data", "user", "system", "inside user")
#: Fields of a Windows event that stand deeper: the object, the key, the name.
_DEEPER = {("provider attributes", "Name"): "Provider_Name", ("event id", "#text"): "EventID"}
_HIDDEN = "Event.UserData."


@dataclass(frozen=True, slots=True)
class PathTable:
    """Cells for the kernels: `table` is what `read_documents` takes, `plain` and `chosen` the slots of paths."""

    table: tuple[Any, Any, Any, Any, int]
    plain: dict[str, int]
    chosen: dict[str, int]
    slots: int


def path_table(plain: Iterable[str], chosen: Iterable[str], *, everything: bool) -> PathTable | None:
    """Return the table of paths whose values are wanted, and of those of which one item is chosen.

    `everything`: a last slot takes every value. None where a path goes through an object of any name.
    """
    plain_slots = {name: slot for slot, name in enumerate(dict.fromkeys(plain))}
    chosen_slots = {name: len(plain_slots) + slot for slot, name in enumerate(dict.fromkeys(chosen))}
    if any(name.startswith(_HIDDEN) for name in (*plain_slots, *chosen_slots)):
        return None
    made = _Cells(plain_slots, chosen_slots)
    made.visit(_ROOT)
    slots = len(plain_slots) + len(chosen_slots)
    keywords = slots if everything else -1
    return PathTable((*made.arrays(), keywords), plain_slots, chosen_slots, slots + everything)


class _Cells:
    """The cells of all states that can be reached."""

    def __init__(self, plain: dict[str, int], chosen: dict[str, int]) -> None:
        self.plain, self.chosen = plain, chosen
        #: The keys that may stand behind a prefix.
        self.keys: dict[str, set[str]] = {}
        for name in (*plain, *chosen):
            dots = [-1, *(place for place, one in enumerate(name) if one == "."), len(name)]
            for place, start in enumerate(dots[:-1]):
                self.keys.setdefault(name[: start + 1], set()).update(
                    name[start + 1 : stop] for stop in dots[place + 1 :]
                )
        self.inside = {name[: place + 1] for name in chosen for place, one in enumerate(name) if one == "."}
        self.states: dict[State, int] = {}
        self.others: list[int] = []
        self.rows: list[list[int]] = []
        self.blob = bytearray()

    def visit(self, state: State) -> int:
        """Return the number of a state, after its cells were made."""
        if state in self.states:
            return self.states[state]
        number = self.states[state] = len(self.states)
        self.others.append(-1)
        kind, prefix = state
        keys = set() if kind == "inside user" else set(self.keys.get(prefix, ()))
        if kind or not prefix:
            keys |= {key for home, key in (*_WINDOWS, *_DEEPER) if home == kind}
        if kind in _BARE:
            keys |= set(self.plain)
        for key in sorted(keys):
            self._cell(number, kind, prefix, key)
        if kind == "user":  # its fields stand one object deeper, under a name of the provider's
            self.others[number] = self.visit(("inside user", ""))
        return number

    def _cell(self, number: int, kind: str, prefix: str, key: str) -> None:
        path = prefix + key
        within = _WINDOWS.get((kind, key)) if kind or not prefix else None
        hidden = kind == "inside user"
        inside = -1
        if within is not None or (not hidden and path + "." in self.keys):
            inside = self.visit((within or "", path + "."))
        own = -1 if hidden else self.plain.get(path, -1)
        bare, any_value = -1, 0
        if kind in _BARE:
            bare, any_value = self.plain.get(key, -1), int(hidden)
        elif (kind, key) in _DEEPER:
            bare, any_value = self.plain.get(_DEEPER[kind, key], -1), 1
        chosen = -1 if hidden else self.chosen.get(path, -1)
        text = key.encode()
        self.rows.append(
            [number, len(self.blob), len(text), own, bare, any_value, inside, chosen, int(path + "." in self.inside)]
        )
        self.blob += text

    def arrays(self) -> tuple[Any, Any, Any, Any]:
        """Return the index of the cells by their hashes, the cells, the keys, and where other keys lead."""
        cells = np.array(self.rows or [[-1] * 9], np.int64).reshape(-1, 9)
        keys = np.frombuffer(bytes(self.blob) or b"\0", np.uint8)
        index = np.full(1 << (2 * len(cells) - 1).bit_length(), -1, np.int64)
        for number, (state, first, length) in enumerate(cells[:, :3].tolist()):
            place = int(key_hash(state, keys[first : first + length])) % len(index)
            while index[place] >= 0:
                place = (place + 1) % len(index)
            index[place] = number
        return index, cells, keys, np.array(self.others, np.int64)
