"""Who writes records: each module watches one part of Rookery and tells a `Recorder` what it saw, and nothing more."""

from __future__ import annotations

__all__: list[str] = []
