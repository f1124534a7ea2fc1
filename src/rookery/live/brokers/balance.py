"""Keep the load of a live network even by an operator's hand, where brokers are told not to do it by themselves.

Brokers that joined before there were events have cut the space in the middle, where perhaps no event ever lies; and
what is even today is not tomorrow. Each look compares what the zones have seen since the look before.

Rule 1: what is uneven is what it is to brokers that balance by themselves (`brokers/balancing.py`); a cut that is
within a tenth of its share stays (`brokers/plans.py`). So a network that is even enough stays as it is, and one that
was just shared anew does too.
Rule 2: it is the brokers' own sample that says where to cut, and their own count how much there is. One broker moves at
a time (`resplit.py`); if whoever does this dies, the network is whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from rookery.brokers.balancing import is_uneven
from rookery.errors import BrokerError, JoinError
from rookery.live.brokers.resplit import ask_all, resplit, samples_of
from rookery.live.credentials import Credentials

__all__ = ["balance", "measured"]

_NO_CREDENTIALS = Credentials()


def measured(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> dict[str, float] | None:
    """Return the events by zone (path of bits) between two looks; None where zones have changed meanwhile."""
    first, second = (
        {(zone["path"], str(zone["cuts"])): float(zone["events"]) for one in look for zone in one["zones"]}
        for look in (before, after)
    )
    if first.keys() != second.keys() or any(second[zone] < first[zone] for zone in first):
        return None
    return {path: second[path, cuts] - first[path, cuts] for path, cuts in second}


async def balance(
    at: str,
    *,
    every: float,
    credentials: Credentials = _NO_CREDENTIALS,
    looks: int | None = None,
    told: Callable[[str], None] = lambda text: None,
) -> int:
    """Look every so many seconds, for good or so many times; return how many moves were made.

    A look that finds no broker, or a move that is not done in time, is told and tried again at the next look.
    """
    moves = 0
    before: list[dict[str, Any]] = []
    while looks is None or looks > 0:
        looks = None if looks is None else looks - 1
        try:
            now = await ask_all(at, credentials, role="operator", sample=True)
            loads = measured(before, now) if before else None
            if loads is not None and is_uneven(loads.values()):
                done = await resplit(at, samples=samples_of(now, loads), credentials=credentials, told=told)
                moves += done.moves
                now = []  # what is seen of the zones begins anew
            before = now
        except (BrokerError, JoinError, TimeoutError) as error:
            told(f"at the next look again: {error}")
            before = []
        if looks != 0:
            await asyncio.sleep(every)
    return moves
