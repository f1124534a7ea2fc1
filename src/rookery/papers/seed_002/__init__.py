"""The claims of seed 002, one file each."""

from __future__ import annotations

__all__: list[str] = []
