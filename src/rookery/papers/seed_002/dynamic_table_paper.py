"""Figure 5(a) in `paper` mode: tables after the printed join, against printed tables over everybody."""

from __future__ import annotations

from rookery.papers.seed_002.dynamic_table import check, plot, run
from rookery.papers.sweeps import grid

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(mode="paper", peers=[64, 128, 256, 512], events=100, runs=2)
QUICK = grid(mode="paper", peers=[64, 200], events=80, runs=1)
