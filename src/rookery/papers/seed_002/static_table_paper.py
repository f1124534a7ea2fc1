"""Figure 2(b) in `paper` mode: the size of printed tables."""

from __future__ import annotations

from rookery.papers.seed_002.static_depth_paper import FULL, QUICK
from rookery.papers.seed_002.static_table import check, plot, run

__all__ = ["FULL", "QUICK", "check", "plot", "run"]
