"""How the gateways of islands know each other inside a domain: one more parameter in their announcements.

Two gateways in one domain mean that two sites are one DDS network, or that a site has two gateways. Each then leaves
out the other's endpoints, so that nothing goes round in circles, and its owner is told.
"""

from __future__ import annotations

from collections.abc import Iterable

from rookery.rtps.identity import VENDOR
from rookery.rtps.parameters import Parameter
from rookery.rtps.peers import RemoteParticipant

__all__ = ["ISLAND_PARAMETER", "gateways_among", "island_parameter"]

#: Vendor-specific, beside the summary's 0x8F01.
ISLAND_PARAMETER = 0x8F02
_LONGEST_NAME = 255


def island_parameter(site: str) -> Parameter:
    """Return what a gateway adds to its announcement."""
    octets = site.encode()[:_LONGEST_NAME]
    return Parameter(ISLAND_PARAMETER, octets + bytes(-len(octets) % 4))


def gateways_among(peers: Iterable[RemoteParticipant]) -> dict[bytes, str]:
    """Return the participants that are gateways, with the names of their islands."""
    found = {}
    for peer in peers:
        if peer.announcement.vendor != VENDOR:
            continue
        for parameter in peer.announcement.vendor_parameters:
            if parameter.id == ISLAND_PARAMETER:
                found[peer.prefix] = parameter.value.rstrip(b"\0").decode(errors="replace")
    return found
