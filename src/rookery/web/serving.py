"""Serve an application until somebody says stop: the socket, the signals, the address that is printed.

The socket is bound before anything else starts, so that a port that is taken is one clear error and port 0 has a number
by the time the address is printed.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence

import uvicorn
from starlette.types import ASGIApp

from rookery.errors import ServeError
from rookery.web.access import is_loopback

__all__ = ["bind", "link", "serve"]

#: Seconds that open pages get to close when the server stops.
GRACE = 1
MOST_CONNECTIONS = 256


def bind(host: str, port: int, *, token: str | None) -> socket.socket:
    """Bind the address; beyond this machine only with a token."""
    if not is_loopback(host) and token is None:
        raise ServeError(
            f"{host} is not this machine alone, and whoever reaches it would see the page: give --token, "
            "or serve on 127.0.0.1"
        )
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise ServeError(f"{host} is no address: {error.strerror}") from error
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(128)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise ServeError(f"port {port} of {host} is taken: give another --port, or 0 for any") from error
        raise ServeError(f"cannot serve on {host} port {port}: {error.strerror}") from error
    return bound


def link(bound: socket.socket, *, host: str, token: str | None) -> str:
    """Return the address to open."""
    name = f"[{host}]" if ":" in host else host
    query = "" if token is None else f"?token={token}"
    return f"http://{name}:{bound.getsockname()[1]}/{query}"


class _Server(uvicorn.Server):
    """Uvicorn, with its signals left to us: it would end the process by the signal that it caught."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(
    application: ASGIApp,
    bound: socket.socket,
    *,
    beside: Sequence[Callable[[], Awaitable[None]]] = (),
    seconds: float | None = None,
    ready: Callable[[], None] | None = None,
) -> signal.Signals | None:
    """Serve until SIGTERM, SIGINT or so many seconds; return the signal that ended it.

    `beside` runs as long: the broadcast, and who reads, watches or simulates. If one fails, its error is raised.
    """
    server = _Server(
        uvicorn.Config(
            application,
            log_config=None,
            log_level="critical",  # a page that is open when the server stops is no fault
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=GRACE,
            server_header=False,
            proxy_headers=False,
            ws="none",
            limit_concurrency=MOST_CONNECTIONS,
        )
    )
    ended: list[signal.Signals] = []
    failed: list[BaseException] = []

    def stop(caught: signal.Signals | None = None) -> None:
        if caught is not None:
            ended.append(caught)
        server.should_exit = True

    def finished(task: asyncio.Future[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            failed.append(error)
            stop()

    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stop, each)
    if seconds is not None:
        loop.call_later(seconds, stop)
    running = [asyncio.ensure_future(start()) for start in beside]
    for task in running:
        task.add_done_callback(finished)
    try:
        if ready is not None:
            ready()
        await server.serve(sockets=[bound])
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(each)
        bound.close()
    if failed:
        raise failed[0]
    return ended[0] if ended else None
