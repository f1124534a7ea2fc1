"""What a stranger may cost: every bound of a participant, by name, and the counters that say when one was met.

Whoever can reach the port can send anything. Each table that a packet can make grow has a bound here; when it is full
the packet is refused and a counter named like the limit goes up. Where that leaves something out for good, whoever
runs the participant says so once, as a warning; `rookery ls` and `rookery ps` say it of their own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

__all__ = ["LEAVES_OUT", "Counters", "Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds; the defaults hold a domain of a thousand participants with a few hundred MiB at the very worst."""

    participants: int = 1_024
    """Remote participants known at a time."""
    unanswered_lease: int = 10_000_000
    """Microseconds of silence after which one that has never answered us is forgotten, where the table is half full."""
    lease: int = 3_600_000_000
    """Microseconds of silence after which a participant is forgotten, whatever lease it claims."""
    endpoints_per_participant: int = 4_096
    """Endpoints that one remote participant may announce."""
    endpoints: int = 65_536
    """Remote endpoints known at a time."""
    locators: int = 8
    """Addresses kept of one participant or endpoint; the rest are left out."""
    name_bytes: int = 1_024
    """Bytes of a topic name, type name or partition."""
    sample_bytes: int = 16 << 20
    """Bytes of one sample, whole or in fragments."""
    fragment_bytes: int = 64 << 20
    """Bytes of all samples that are waiting for more of their fragments, over the whole participant."""
    fragmented_samples: int = 256
    """Samples of one writer that are waiting for more of their fragments."""
    reorder_window: int = 1_024
    """Distance from the next expected sequence number beyond which a sample is not kept."""
    reorder_bytes: int = 32 << 20
    """Bytes kept out of order for one writer."""
    history_samples: int = 8_192
    """Samples that a keep-all writer holds for readers that have not acknowledged them."""
    resend_bytes: int = 256 << 10
    """Bytes sent again in answer to one ACKNACK; the rest waits for the next."""
    queued_events: int = 16_384
    """Events waiting for `effects`; above it datagrams are refused unread, as if lost."""
    summary_bytes: int = 4 << 20
    """Bytes of the discovery summaries of all participants; one whose summary is not kept is sent every endpoint."""
    type_bytes: int = 4 << 20
    """Bytes of the descriptions of types that are kept of all participants; without room a pair is refused."""
    contacts_per_second: int = 1_000
    """Participants with which endpoints begin to be exchanged in one second; the rest wait for the next."""
    amplification: int = 3
    """Bytes sent to an address that has not answered, for each byte received on its behalf."""


#: The limits at which something is left out for good, and what that is; at the others it is only late.
LEAVES_OUT: Final = {
    "participants": "participants are not taken in: matches with them are missing",
    "endpoints": "endpoints are not taken in: matches with them are missing",
    "endpoints_per_participant": "endpoints of one participant are not taken in: matches with them are missing",
    "name_bytes": "endpoints with longer names are not taken in",
    "sample_bytes": "larger samples are not read",
    "type_bytes": "types are not taken in: pairs are refused",
    "summary_bytes": "summaries are not kept: their participants are sent every endpoint",
    "queued_events": "datagrams are not read: the program does not keep up",
}


class Counters(Counter[str]):
    """Counts by name: what was refused, lost, repeated, and which limit was met."""

    @property
    def reached(self) -> dict[str, int]:
        """The limits at which something was left out, and how often."""
        return {name: self[name] for name in LEAVES_OUT if name in self}
