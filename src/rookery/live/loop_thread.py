"""An asyncio loop in a thread of its own: how plain code uses what is written for a loop.

Rule: whatever touches a client or its sockets runs in that thread. Plain code hands over a coroutine and waits for its
result, from as many threads as it likes; an interrupt of the waiting thread cancels the coroutine.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from rookery.errors import ClientError

__all__ = ["LoopThread"]

Result = TypeVar("Result")


class LoopThread:
    """A loop that runs until `close`."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine in the thread, and return its result or raise its error."""
        if threading.current_thread() is self._thread:
            work.close()
            raise ClientError("this is the client's own thread, where a plain call would wait forever: await here")
        if self._loop.is_closed():
            work.close()
            raise ClientError("this client is closed: open another one")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except CancelledError:
            raise ClientError("this client was closed meanwhile: open another one") from None
        except BaseException:
            future.cancel()
            raise

    @property
    def is_closed(self) -> bool:
        """Whether the thread has ended."""
        return self._loop.is_closed()

    def close(self) -> None:
        """Cancel what still runs, and end the thread."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._finish(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _finish(self) -> None:
        running = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
