"""Figure 6(b) in `paper` mode: the threshold with the printed join and entry."""

from __future__ import annotations

from rookery.papers.seed_002.figure_6b import check, plot, run
from rookery.papers.seed_002.publish_more_paper import FULL, QUICK

__all__ = ["FULL", "QUICK", "check", "plot", "run"]
