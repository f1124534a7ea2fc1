"""Low overhead in `paper` mode: printed entry and spreading, heartbeats along printed links."""

from __future__ import annotations

from rookery.papers.seed_002.messages_per_event import SYSTEMS, check, plot, run
from rookery.papers.sweeps import grid

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(mode="paper", system=SYSTEMS, peers=[64, 128], events=60, runs=1)
QUICK = grid(mode="paper", system=SYSTEMS, peers=64, events=40, runs=1)
