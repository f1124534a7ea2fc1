"""Figure 3 in `paper` mode: false positives where identities decide, with 500 nodes."""

from __future__ import annotations

from rookery.papers.seed_002.pareto_false_positives import check, plot, run
from rookery.papers.sweeps import grid

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(mode="paper", alpha=[0, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0], peers=500, events=60, runs=10)
QUICK = grid(mode="paper", alpha=[0, 1.0, 2.0, 3.0, 4.0], peers=100, events=30, runs=12)
