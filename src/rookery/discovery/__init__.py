"""Who is there and what do they want? The discovery protocols, without I/O.

A participant announces itself (SPDP) and tells of its endpoints (SEDP). The protocols here add one thing: the
announcement carries a *summary* of the endpoints, so that endpoints are told only to those who may have a counterpart.
`protocols` makes the summaries, `interests` says what an endpoint is in them, `carriage` how they travel, and
`directory` decides whom to tell; `rookery.participant` puts them to work. `planning` says beforehand what each
would cost.
"""

from __future__ import annotations

from rookery.discovery.protocols import FALSE_POSITIVE_RATE, PROTOCOLS, warm

__all__ = ["FALSE_POSITIVE_RATE", "PROTOCOLS", "warm"]
