"""Renewal: which of a broker's subscriptions are sent again at a beat, so that each is sent again within `refresh`.

Rule 1: few are sent all together, once in `refresh`. Of many some are sent at each beat or every few beats, those first
that were sent longest ago: all at once would keep everybody from everything else for seconds.
Rule 2: a round is so many sendings at equal distances, and the share of each is that of the most subscriptions that
there were in the last round. So whoever was there when a round began has had its turn when it ends, whatever has come
and gone meanwhile; where many come in the middle of one, some beats later. A subscription lapses after three rounds.
"""

from __future__ import annotations

from collections import deque

__all__ = ["Renewal"]

#: Who has twice as many subscriptions as this sends them by parts.
FEW = 256


class Renewal:
    """When one broker sends its clients' subscriptions again, and how many at a time."""

    __slots__ = ("_beat", "_beats", "_counts", "_next", "_refresh")

    def __init__(self, *, refresh: int, beat: int) -> None:
        self._refresh, self._beat = refresh, beat
        self._beats = max(1, refresh // beat)
        #: How many there were at the last sendings.
        self._counts: deque[int] = deque(maxlen=self._beats)
        self._next = 0

    def all_sent(self, now: int) -> None:
        """All have been sent, beside the rounds."""
        if not self._counts or self._distance(max(self._counts)) == self._beats:
            self._next = now + self._refresh

    def share(self, count: int, now: int) -> int:
        """Return how many of so many subscriptions, those sent longest ago, are to be sent at this beat."""
        if now < self._next:
            return 0
        self._counts.append(count)
        most = max(self._counts)
        distance = self._distance(most)
        sendings = max(1, self._beats // distance)
        self._next = now + (self._refresh if sendings == 1 else distance * self._beat)
        return -(-most // sendings)

    def _distance(self, most: int) -> int:
        """Return how many beats lie between two sendings of so many."""
        return max(1, self._beats // max(1, most // FEW))
