"""The K-D broker network, live: the machine of `brokers` over TCP, its log, and its client."""

from __future__ import annotations

__all__: list[str] = []
