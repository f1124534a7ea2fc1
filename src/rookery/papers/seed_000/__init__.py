"""The claims of seed 000, one file each."""

from __future__ import annotations

__all__: list[str] = []
