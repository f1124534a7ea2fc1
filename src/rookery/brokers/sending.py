"""How many events a client has on their way: as many as its brokers accept within half a second.

Rule 1: what is sent waits somewhere until it is accepted, in sockets and queues of brokers, and there nobody can take
it back; what waits in its client costs nobody anything. Who has more on the way than brokers accept in a short time
gets nothing done sooner, but is late for everything, and publishes again what was only waiting.
Rule 2: the time from sending to acceptance says it. While that is short the allowance grows by what is accepted, so
twofold in each round trip; where it is long the allowance shrinks in its proportion, by half at most and once in each
round trip. What had to be sent again says nothing of that time, and halves it.
Rule 3: at least one batch is on its way: so it is noticed when there is room again.
"""

from __future__ import annotations

__all__ = ["SendingWindow"]

SECOND = 1_000_000
#: The time until acceptance that a client aims at.
AIM = SECOND // 2
#: Events that a client may have on their way at first, and at the least.
FIRST, LEAST = 1024, 64


class SendingWindow:
    """The allowance of one client."""

    __slots__ = ("_next_cut", "allowed", "is_behind", "most", "on_the_way")

    def __init__(self, most: int) -> None:
        self.most = most
        #: Events that may be on their way, and those that are.
        self.allowed = min(FIRST, most)
        self.on_the_way = 0
        #: Whether brokers have ever taken longer than they should, and the allowance is not back at its most.
        self.is_behind = False
        self._next_cut = 0

    def has_room(self, count: int) -> bool:
        """Tell whether so many events more may be sent."""
        return not self.on_the_way or self.on_the_way + count <= self.allowed

    def accepted(self, count: int, lasted: int, now: int) -> None:
        """So many events were accepted so long after they were sent."""
        if lasted <= AIM:
            if self.on_the_way + count >= self.allowed // 2:
                self.allowed = min(self.most, self.allowed + count)
                self.is_behind &= self.allowed < self.most
        elif now >= self._next_cut:
            self._shrink(max(0.5, AIM / lasted), now + lasted)

    def repeated(self, now: int) -> None:
        """Something was not accepted for so long that it is sent again."""
        if now >= self._next_cut:
            self._shrink(0.5, now + AIM)

    def _shrink(self, factor: float, until: int) -> None:
        self.allowed = max(min(LEAST, self.most), int(self.allowed * factor))
        self.is_behind = True
        self._next_cut = until
