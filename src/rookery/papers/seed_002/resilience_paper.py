"""Resilience in `paper` mode: repair from the links that heartbeats carry, without a directory."""

from __future__ import annotations

from rookery.papers.seed_002.resilience import check, plot, run
from rookery.papers.sweeps import grid

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(mode="paper", crashed=[0.1, 0.3], peers=60, events=60, runs=2)
QUICK = grid(mode="paper", crashed=[0.1, 0.3], peers=40, events=60, runs=1)
