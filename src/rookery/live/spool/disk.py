"""What to do about a disk that refuses to take a spool, in words."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rookery.errors import SpoolError

__all__ = ["explained"]

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def explained(folder: Path, safe: Callable[[], str]) -> Iterator[None]:
    """Say what to do about a full disk or a forbidden folder, and what is `safe` nevertheless."""
    try:
        yield
    except SpoolError:
        raise
    except OSError as error:
        if error.errno in _NO_ROOM:
            why = "there is no room for more; free some and start again"
        else:
            why = error.strerror or str(error)
        raise SpoolError(error.errno, f"cannot write {folder}: {why}. {safe()}") from error
