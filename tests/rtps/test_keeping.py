"""What the owner has and what of that is safe, against two plain sets of numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rookery.rtps.identity import Guid
from rookery.rtps.keeping import Keeping

WRITER = Guid(b"w" * 12, 0x103)


@given(st.lists(st.one_of(st.just(None), st.integers(0, 30)), max_size=40), st.integers(0, 5))
def test_nothing_is_acknowledged_before_it_is_safe(steps: list[int | None], kept: int) -> None:
    account = Keeping({WRITER: kept} if kept else {})
    delivered, safe = kept, kept
    assert account.next_of(WRITER) == (kept + 1 if kept else None)
    for step in steps:
        if step is None:
            delivered += 1
            account.deliver(WRITER, delivered)
        else:
            is_news = safe < delivered and step > safe
            assert account.keep(WRITER, step) == is_news
            safe = max(safe, min(step, delivered))
        assert account.acknowledged(WRITER, delivered + 1) == safe + 1
        assert account.waits(WRITER) == (safe < delivered)
        assert account.next_of(WRITER) == (delivered + 1 if delivered else None)
