"""The claims of seed 001, one file each."""

from __future__ import annotations

__all__: list[str] = []
