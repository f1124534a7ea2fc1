"""Section V in `paper` mode: the printed join and the printed entry of events against a hypercube."""

from __future__ import annotations

from rookery.papers.seed_002.publish_more import check, plot, run
from rookery.papers.sweeps import grid

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(mode="paper", peers=[64, 256, 512], bits=1024, events=100, runs=1)
QUICK = grid(mode="paper", peers=[64, 400], bits=1024, events=40, runs=1)
