"""The writer's history against a list: after any steps it holds what its policy says, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import HistoryFullError
from rookery.rtps.events import SampleKind
from rookery.rtps.history import Change, History

KINDS = st.sampled_from([SampleKind.ALIVE] * 3 + [SampleKind.DISPOSED, SampleKind.UNREGISTERED])
STEPS = st.lists(
    st.tuples(st.just("add"), st.sampled_from([b"a", b"b", b"c"]), KINDS)
    | st.tuples(st.just("acknowledge"), st.integers(0, 30), st.just(None)),
    max_size=40,
)


class PlainHistory:
    """The slow twin: a list of changes, searched from end to end."""

    def __init__(self, depth: int | None, keeps: bool) -> None:
        self.depth, self.keeps, self.changes, self.last = depth, keeps, [], 0
        self.changes: list[Change] = []

    def add(self, kind: SampleKind, instance: bytes) -> None:
        self.last += 1
        self.changes.append(Change(self.last, kind, instance, b"", None))
        same = [change for change in self.changes if change.instance == instance]
        if self.depth is not None and len(same) > self.depth:
            self.changes.remove(same[0])

    def acknowledge(self, before: int) -> None:
        if not self.keeps:
            self.changes = [change for change in self.changes if change.sequence >= before]
            return
        if self.depth is None:
            return
        for end in [c for c in self.changes if c.kind & SampleKind.UNREGISTERED and c.sequence < before]:
            self.changes = [c for c in self.changes if c.instance != end.instance or c.sequence > end.sequence]


@given(STEPS, st.none() | st.integers(1, 3), st.booleans())
def test_agrees_with_a_list(steps: list[tuple[str, object, object]], depth: int | None, keeps: bool) -> None:
    fast, slow = History(depth=depth, keeps_for_late_readers=keeps, at_most=1_000), PlainHistory(depth, keeps)
    for step, argument, kind in steps:
        if step == "add":
            fast.add(kind, argument, b"", None)  # type: ignore[arg-type]
            slow.add(kind, argument)  # type: ignore[arg-type]
        else:
            # Nobody can acknowledge what was not written.
            before = min(argument, fast.last + 1)  # type: ignore[call-overload, type-var]
            fast.acknowledged_before(before)
            slow.acknowledge(before)
        assert list(fast) == slow.changes
        assert len(fast) == len(slow.changes)
        assert fast.first == (slow.changes[0].sequence if slow.changes else slow.last + 1)
        for number in range(1, slow.last + 1):
            assert fast.get(number) == next((c for c in slow.changes if c.sequence == number), None)


def test_a_full_history_is_the_callers_business() -> None:
    history = History(depth=None, keeps_for_late_readers=False, at_most=2)
    for _ in range(2):
        history.add(SampleKind.ALIVE, b"", b"", None)
    with pytest.raises(HistoryFullError, match="2 samples are waiting"):
        history.add(SampleKind.ALIVE, b"", b"", None)
    history.acknowledged_before(2)
    assert history.add(SampleKind.ALIVE, b"", b"", None).sequence == 3


def test_keep_last_takes_the_place_of_an_older_sample_even_when_full() -> None:
    history = History(depth=1, keeps_for_late_readers=True, at_most=1)
    history.add(SampleKind.ALIVE, b"a", b"", None)
    assert history.add(SampleKind.ALIVE, b"a", b"", None).sequence == 2
    with pytest.raises(HistoryFullError):
        history.add(SampleKind.ALIVE, b"b", b"", None)
