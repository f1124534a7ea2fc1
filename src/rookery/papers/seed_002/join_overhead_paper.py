"""Proposition 2 in `paper` mode: what the printed join costs."""

from __future__ import annotations

from rookery.papers.seed_002.dynamic_table_paper import FULL, QUICK
from rookery.papers.seed_002.join_overhead import check, plot, run

__all__ = ["FULL", "QUICK", "check", "plot", "run"]
