"""The diameter of `paper` mode: along the links of printed tables."""

from __future__ import annotations

from rookery.papers.seed_002.diameter import check, plot, run
from rookery.papers.sweeps import grid

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(mode="paper", peers=[64, 128, 256, 512, 1024], asked=20, runs=3)
QUICK = grid(mode="paper", peers=[64, 256], asked=10, runs=1)
