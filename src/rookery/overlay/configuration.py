"""How a peer behaves: `sound` (the default, which never misses) or `paper` (what the seed prints), and the periods."""

from __future__ import annotations

from dataclasses import dataclass, field

from rookery.overlay.selection import Rule

__all__ = ["SECOND", "OverlayConfiguration"]

SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class OverlayConfiguration:
    """The settings of a peer; all peers of one overlay share them. Times in microseconds."""

    rule: Rule = field(default_factory=Rule.sound)
    """Which reading of the link selection is followed; anything but the default rescans all that is known."""
    exact: bool = True
    """Send along a link when the other end holds the cell; else when its identity has the event's bits."""
    both_ways: bool = True
    """Send to those who chose us as well as to those we chose."""
    directory: bool = True
    """Join and inject through the shared ring and its directory; else by the interest-proximity metric."""
    ring_tree: bool = True
    """Spread an event inside a cluster by halves; else around the ring, one member after the other."""
    arc: bool = False
    """Give each link its own arc of the circle, so that every peer gets an event once."""
    downgrade: bool = False
    """Send MULTICAST, which never goes to a covering link, to those we cover; off, every message is a FORWARD.

    The seed has both messages and does not say who sends which. Arcs need neither.
    """
    block_size: int = 16
    """Cells in one block of the directory."""
    child_limit: int = 64
    """Children a covering parent takes before it redirects."""
    hop_limit: int = 512
    """Hops of a walk before it is given up (spec 2.5)."""
    fruitless_limit: int = 20
    """Join steps by metric that bring nothing new before the joiner makes do (spec 2.5)."""
    heartbeat: int | None = 5 * SECOND
    """Period T of heartbeats, None for a static setting without failures; silent for 3 T means gone."""
    refresh: int = 3
    """Heartbeats between two renewals of the directory's leases, which last three times as long."""
    request_timeout: int = 1 * SECOND
    """How long an answer is awaited; doubled with each attempt, up to eight times as long."""
    attempts: int = 8
    """How often a request is tried."""
    seen_limit: int = 1 << 16
    """Event ids remembered against duplicates, for at most `seen_time`."""
    seen_time: int = 60 * SECOND

    @classmethod
    def paper(cls, **changes: object) -> OverlayConfiguration:
        """Return what is printed: identity bits, no reset, the metric, the ring walk. No directory, no fingers."""
        printed: dict[str, object] = {"rule": Rule.paper(), "exact": False, "directory": False, "ring_tree": False}
        return cls(**{**printed, **changes})  # type: ignore[arg-type]
