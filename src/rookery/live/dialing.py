"""The one loop that dials until there is a link: with pauses that grow, and for as long as patience lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from rookery.errors import JoinError

__all__ = ["dial_until"]


async def dial_until(
    attempt: Callable[[], Awaitable[bool]],
    *,
    first_pause: float,
    longest_pause: float = float("inf"),
    patience: float = float("inf"),
    spread: Callable[[], float] = lambda: 1.0,
    on_failure: Callable[[JoinError], None] | None = None,
) -> bool:
    """Make attempts until one says that it succeeded; False where patience ends before.

    All in seconds. A pause is twice the one before, times `spread`, by which many that lost one peer at once come back
    one after the other. An attempt that raises `JoinError` has failed.
    """
    loop = asyncio.get_running_loop()
    deadline, pause = loop.time() + patience, first_pause
    while True:
        try:
            if await attempt():
                return True
        except JoinError as error:
            if on_failure is not None:
                on_failure(error)
        if loop.time() + pause > deadline:
            return False
        await asyncio.sleep(pause * spread())
        pause = min(2 * pause, longest_pause)
