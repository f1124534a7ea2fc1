"""Proposition 1 in `paper` mode: printed tables, by bits and without a second start."""

from __future__ import annotations

from rookery.papers.seed_002.table_bound import check, plot, run
from rookery.papers.sweeps import grid

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(mode="paper", crowd=["market", "hub"], peers=1024, cells=900, others=12_000, bits=1024, runs=3)
QUICK = grid(mode="paper", crowd=["market", "hub"], peers=256, cells=900, others=12_000, bits=1024, runs=1)
