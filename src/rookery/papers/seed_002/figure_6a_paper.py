"""Figure 6(a) in `paper` mode: beside the formulas, what the printed join and entry cost."""

from __future__ import annotations

from rookery.papers.seed_002.figure_6a import check, plot, run
from rookery.papers.seed_002.publish_more_paper import FULL, QUICK

__all__ = ["FULL", "QUICK", "check", "plot", "run"]
