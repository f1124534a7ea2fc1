"""The K-D broker network of seed 003: zones, Spanhop, topology awareness."""

from __future__ import annotations

__all__: list[str] = []
