"""When to ask for what is missing: late enough that nothing on its way is asked for, early enough that a loss is short.

Two things look like a loss and are none. A sample may simply be slower than the HEARTBEAT or the sample that shows it
to be missing: so a number is asked for only when it has been known to be missing for a while, the *delay*. And a
sample that was asked for may be on its way: so a number is not asked for again within the *patience*, the smoothed time
between asking and arriving plus four times its deviation, as TCP does it (RFC 6298). RTPS names the two ideas heartbeat
response delay and NACK suppression (RTPS 2.5, 8.4.12 and 8.4.9) and leaves their size open.

When nothing at all comes from a writer, the patience doubles each time: one that is gone is asked ever more slowly. A
number that was asked for twice says nothing about the way there and back (Karn's rule) and is not measured.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

__all__ = ["NACK_DELAY", "Repairs"]

#: A HEARTBEAT is often overtaken by what it announces: wait at least this long before asking.
NACK_DELAY = 10_000
_LONGEST_DELAY = 40_000
_FIRST_PATIENCE = 60_000
_LONGEST_PATIENCE = 400_000
_SLOWEST_ASK = 1_600_000
_SIGHTINGS = 64
_REMEMBERED = 256


class Repairs:
    """The missing samples of one writer: since when each is known to be missing, and when it was asked for."""

    __slots__ = ("_asked", "_backoff", "_delay", "_deviation", "_lasts", "_repaired", "_round_trip", "_times")

    def __init__(self) -> None:
        self._asked: dict[int, tuple[int, bool]] = {}
        self._repaired: dict[int, int] = {}
        # All numbers up to `_lasts[i]` were known to exist at `_times[i]`.
        self._lasts: list[int] = []
        self._times: list[int] = []
        self._delay = NACK_DELAY
        self._round_trip: int | None = None
        self._deviation = 0
        self._backoff = 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing is known to be missing and nothing was asked for."""
        return not (self._asked or self._lasts or self._backoff)

    @property
    def patience(self) -> int:
        """How long a request is believed to be on its way, in microseconds."""
        if self._round_trip is None:
            base = _FIRST_PATIENCE
        else:
            base = min(max(self._round_trip + 4 * self._deviation, NACK_DELAY), _LONGEST_PATIENCE)
        return int(min(base << self._backoff, _SLOWEST_ASK))

    def heard(self) -> None:
        """Note that the writer is there and says what it has."""
        self._backoff = 0

    def begin(self, last: int, now: int) -> None:
        """Note what a first HEARTBEAT that follows no sample says: it is the past, nobody sends it, so it is due."""
        self._lasts, self._times = [last], [now - self._delay]

    def saw(self, last: int, now: int) -> None:
        """Note that all numbers up to `last` exist."""
        if self._lasts and last <= self._lasts[-1]:
            return
        self._lasts.append(last)
        self._times.append(now)
        if len(self._lasts) > _SIGHTINGS:
            # A peer decides how many there are. To forget every other one makes some numbers a little younger.
            del self._lasts[::2], self._times[::2]

    def arrived(self, number: int, now: int) -> None:
        """Note that a number came, asked for or not."""
        self._backoff = 0
        asked = self._asked.pop(number, None)
        if asked is None:
            return
        when, once = asked
        if once:
            self._measure(now - when)
        self._repaired[number] = now - self._known_since(number, now)
        if len(self._repaired) > _REMEMBERED:
            del self._repaired[next(iter(self._repaired))]
        self._delay -= (self._delay - NACK_DELAY) // 16

    def repeated(self, number: int) -> None:
        """Note that a number came again: if it had been asked for, that was too early."""
        lateness = self._repaired.pop(number, None)
        if lateness is not None:
            self._delay = min(max(self._delay, lateness), _LONGEST_DELAY)

    def progressed(self, number: int, now: int) -> None:
        """Note that a part of a number came: the rest is on its way."""
        self._backoff = 0
        if number in self._asked:
            self._asked[number] = (now, False)

    def due(self, missing: Iterable[int], now: int) -> tuple[list[int], int | None]:
        """Return which of the missing numbers to ask for now, and when to look at the others again."""
        patience = self.patience
        times: dict[int, int] = {}
        for number in missing:
            asked = self._asked.get(number)
            times[number] = self._known_since(number, now) + self._delay if asked is None else asked[0] + patience
        ready = [number for number, when in times.items() if when <= now]
        later = min((when for when in times.values() if when > now), default=None)
        # Holes come one after the other: to look a little later makes one request of several.
        return ready, None if later is None else later + NACK_DELAY // 2

    def ask(self, numbers: Iterable[int], now: int) -> None:
        """Note that these are asked for."""
        again = False
        for number in numbers:
            known = number in self._asked
            again = again or known
            self._asked[number] = (now, not known)
        if again:
            self._backoff = min(self._backoff + 1, 8)

    def forget_below(self, number: int) -> None:
        """Forget what nobody waits for any more."""
        if self._asked:
            for gone in [asked for asked in self._asked if asked < number]:
                del self._asked[gone]
        past = bisect_left(self._lasts, number)
        if past:
            del self._lasts[:past], self._times[:past]

    def _known_since(self, number: int, now: int) -> int:
        place = bisect_left(self._lasts, number)
        return self._times[place] if place < len(self._times) else now

    def _measure(self, sample: int) -> None:
        if self._round_trip is None:
            self._round_trip, self._deviation = sample, sample // 2
            return
        self._deviation += (abs(sample - self._round_trip) - self._deviation) // 4
        self._round_trip += (sample - self._round_trip) // 8
