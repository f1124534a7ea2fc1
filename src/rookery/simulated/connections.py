"""Connections that their processes know apart: each end has a name of its own, and two processes may have several.

A connection keeps order and loses nothing while it stands. It ends where a process closes it or dies, and where it was
cut for too long: whoever is left learns it (`lose`) as soon as a packet can tell, and what was on its way is gone. What
is sent into a cut waits for it to be mended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rookery.machine import Node
from rookery.simulated.calendar import Calendar
from rookery.simulated.links import Links

__all__ = ["Connections", "LinkEnd"]


class LinkEnd(NamedTuple):
    """One end of a connection, as its process names it."""

    node: Node
    peer: Node
    number: int

    @property
    def far(self) -> LinkEnd:
        """The other end."""
        return LinkEnd(self.peer, self.node, self.number)


class Connections:
    """The connections of a world; `lose` and `deliver` tell the process of an end."""

    def __init__(
        self,
        calendar: Calendar,
        links: Links,
        *,
        lose: Callable[[LinkEnd], None],
        deliver: Callable[[LinkEnd, Any], None],
    ) -> None:
        self._calendar = calendar
        self._links = links
        self._lose = lose
        self._deliver = deliver
        #: The ends whose processes live and believe in them, with what waits for a cut on the way there to be mended.
        self._open: dict[LinkEnd, list[Any]] = {}
        self._count = 0

    def open(self, one: Node, other: Node) -> tuple[LinkEnd, LinkEnd]:
        """Connect two processes; return the ends, which are theirs to be told."""
        self._count += 1
        end = LinkEnd(one, other, self._count)
        self._open[end] = []
        self._open[end.far] = []
        return end, end.far

    def between(self, one: Node, other: Node) -> list[LinkEnd]:
        """Return the ends at one process of what connects it with another, as it believes."""
        return [end for end in self._open if (end.node, end.peer) == (one, other)]

    def send(self, end: LinkEnd, message: Any) -> None:
        """Send a message from an end to the other one."""
        if end in self._open:
            self._calendar.at(self._links.arrival(end, end.far, self._calendar.now), lambda: self._arrive(end, message))

    def close(self, end: LinkEnd) -> None:
        """Close a connection at one end: the other learns it behind all that was sent."""
        if self._open.pop(end, None) is not None:
            self._calendar.at(self._links.arrival(end, end.far, self._calendar.now), lambda: self._tell(end.far))
            self._links.forget(end)

    def break_off(self, end: LinkEnd) -> None:
        """Break a connection; both ends learn it."""
        for one in (end, end.far):
            if self._open.pop(one, None) is not None:
                self._links.forget(one)
                self._lose(one)

    def process_ended(self, node: Node) -> None:
        """Learn that a process is gone, and its ends with it: the others are refused."""
        for end in [end for end in self._open if end.node == node]:
            del self._open[end]
            self._links.forget(end)
            self._calendar.after(self._links.conditions.refusal, lambda far=end.far: self._tell(far))  # type: ignore[misc]

    def mended(self, one: Node, other: Node) -> None:
        """Let what waited pass, in order, and who was not told learn what has ended meanwhile."""
        for end in [*self.between(one, other), *self.between(other, one)]:
            waiting = self._open.get(end, [])
            if waiting:
                self._open[end] = []
            for message in waiting:
                self._arrive(end.far, message)
            if end.far not in self._open:
                self._tell(end)

    def give_up(self, sender: Node, receiver: Node) -> None:
        """Learn that nothing has passed for too long: who hears nothing closes the connection, and so do both."""
        for end in self.between(receiver, sender):
            self.break_off(end)
        for end in self.between(sender, receiver):
            self.break_off(end)

    def _arrive(self, end: LinkEnd, message: Any) -> None:
        """Deliver what was sent from an end; an end that is not there any more refuses."""
        far = end.far
        if far in self._open and self._links.is_cut(end.node, far.node):
            self._open[far].append(message)
        elif far in self._open:
            self._deliver(far, message)
        else:
            self._tell(end)

    def _tell(self, end: LinkEnd) -> None:
        """Let an end whose other one is gone know, if a packet from there reaches it."""
        if end in self._open and not self._links.is_cut(end.peer, end.node):
            del self._open[end]
            self._links.forget(end)
            self._lose(end)
