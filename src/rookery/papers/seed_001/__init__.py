"""Seed 001, discovery with a compressed cuckoo filter. Three files by subject: one would have 1,000 lines."""

from __future__ import annotations

from rookery.papers.seed_001 import growth, network, slots

__all__ = ["CLAIMS"]

CLAIMS = {**slots.CLAIMS, **growth.CLAIMS, **network.CLAIMS}
