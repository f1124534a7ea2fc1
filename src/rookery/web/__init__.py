"""The page: what a run did, live or recorded, in a browser.

One rule: *the page shows records and nothing else.* A producer (a simulated network, a DDS domain, a Spark stream)
writes typed records; the server keeps the latest state of each thing and a ring of recent events; the page gets a
snapshot and then what changed. A recorded run is those records in a file, so live and replay are one path.
"""

from __future__ import annotations

from rookery.web.recorder import Recorder

__all__ = ["Recorder"]
