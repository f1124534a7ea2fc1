"""Rookery's version, stated once: the wheel, `rookery --version` and `rookery.__version__` read it here."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.2.0"
