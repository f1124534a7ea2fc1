"""What each protocol would announce: summaries made as a participant makes them, and read as a peer reads them.

The octets are those of `rookery.discovery.protocols`, key by key, and what is asked is what a peer decodes from them;
so a false contact here is a false contact there. A summary that is too large to be repeated in every announcement is
announced by a reference, and each peer fetches it once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rookery.discovery.carriage import Reference, container_digest, decode_summary
from rookery.discovery.planning.sizes import SUMMARY_LIMIT
from rookery.discovery.protocols import PROTOCOLS, rate_among, summary_of
from rookery.errors import TopologyError

__all__ = ["SUMMARIES", "AnnouncedSummary", "build_summary"]

#: The protocols that announce a summary.
SUMMARIES = tuple(name for name in PROTOCOLS if name != "simple")
_FIRST_EPOCH = 1
#: A participant repeats no longer summary than this, but a reference to it.
_REPEATED = 192


@dataclass(frozen=True, slots=True)
class AnnouncedSummary:
    """One participant's summary: what goes with each announcement, what a peer fetches once, and who is in it."""

    announced: bytes
    repeated: bytes
    """What is announced at the slow period: a reference where the summary is long."""
    fetched: int
    received: Any

    @property
    def size(self) -> int:
        """The octets of the summary itself."""
        return self.fetched or len(self.announced)


def build_summary(
    protocol: str, keys: Iterable[str], *, participants: int = 1, rate: float | None = None
) -> AnnouncedSummary:
    """Make, encode and decode the summary of one participant's keys, for so many readers or at a `rate`."""
    if protocol not in SUMMARIES:
        raise TopologyError(f"no protocol with a summary is called {protocol!r}; choose from {', '.join(SUMMARIES)}")
    made = summary_of(protocol)
    assert made is not None
    for key in dict.fromkeys(keys):
        made.add(key)
    container = made.encode(epoch=_FIRST_EPOCH, room=SUMMARY_LIMIT, rate=rate or rate_among(participants))
    received = decode_summary(container)
    if len(container) <= _REPEATED:
        return AnnouncedSummary(container, container, 0, received)
    reference = Reference(container[0], _FIRST_EPOCH, len(container), container_digest(container)).encode()
    if len(container) <= SUMMARY_LIMIT:
        return AnnouncedSummary(container, reference, 0, received)
    return AnnouncedSummary(reference, reference, len(container), received)
