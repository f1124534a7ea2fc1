"""Each subscription is sent again long before it would lapse, whatever comes and goes; of many, never all at once."""

from __future__ import annotations

from itertools import islice

from hypothesis import example, given, settings
from hypothesis import strategies as st

from rookery.brokers.renewal import FEW, Renewal

BEAT, REFRESH = 5, 60


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.integers(0, 600), st.sampled_from([0, 0, 1, 5]), st.integers(0, 900)), min_size=30, max_size=60
    ),
    st.sampled_from([60, 61, 64, 7, 3]),
)
@example([(FEW + 1, 0, 0)] * 40, REFRESH)
@example(
    [(6000, 0, 0), *[(0, 0, 0)] * 5, (0, 5, 3000), *[(0, 0, 0)] * 20], REFRESH
)  # those go that have had their turn
def test_each_is_sent_again_in_time(changes: list[tuple[int, int, int]], refresh: int) -> None:
    """At each beat some come, and of those that are there some of the oldest or the youngest go."""
    renewal, sent, names, now = Renewal(refresh=refresh, beat=BEAT), {}, 0, 1000
    for come, kind, go in changes:
        sent |= {names + number: now for number in range(come)}
        names += come
        leaving = islice(sent if kind == 1 else reversed(sent), go) if kind else ()
        for name in list(leaving):
            del sent[name]
        share = renewal.share(len(sent), now)
        assert not share or share <= max(2 * FEW, -(-names * BEAT // REFRESH) + FEW) or refresh < 2 * BEAT
        for name in list(islice(sent, share)):
            del sent[name]
            sent[name] = now
        # Within `refresh`, and some beats later where many come in the middle of a round; they lapse after three.
        late = [now - at for at in sent.values() if now - at > 2 * max(refresh, BEAT)]
        assert not late
        now += BEAT


def test_few_are_sent_together_and_not_again_before_their_time() -> None:
    renewal = Renewal(refresh=REFRESH, beat=BEAT)
    assert [renewal.share(FEW, now) for now in range(0, 2 * REFRESH, BEAT)] == [FEW, *[0] * 11] * 2
    renewal.all_sent(2 * REFRESH)
    assert renewal.share(FEW, 2 * REFRESH) == 0
