"""The K-D broker network of seed 003: zones, Spanhop, topology awareness. See docs/brokers.md.

Read in this order: `zones` (paths and boxes), `ownership` (who owns what), `spanhop` (routing), `owned_zone` and
`ancestors` (what an owner knows), `broker` (the commands) with `routing_table`, `membership`, `takeover`, `placement`
and `proximity`. An event: `batches`, `publishing`, `batch_matches`, `deliveries`, `replicas`, `sessions`; its other end
is `client`.
"""

from __future__ import annotations

__all__: list[str] = []
