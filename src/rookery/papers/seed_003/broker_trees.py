"""Brokers that form a random tree, as content-based systems before seed 003 have them: with tables, and without.

With tables each broker has one subscription, to a range of one attribute, and the table of a link holds the
subscriptions behind it: an event crosses the link if one of them matches. Without, events go everywhere.
"""

from __future__ import annotations

import random

import numpy as np

from rookery import Schema
from rookery.papers.seed_003.flooding import FloodingBroker

__all__ = ["BrokerTree"]


class BrokerTree:
    """A tree in which each broker after the first has a random earlier one for a parent."""

    def __init__(self, count: int, dice: random.Random) -> None:
        self._dice = dice
        self._parent = [0, *(dice.randrange(number) for number in range(1, count))]
        self._links: list[list[int]] = [[] for _ in range(count)]
        for number in range(1, count):
            self._links[number].append(self._parent[number])
            self._links[self._parent[number]].append(number)

    def flood(self, events: int) -> tuple[int, float]:
        """Send events to everyone; return the messages, and the share of the brokers that were reached."""
        count, schema, messages, reached = len(self._links), Schema(x=float), 0, 0
        starts = [self._dice.randrange(count) for _ in range(events)]
        brokers = [FloodingBroker(number, schema, peers) for number, peers in enumerate(self._links)]
        for start in starts:
            brokers[start].publish({"x": 1.0})
            waiting, came = [start], {start}
            while waiting:
                sender = waiting.pop()
                for receiver, message in brokers[sender].messages_to_send():
                    messages += 1
                    brokers[receiver].receive(message, sender, 0)
                    waiting.append(receiver)
                    came.add(receiver)
            reached += len(came)
        return messages, reached / events / count

    def route(self, events: int, share: float) -> tuple[int, float]:
        """Match at each hop, an event being wanted by a share of the brokers, or by one; return the same."""
        dice, count = self._dice, len(self._links)
        below = np.eye(count, dtype=bool)
        for number in range(count - 1, 0, -1):
            below[self._parent[number]] |= below[number]
        low = np.array([dice.random() * (1 - share) for _ in range(count)])
        if share * count == 1:
            low = np.array(dice.sample([number / count for number in range(count)], count))
        messages = due = reached = 0
        for _ in range(events):
            x = share / 2 + dice.random() * (1 - share)
            match = (low <= x) & (x < low + share)
            came, waiting = {start := dice.randrange(count)}, [start]
            while waiting:
                here = waiting.pop()
                for there in self._links[here]:
                    behind = below[there] if there != self._parent[here] else ~below[here]
                    if there not in came and bool((match & behind).any()):
                        messages += 1
                        came.add(there)
                        waiting.append(there)
            due, reached = due + int(match.sum()), reached + sum(bool(match[number]) for number in came)
        return messages, reached / max(1, due)
