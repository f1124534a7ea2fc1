"""DDS domains for tests: whoever takes one here meets no other test of this run.

Each worker of a run has a share of its own and goes through it in turn. Nobody's are those that pages and a few tests
name: 0, 90 to 99, and from 225 on.
"""

from __future__ import annotations

import itertools
import os

__all__ = ["new_domain"]

#: At least as many as a run has processes.
WORKERS = 6
_FREE = [*range(1, 90), *range(100, 225)]
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % WORKERS
_SHARE = _FREE[_WORKER::WORKERS]
#: Runs beside each other on one machine do not begin with the same one.
_TURNS = itertools.count(os.getpid() * 7)


def new_domain() -> int:
    """Return a DDS domain that no other test uses at the same time."""
    return _SHARE[next(_TURNS) % len(_SHARE)]
