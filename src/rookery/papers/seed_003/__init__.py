"""Seed 003, the K-D partition with Spanhop and MGNP. Three files by subject: one would have 1,400 lines."""

from __future__ import annotations

from rookery.papers.seed_003 import distances, hops, zones

__all__ = ["CLAIMS"]

CLAIMS = {**hops.CLAIMS, **zones.CLAIMS, **distances.CLAIMS}
