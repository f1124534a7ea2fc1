"""Figure 5(b) in `paper` mode: depth after the printed join."""

from __future__ import annotations

from rookery.papers.seed_002.dynamic_depth import check, plot, run
from rookery.papers.seed_002.dynamic_table_paper import FULL, QUICK

__all__ = ["FULL", "QUICK", "check", "plot", "run"]
