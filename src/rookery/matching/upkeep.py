"""Upkeep: what an edit leaves for later is done by a thread beside it, and put in place whole.

Rule 1: there is no thread while there is nothing to do. An edit that leaves work behind starts one; it does one chore
after the other and ends.
Rule 2: a chore runs on one state of the set, which nobody changes, and without the editor's lock. With the lock it is
then put in place, in a moment; where the set has become another meanwhile, it is given up.
Rule 3: a set that nobody holds any more is not kept by its thread, and a program that ends waits for one chore at most.
"""

from __future__ import annotations

import dataclasses
from threading import Lock, Thread, main_thread
from typing import Protocol
from weakref import ref

from rookery.matching.catalog import Catalog
from rookery.matching.ids import IdTable
from rookery.matching.view import Merge, View

__all__ = ["Chore", "Filing", "KeptSet", "Merging", "keep"]


class Chore(Protocol):
    """Some work on a state of a set."""

    def run(self) -> None:
        """Do it, without the lock."""

    def finish(self, view: View, catalog: Catalog) -> View | None:
        """Put it in place: return the view that follows this one, None if nothing comes of it."""


class KeptSet(Protocol):
    """A set that is kept up."""

    lock: Lock

    def next_chore(self) -> Chore | None:
        """Return what is to be done next; None ends the thread. The lock is held."""

    def finish(self, chore: Chore) -> None:
        """Put a chore in place. The lock is held."""


class Merging:
    """Segments of the engine become one."""

    __slots__ = ("_merge", "_view")

    def __init__(self, view: View, merge: Merge) -> None:
        self._view, self._merge = view, merge

    def run(self) -> None:
        self._merge.run(self._view.space, self._view.alive)

    def finish(self, view: View, catalog: Catalog) -> View | None:
        engine = self._merge.applied(view.engine)
        return None if engine is None else dataclasses.replace(view, engine=engine)


class Filing:
    """The list of the newest records joins the table of the others, and ids are filed."""

    __slots__ = ("_before", "_catalog", "_ids", "_settled", "_view")

    def __init__(self, view: View, catalog: Catalog) -> None:
        self._view, self._catalog = view, catalog
        catalog.begin_filing()

    def run(self) -> None:
        self._settled = self._view.records.settled()
        self._ids = IdTable(self._settled.id_column(), self._view.alive)

    def finish(self, view: View, catalog: Catalog) -> View | None:
        records = self._view.records.joined(self._settled, view.records)
        if records is None or catalog is not self._catalog:
            return None
        catalog.file(self._ids)
        catalog.follow(records, view.alive)
        return dataclasses.replace(view, records=records)


def keep(kept: KeptSet) -> Thread:
    """Start a thread that does chores until there is none."""
    # No daemon: one that is cut off in the middle of Arrow's or a kernel's work takes the whole process with it.
    thread = Thread(target=_work, args=(ref(kept),), name="rookery upkeep")
    thread.start()
    return thread


def _work(reference: ref[KeptSet]) -> None:
    while (kept := reference()) is not None and main_thread().is_alive():
        with kept.lock:
            chore = kept.next_chore()
        if chore is None:
            return
        lock, kept = kept.lock, None
        chore.run()
        with lock:
            if (kept := reference()) is not None:
                kept.finish(chore)
        del chore, kept
