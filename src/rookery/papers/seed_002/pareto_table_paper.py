"""Figure 4's text in `paper` mode: printed tables under a Pareto law."""

from __future__ import annotations

from rookery.papers.seed_002.pareto_false_positives_paper import FULL
from rookery.papers.seed_002.pareto_table import check, plot, run
from rookery.papers.sweeps import grid

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

QUICK = grid(mode="paper", alpha=[0, 1.0, 2.0, 3.0, 4.0], peers=200, events=5, runs=3)
