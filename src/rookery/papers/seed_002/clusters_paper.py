"""Section III-B in `paper` mode: a cluster is one of equal identities, found by the printed join."""

from __future__ import annotations

from rookery.papers.seed_002.clusters import check, plot, run
from rookery.papers.sweeps import grid

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(mode="paper", members=[3, 8, 20], others=20, runs=3)
QUICK = grid(mode="paper", members=[3, 8], others=10, runs=2)
