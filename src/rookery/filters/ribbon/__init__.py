"""The layered ribbon with Golomb deltas: the default summary of a participant."""

from __future__ import annotations

from rookery.filters.ribbon.filter import RibbonFilter

__all__ = ["RibbonFilter"]
