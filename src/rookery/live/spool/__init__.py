"""The samples of a DDS topic on disk, each at an offset of its own that never changes.

`folder` says what a spool is and reads it, `writer` appends to it, `frames` and `disk` are what it is made of, and
`recorder` fills it from DDS. The recorder is not named here: whoever only reads needs neither sockets nor matching.
"""

from __future__ import annotations

from rookery.live.spool.folder import Description, Spool, record_schema
from rookery.live.spool.writer import Retention, SpoolWriter

__all__ = ["Description", "Retention", "Spool", "SpoolWriter", "record_schema"]
