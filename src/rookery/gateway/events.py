"""What a gateway tells its owner, beside the events of its participant (`rookery.rtps.events`)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GatewayFound", "SiteTakenOver"]


@dataclass(frozen=True, slots=True)
class GatewayFound:
    """The gateway of another site is a participant of this site's domain: the two sites are one DDS network."""

    site: str


@dataclass(frozen=True, slots=True)
class SiteTakenOver:
    """A newer gateway speaks for this site: this one should leave."""

    site: str
