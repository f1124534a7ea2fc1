"""The client in plain code: the verbs of `Client`, each of which waits until it is done.

    with rookery.open("dds://0") as client:
        for event in client.subscribe("quotes", "price < 10", overflow="drop-oldest", schema=QUOTES):
            ...

The loop runs in a thread of its own (`loop_thread.py`), so any thread may use the client, and several at once.
`publish` waits for room instead of raising. What else a network has is reached through `run`, which hands the
asynchronous client to a function in that thread.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from rookery.live.client import Client
from rookery.live.loop_thread import LoopThread
from rookery.live.subscription import Event, Overflow, Subscription
from rookery.live.transport import AnySchema, Condition, DdsReaderOptions, DdsWriterOptions

__all__ = ["PlainClient"]

Result = TypeVar("Result")


class PlainClient:
    """A client of one network for plain code; made by `with rookery.open(…)`."""

    def __init__(self, connect: Callable[[LoopThread], Coroutine[Any, Any, Client]], *, name: str) -> None:
        self._thread = LoopThread(name)
        try:
            self._client = self._thread.run(connect(self._thread))
        except BaseException:
            self._thread.close()
            raise
        atexit.register(self.close)  # a goodbye, so that nobody has to wait for a lease to end

    def subscribe(
        self,
        topic: str,
        where: str | None = None,
        *,
        overflow: Overflow,
        queue: int | None = None,
        parameters: Sequence[object] | Mapping[str, object] = (),
        schema: AnySchema | None = None,
        dds: DdsReaderOptions | None = None,
    ) -> Subscription[Event]:
        """Subscribe as `Client.subscribe` does; iterate over it with `for`."""

        async def work() -> Subscription[Event]:
            return self._client.subscribe(
                topic, where, overflow=overflow, queue=queue, parameters=parameters, schema=schema, dds=dds
            )

        return self._thread.run(work())

    def subscribe_many(
        self,
        topic: str,
        conditions: Mapping[str, str | Condition | tuple[str, Mapping[str, object]]],
        *,
        overflow: Overflow,
        queue: int | None = None,
        schema: AnySchema | None = None,
        dds: DdsReaderOptions | None = None,
    ) -> Subscription[tuple[str, Event]]:
        """Subscribe as `Client.subscribe_many` does; iterate over it with `for`."""

        async def work() -> Subscription[tuple[str, Event]]:
            return self._client.subscribe_many(
                topic, conditions, overflow=overflow, queue=queue, schema=schema, dds=dds
            )

        return self._thread.run(work())

    def advertise(self, topic: str, *, schema: AnySchema, dds: DdsWriterOptions | None = None) -> None:
        """Say what this client will publish to a topic."""

        async def work() -> None:
            self._client.advertise(topic, schema=schema, dds=dds)

        self._thread.run(work())

    def publish(self, topic: str, event: Mapping[str, Any]) -> None:
        """Send an event, when there is room for it."""
        self.publish_many(topic, (event,))

    def publish_many(self, topic: str, events: Iterable[Mapping[str, Any]]) -> int:
        """Send events as fast as the network takes them; return how many."""
        # Read here: an iterable that blocks must not hold up the thread of the network.
        return self._thread.run(self._client.publish_many(topic, list(events)))

    def flush(self, topic: str | None = None, *, seconds: float = 10.0) -> None:
        """Wait until all that was published, to one topic or to all, is accepted; `TimeoutError` if it takes longer."""
        self._thread.run(self._client.flush(topic, seconds=seconds))

    def run(self, work: Callable[[Client], Coroutine[Any, Any, Result]]) -> Result:
        """Run what is written for the asynchronous client: `client.run(lambda one: one.brokers.status())`."""

        async def inside() -> Result:
            return await work(self._client)

        return self._thread.run(inside())

    def close(self) -> None:
        """End the subscriptions and leave the network; again does nothing."""
        if not self._client.is_closed:
            atexit.unregister(self.close)
            self._thread.run(self._client.close())
            self._thread.close()

    def __enter__(self) -> PlainClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
