"""Conclusion in `paper` mode: a very low false-negative rate, with everything as printed."""

from __future__ import annotations

from rookery.papers.seed_002.false_negatives import check, plot, run
from rookery.papers.sweeps import grid

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(mode="paper", both_ways=[True, False], hash_count=[2, 4], peers=512, events=80, runs=3)
QUICK = grid(mode="paper", both_ways=[True, False], hash_count=[2, 4], peers=256, events=60, runs=1)
