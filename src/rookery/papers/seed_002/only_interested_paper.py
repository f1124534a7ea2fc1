"""The abstract in `paper` mode: who is involved where identities decide and the metric leads."""

from __future__ import annotations

from rookery.papers.seed_002.only_interested import check, plot, run
from rookery.papers.seed_002.static_depth_paper import FULL, QUICK

__all__ = ["FULL", "QUICK", "check", "plot", "run"]
