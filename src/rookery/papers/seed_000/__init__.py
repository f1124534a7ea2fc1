"""Seed 000, discovery with a hierarchical Bloom filter. Four files by section: one would have 1,700 lines."""

from __future__ import annotations

from rookery.papers.seed_000 import announced, bloom, nodes, tree

__all__ = ["CLAIMS"]

CLAIMS = {**bloom.CLAIMS, **tree.CLAIMS, **announced.CLAIMS, **nodes.CLAIMS}
