"""Section V in `paper` mode: both systems decide by identities."""

from __future__ import annotations

from rookery.papers.seed_002.equal_false_positives import check, plot, run
from rookery.papers.sweeps import grid

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(mode="paper", peers=512, events=200, runs=5)
QUICK = grid(mode="paper", peers=512, events=80, runs=2)
