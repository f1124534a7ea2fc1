"""Who needs this event? Routers between nodes: flooding (the oracle) and the K-D brokers of seed 003.

Rule: a router is a machine without I/O. Messages, commands and the time go in; messages to send, events for the
clients and the time of the next timer come out. Who carries the messages lies above, in `rookery.network`.
"""

from __future__ import annotations

__all__: list[str] = []
