"""The bitmap engine: composite keys, 512-bit lines, exact verification. `build.py` gives the theory."""

from __future__ import annotations

from rookery.matching.bitmap.engine import BitmapEngine

__all__ = ["BitmapEngine"]
