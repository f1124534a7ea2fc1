"""Memory that is let go goes back to the system.

Rule: what a program frees the C library keeps for what comes next, in pieces where others lie between. A broker whose
events are large and come and go in any order has then twice of what it holds. Blocks from `FROM` bytes on are taken
from the system one by one and given back one by one. By default glibc does so too, until the first such block is freed:
then it takes larger and larger ones, up to 32 MiB, for what it keeps.
"""

from __future__ import annotations

import ctypes

__all__ = ["return_large_blocks"]

#: Bytes of a block that the system is asked for by itself.
FROM = 256 << 10
#: The number of that setting in glibc's `malloc.h`.
_M_MMAP_THRESHOLD = -3


def return_large_blocks() -> bool:
    """Let large blocks of this process go back to the system when they are freed; say whether the C library does so."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none, and other habits
    return mallopt is not None and mallopt(_M_MMAP_THRESHOLD, FROM) == 1
