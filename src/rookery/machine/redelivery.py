"""What was sent and has not been acknowledged, and when it is to be sent again.

Rule 1: each is due `patience` after it was sent last. All have the same patience, so they lie in the order in which
they are due: to look for those costs nothing for the others.
Rule 2: what is due stays so until it is sent again or acknowledged.

For what is sent once and acknowledged by name: the batches of a client, deliveries of owners, orphans. Two others keep
their own count because theirs is another: a stream between sites (`gateway/streams.py`) has one timer for all, which
waits longer each time, and goes back to the first that is missing; a reliable writer of RTPS answers what each of its
readers says is missing. A question of the overlay (`overlay/state.py`) is not sent again but asked in another way, and
each kind has a time of its own.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from itertools import takewhile
from typing import Generic, TypeVar

__all__ = ["Redelivery"]

Key = TypeVar("Key", bound=Hashable)


class Redelivery(Generic[Key]):
    """Keys of what is not acknowledged, each with the time at which it was sent last."""

    __slots__ = ("_sent", "patience")

    def __init__(self, patience: int) -> None:
        #: The same for all; its owner may change it.
        self.patience = patience
        # A plain dict has the same order, but to find its first key it steps over all that were deleted before.
        self._sent: OrderedDict[Key, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sent)

    def __contains__(self, key: object) -> bool:
        return key in self._sent

    def __iter__(self) -> Iterator[Key]:
        return iter(self._sent)

    def sent(self, key: Key, now: int) -> None:
        """Note that something was sent, perhaps again."""
        self._sent[key] = now
        self._sent.move_to_end(key)

    def acknowledged(self, key: Key) -> None:
        """Forget it."""
        self._sent.pop(key, None)

    def due(self, now: int) -> list[Key]:
        """Return what is to be sent again, what has waited longest first."""
        since = now - self.patience
        return [key for key, _ in takewhile(lambda item: item[1] <= since, self._sent.items())]

    def timer(self) -> int | None:
        """Return when something is due; None where nothing waits."""
        for sent in self._sent.values():
            return sent + self.patience
        return None
