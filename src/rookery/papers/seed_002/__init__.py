"""Seed 002, the interest-oriented overlay. Files by section, and one for `paper` mode: one would have 1,500 lines."""

from __future__ import annotations

from rookery.papers.seed_002 import identities, others, printed, spreading

__all__ = ["CLAIMS"]

CLAIMS = {**identities.CLAIMS, **spreading.CLAIMS, **others.CLAIMS, **printed.CLAIMS}
