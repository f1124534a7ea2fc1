"""The protocol of a machine: messages, completed writes and the time go in; effects come out. No I/O.

    machine.receive(message, sender, now)      # anything at all; never raises
    machine.lose(node, now)                    # the connection to a node is gone
    machine.wake(now)                          # timer() said so
    machine.completed(effect, result, now)     # a Write or Compute is done
    for effect in machine.effects(): ...       # after each of these: Send | Close | Write | Compute | Emit

Rule 1: whoever drives a machine does nothing else to it but to call the commands of its owner (`publish`, `subscribe`,
`leave`, …), which are plain methods. A live driver has sockets, a clock and a disk, a world (`rookery.simulated`) has
virtual ones; the machine cannot tell which.
Rule 2: `now` is in microseconds and never goes back. A machine reads no clock and rolls no dice of its own.
Rule 3: effects come in the order in which they are to be done. A `Write` is answered by `completed`, in any order and
as late as the disk likes, and so is a `Compute`, by the driver's thread or the world's seed.
Rule 4: what the task of a `Compute` works on is its own until it is completed. The machine touches none of it, and the
task nothing else: so it makes no difference when it runs, and neither heartbeats nor messages wait for it.

There is no effect that reads. A log is read once, whole, by who opens it, before its machine is made: it has to be
walked to its end to find out where it ends, and a broker has nobody to answer before it knows what it promised.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple, Protocol, TypeAlias

__all__ = [
    "ClientId",
    "Close",
    "Compute",
    "ComputeFailed",
    "Effect",
    "Emit",
    "Machine",
    "Multicast",
    "Node",
    "Read",
    "Send",
    "Write",
]


class ClientId(NamedTuple):
    """A client of a broker. A type of its own, so that no client can pass for the broker that has its number."""

    number: int


#: Whom a message comes from or goes to: a peer by its number, a client, an address.
Node: TypeAlias = Hashable


class Send(NamedTuple):
    """Send a message, in order with what was sent there before; what cannot be delivered comes back."""

    receiver: Any
    message: Any


class Multicast(NamedTuple):
    """A message that came through a group, and not to its receiver alone."""

    message: Any


class Close(NamedTuple):
    """Close the connection to a node, after what was sent to it before."""

    node: Any
    reason: str


class Write(NamedTuple):
    """Write log records, then say `completed`: what is to be kept, by its key, and the keys of what is done with.

    Without a token nobody waits for it.
    """

    token: int | None
    entries: tuple[tuple[int, int, Any], ...]
    done: tuple[tuple[int, int], ...]


class Read(NamedTuple):
    """Read records of the log again by their keys, then say `completed` with what was found; damage is not found."""

    token: int
    keys: tuple[tuple[int, int], ...]


class Compute(NamedTuple):
    """Do long work beside everything else, then say `completed` with its result, or `ComputeFailed` if it raised."""

    task: Callable[[], Any]


class ComputeFailed(NamedTuple):
    """Why a `Compute` has no result."""

    reason: str


class Emit(NamedTuple):
    """Tell the program around the machine."""

    event: Any


Effect: TypeAlias = Send | Close | Write | Read | Compute | Emit


class Machine(Protocol):
    """What a driver and a world know of a machine."""

    def receive_many(self, messages: Iterable[Any], sender: Any, now: int) -> None:
        """Take in the messages of one buffer."""

    def undeliverable(self, message: Any, receiver: Any, now: int) -> None:
        """Take back a message whose receiver is gone."""

    def lose(self, node: Any, now: int) -> None:
        """Learn that the connection to a node is gone."""

    def completed(self, effect: Write | Read | Compute, result: Any, now: int) -> None:
        """Learn that a `Write` is on the disk (None) or why the disk did not take it; or what a `Compute` has found."""

    def wake(self, now: int) -> None:
        """Do what is due."""

    def timer(self) -> int | None:
        """Return when `wake` wants to be called; None for never."""

    def effects(self) -> list[Effect]:
        """Return what is to be done, and forget it."""
