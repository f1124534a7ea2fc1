"""Section IV-B in `paper` mode: hops against the size of printed tables."""

from __future__ import annotations

from rookery.papers.seed_002.dynamic_table_paper import FULL, QUICK
from rookery.papers.seed_002.hops_and_tables import check, plot, run

__all__ = ["FULL", "QUICK", "check", "plot", "run"]
