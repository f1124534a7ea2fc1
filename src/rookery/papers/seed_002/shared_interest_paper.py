"""Section III-C in `paper` mode: joining down the metric with residual identities, and nothing else."""

from __future__ import annotations

from rookery.papers.seed_002.shared_interest import check, plot, run
from rookery.papers.sweeps import grid

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(mode="paper", peers=[64, 256], events=80, runs=3)
QUICK = grid(mode="paper", peers=[64, 128], events=40, runs=1)
