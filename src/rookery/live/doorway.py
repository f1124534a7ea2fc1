"""The links that came in through a port: how many there may be, and which one has to go where there are too many.

Rule 1: a link that has not said who it is has little time and little room: so many in all, so many of one address.
Beyond that the oldest of the address that has most is let go, not the one that comes: whoever says hello at once gets
in, however many sit there in silence.
Rule 2: links that are open are bounded in all, and for each address or, where there are certificates, each name.
"""

from __future__ import annotations

from collections import Counter
from typing import Generic, Protocol, TypeVar

__all__ = ["Doorway", "DoorwayLimits"]


class DoorwayLimits(Protocol):
    """How many links there may be (`LinkLimits`)."""

    @property
    def links(self) -> int: ...
    @property
    def links_each(self) -> int: ...
    @property
    def strangers(self) -> int: ...
    @property
    def strangers_each(self) -> int: ...


class Guest(Protocol):
    """A link as the doorway sees it."""

    @property
    def host(self) -> str:
        """The address that it came from."""

    @property
    def holder(self) -> str:
        """Who it belongs to, once it is open: the name in a certificate, or the address."""

    def let_go(self, reason: str) -> None:
        """Close because of what the other end did."""


Member = TypeVar("Member", bound=Guest)


class Doorway(Generic[Member]):
    """Who is in, and who stands at the door."""

    def __init__(self, limits: DoorwayLimits) -> None:
        self._limits = limits
        self.links: set[Member] = set()
        #: By address, the oldest first.
        self._strangers: dict[str, dict[Member, None]] = {}
        self._stranger_count = 0
        self._open: Counter[str] = Counter()

    def admit(self, link: Member) -> bool:
        """Let a link stand at the door; False where there is no room that can be made."""
        limits = self._limits
        if len(self._strangers.get(link.host, ())) >= limits.strangers_each:
            self._let_go_oldest(link.host)
        elif self._stranger_count and (self._stranger_count >= limits.strangers or len(self.links) >= limits.links):
            self._let_go_oldest(max(self._strangers, key=lambda host: len(self._strangers[host])))
        if len(self.links) >= limits.links:
            return False
        self.links.add(link)
        self._strangers.setdefault(link.host, {})[link] = None
        self._stranger_count += 1
        return True

    def enter(self, link: Member) -> bool:
        """Let a link in that has said who it is; False where its holder has too many."""
        self._leave_door(link)
        if self._open[link.holder] >= self._limits.links_each:
            return False
        self._open[link.holder] += 1
        return True

    def forget(self, link: Member, *, was_in: bool) -> None:
        """A link is gone."""
        self.links.discard(link)
        self._leave_door(link)
        if was_in:
            self._open[link.holder] -= 1
            if not self._open[link.holder]:
                del self._open[link.holder]

    def _leave_door(self, link: Member) -> None:
        waiting = self._strangers.get(link.host, {})
        if link in waiting:
            del waiting[link]
            self._stranger_count -= 1
            if not waiting:
                del self._strangers[link.host]

    def _let_go_oldest(self, host: str) -> None:
        oldest = next(iter(self._strangers[host]))
        self.forget(oldest, was_in=False)
        oldest.let_go("too many strangers")
