"""Figure 2(a) in `paper` mode: delivery depth where tables, links and entry are as printed."""

from __future__ import annotations

from rookery.papers.seed_002.static_depth import check, plot, run
from rookery.papers.sweeps import grid

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(mode="paper", peers=[64, 128, 256, 512, 1024], events=100, runs=3)
QUICK = grid(mode="paper", peers=[64, 256, 512], events=150, runs=2)
