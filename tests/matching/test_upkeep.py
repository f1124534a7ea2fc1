"""What edits leave for later is done beside them and put in place whole; what no longer fits is given up."""

from __future__ import annotations

import gc
import sys
import threading
from random import Random
from typing import Any
from weakref import ref

import numpy as np
import pytest

import rookery
from rookery.matching import upkeep
from rookery.matching.bitmap.engine import BitmapEngine

SCHEMA = rookery.Schema(s=str, x=int)


class Postponed:
    """The upkeep of a set, done when the test says so."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.kept: Any = None
        patch.setattr(sys.modules["rookery.matching.matcher"], "keep", self.keep)

    def keep(self, kept: Any) -> threading.Thread:
        self.kept = kept
        return threading.Thread()  # is not alive: it never was

    def begin(self) -> Any:
        if self.kept is None:
            return None
        with self.kept.lock:
            chore = self.kept.next_chore()
        if chore is not None:
            chore.run()
        return chore

    def end(self, chore: Any) -> bool:
        """Put a chore in place; say whether anything came of it."""
        before = self.kept._view
        with self.kept.lock:
            self.kept.finish(chore)
        return self.kept._view is not before


@pytest.fixture
def postponed(monkeypatch: pytest.MonkeyPatch) -> Postponed:
    monkeypatch.setattr("rookery.matching.bitmap.engine.TAIL_ROWS", 20)
    monkeypatch.setattr("rookery.matching.bitmap.engine.LEAST_SEGMENT", 30)
    monkeypatch.setattr("rookery.matching.records.LEAST_TAIL", 25)
    return Postponed(monkeypatch)


class Pair:
    """A set and the same set as `scan` holds it."""

    def __init__(self) -> None:
        self.fast: Any = rookery.matcher(SCHEMA)
        self.scan: Any = rookery.matcher(SCHEMA, engine="scan")
        self.random = Random(3)
        self.ids: list[str] = []

    def edit(self, count: int) -> None:
        for _ in range(count):
            way = self.random.randrange(4) if self.ids else 0
            name = f"i{len(self.ids)}-{self.random.random()}" if way < 2 else self.random.choice(self.ids)
            where = f"s = 't{self.random.randrange(9)}' AND x > {self.random.randrange(30)}"
            if way < 2:
                self.ids.append(name)
            elif way == 3:
                self.ids.remove(name)
            for one in (self.fast, self.scan):
                if way == 3:
                    one.remove(name)
                else:
                    (one.add if way < 2 else one.replace)(name, where)

    def check(self) -> None:
        for place in range(9):
            event = {"s": f"t{place}", "x": 3 * place}
            assert sorted(self.fast.match(event)) == sorted(self.scan.match(event))
        assert len(self.fast) == len(self.ids)
        assert all(name in self.fast for name in self.ids)
        assert "nobody" not in self.fast


def test_every_chore_leaves_the_set_what_it_is(postponed: Postponed) -> None:
    """Edits go on between the beginning and the end of each chore."""
    pair, kinds = Pair(), set()
    for _ in range(40):
        pair.edit(25)
        while (chore := postponed.begin()) is not None:
            kinds.add(type(chore))
            pair.edit(3)
            assert postponed.end(chore)
            pair.check()
    assert kinds == {upkeep.Merging, upkeep.Filing}
    engine = pair.fast._view.engine
    assert engine.merge_due() is None
    assert len(engine.segments) < 6
    assert not pair.fast._view.records.is_long


@pytest.mark.parametrize("other", ["packed", "relabeled"])
def test_a_chore_on_a_set_that_has_become_another_is_given_up(postponed: Postponed, other: str) -> None:
    pair = Pair()
    pair.edit(120)
    for _ in range(2):
        chores = []
        while not chores or isinstance(chores[-1], upkeep.Filing):
            chores.append(postponed.begin())
            assert chores[-1] is not None
            if isinstance(chores[-1], upkeep.Filing):
                assert postponed.end(chores[-1])
        pair.edit(1)
        if other == "packed":
            pair.fast.remove(pair.ids[-1])
            pair.scan.remove(pair.ids.pop())
            pair.fast.compact()
        else:
            for step in range(140):
                pair.ids.append(f"m{len(pair.ids)}")
                for one in (pair.fast, pair.scan):
                    one.add(pair.ids[-1], f"s > '{'m' * (step // 2) + 'az'[step % 2]}'")
        pair.check()
        postponed.end(chores[-1])
        pair.check()
        pair.edit(60)


def test_filing_is_given_up_where_the_set_was_packed(postponed: Postponed) -> None:
    pair = Pair()
    pair.edit(150)
    chore = postponed.begin()
    assert isinstance(chore, upkeep.Filing)
    pair.fast.compact()
    assert not postponed.end(chore)
    pair.check()


def test_a_merge_leaves_out_the_dead(postponed: Postponed) -> None:
    matcher: Any = rookery.matcher(SCHEMA)
    for number in range(100):
        matcher.add(number, f"x = {number}")
    for number in range(0, 100, 2):
        matcher.remove(number)
    while (chore := postponed.begin()) is not None:
        assert postponed.end(chore)
    engine = matcher._view.engine
    assert isinstance(engine, BitmapEngine)
    assert np.count_nonzero(engine.index.slot % 2 == 0) < 10
    assert [matcher.match({"s": "", "x": number}) for number in range(4)] == [[], [1], [], [3]]


def test_the_thread_does_it_all_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rookery.matching.bitmap.engine.TAIL_ROWS", 20)
    monkeypatch.setattr("rookery.matching.bitmap.engine.LEAST_SEGMENT", 30)
    pair = Pair()
    pair.edit(600)
    thread = pair.fast._keeper
    if thread is not None:
        thread.join()
    assert pair.fast._keeper is None
    assert pair.fast._view.engine.merge_due() is None
    pair.check()


def test_a_set_that_nobody_holds_is_not_kept_by_its_upkeep(postponed: Postponed) -> None:
    matcher: Any = rookery.matcher(SCHEMA)
    for number in range(100):
        matcher.add(number, f"x = {number}")
    chore, gone = postponed.begin(), ref(matcher)
    postponed.kept = None
    del matcher
    gc.collect()
    assert gone() is None
    assert chore is not None


@pytest.mark.parametrize("kind", [str, int])
def test_a_loaded_set_is_edited_before_and_after_its_ids_are_filed(postponed: Postponed, kind: Any) -> None:
    matcher: Any = rookery.matcher(SCHEMA)
    matcher.add_many([{"subscription_id": kind(number), "where": f"x = {number}"} for number in range(50)])
    loaded: Any = rookery.matcher(matcher.compile())
    for round_ in range(2):
        first = 10 * round_
        loaded.replace(kind(first), "x = 900")
        loaded.remove(kind(first + 1))
        loaded.add(kind(first + 1000), "x = 900")
        with pytest.raises(rookery.errors.DuplicateSubscriptionError):
            loaded.add(kind(first + 2), "x = 5")
        with pytest.raises(rookery.errors.UnknownSubscriptionError):
            loaded.remove(kind(first + 1))
        assert loaded.match({"s": "", "x": 900})[-2:] == [kind(first), kind(first + 1000)]
        while (chore := postponed.begin()) is not None:
            assert postponed.end(chore)
        assert loaded._catalog.unfiled == 0
    assert len(loaded) == 50


def test_a_merge_is_taken_by_who_has_its_very_segments(postponed: Postponed) -> None:
    one: Any = rookery.matcher(SCHEMA)
    other: Any = rookery.matcher(SCHEMA)
    for number in range(100):
        one.add(number, f"x = {number}")
        other.add(number, f"x = {number + 1}")
    view: Any = one._view
    merge = view.engine.merge_due()
    merge.run(view.space, view.alive)
    assert merge.applied(other._view.engine) is None
    assert len(merge.applied(view.engine).segments) < len(view.engine.segments)
