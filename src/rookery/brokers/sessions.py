"""The clients of an access broker: who is attached, what they were told, what they have confirmed.

A notice is confirmed to its owner when all clients that it concerns have confirmed it. A client that is away, or has
more unconfirmed events than its window, is told nothing; the owner keeps what is meant for it and is asked to tell it
again when the client can take it. So an access broker holds no events, and nothing is lost with it.

A subscription is placed when the zones that say they have it, in this version, tile its box: only then does the client
hear that it will get every event published from now on. Where a zone has a later version, the client hears of that.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, nextafter
from typing import TYPE_CHECKING

from rookery.brokers.batch_matches import BatchMatches
from rookery.brokers.batches import Again, Confirm, Notice, Placed, Superseded
from rookery.brokers.client_messages import Deliver, Subscribed
from rookery.brokers.zones import ZoneBox, box_of, subtract

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["Sessions"]


class Sessions:
    """The clients of one broker, known by numbers that the program gives them."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._client_of: dict[str, int] = {}
        self._names: dict[int, set[str]] = {}
        #: The clients that are here, and how many events each was told and has not confirmed.
        self.attached: dict[int, int] = {}
        #: Since when the others are away.
        self._away: dict[int, int] = {}
        #: By owner and notice: the clients concerned; how many events each was told, -1 when it has confirmed.
        self._open: dict[tuple[int, int], dict[int, int]] = {}
        #: By client that could not be told: what owners keep for it, as owner, notice and count of events, in order.
        self._kept_at: dict[int, dict[tuple[int, int], int]] = {}
        self._confirms: dict[int, list[int]] = {}
        #: What of a subscription's box no zone has answered for, and when it was last sent.
        self._placing: dict[str, tuple[int, list[ZoneBox], int]] = {}

    # ---- clients come and go -------------------------------------------------------------------------------------

    def attach(self, client: int) -> None:
        """A client is here, perhaps again."""
        self.attached.setdefault(client, 0)
        self._away.pop(client, None)
        self._relieve(client)

    def detach(self, client: int) -> None:
        """A client is away; its subscriptions stay for as long as the configuration says."""
        if self.attached.pop(client, None) is None:
            return
        self._away[client] = self._broker.now
        for (owner, part), clients in self._open.items():
            if clients.get(client, -1) >= 0:
                self._kept_at.setdefault(client, {})[owner, part] = clients[client]
                clients[client] = 0

    def subscribe(self, client: int, name: str) -> None:
        """Note whose subscription this is, and ask the zones to say that they have it."""
        self._client_of[name] = client
        self._names.setdefault(client, set()).add(name)
        subscription = self._broker.placement.clients[name]
        if subscription.lower:
            upper = tuple(nextafter(x, inf) for x in subscription.upper)
            self._placing[name] = (subscription.version, [ZoneBox(subscription.lower, upper)], self._broker.now)
        else:  # never true
            self._broker.reply(client, Subscribed(name, subscription.version))

    def is_here(self, name: str) -> bool:
        """Tell whether the client of a subscription is attached here."""
        return self._client_of.get(name) in self.attached

    def unsubscribe(self, name: str) -> None:
        """A subscription is over."""
        client = self._client_of.pop(name, None)
        self._placing.pop(name, None)
        if client is not None:
            self._names[client].discard(name)

    def forget(self, client: int) -> None:
        """A client is gone for good, with its subscriptions."""
        for name in self._names.pop(client, set()):
            self._client_of.pop(name, None)
            self._placing.pop(name, None)
            self._broker.placement.unsubscribe(name)
        self.attached.pop(client, None)
        self._away.pop(client, None)
        self._kept_at.pop(client, None)
        for key in [key for key, clients in self._open.items() if client in clients]:
            self._confirmed(key, client)

    def placed(self, message: Placed) -> None:
        """A zone says that it has a subscription."""
        placing = self._placing.get(message.subscription_id)
        if placing is None or placing[0] != message.version:
            return
        version, left, since = placing
        left = subtract(left, box_of(message.path, self._broker.configuration.space.dimensions))
        if left:
            self._placing[message.subscription_id] = (version, left, since)
        else:
            del self._placing[message.subscription_id]
            self._tell(message.subscription_id, Subscribed(message.subscription_id, version))

    def superseded(self, message: Superseded) -> None:
        """A zone says that it has another version: only the client can take a greater one."""
        placing = self._placing.get(message.subscription_id)
        if placing is not None and placing[0] == message.version:
            del self._placing[message.subscription_id]
            self._broker.counters["superseded"] += 1
            self._tell(message.subscription_id, message)

    def _tell(self, name: str, message: Subscribed | Superseded) -> None:
        client = self._client_of.get(name)
        if client is not None:
            self._broker.reply(client, message)

    def version_of(self, client: int) -> int:
        """Return the greatest version that a client has used here, 0 if none is known."""
        clients = self._broker.placement.clients
        return max((clients[name].version for name in self._names.get(client, ()) if name in clients), default=0)

    # ---- notices -------------------------------------------------------------------------------------------------

    def notice(self, message: Notice, owner: int) -> None:
        """Tell the clients concerned, each once."""
        client_of = self._client_of
        key = (owner, message.part)
        known = self._open.get(key)
        if known is not None and len(known) == 1 and message.names and client_of.get(message.names[0]) in known:
            clients = set(known)  # told again of no more than before, so all of it is the one client's
        else:
            found = {*map(client_of.get, message.names), *map(client_of.get, message.every)}
            clients = {client for client in found if client is not None}  # not ours any more: nobody to tell
        if known is None:
            if not clients:
                self._confirms.setdefault(owner, []).append(message.part)
                return
            known = self._open[key] = {}
        for client in clients:
            if not known.get(client):
                known[client] = self._hand(client, owner, message, alone=len(clients) == 1)
        for client in known.keys() - clients:  # the owner waits for them elsewhere, or no more
            self._confirmed(key, client)

    def _hand(self, client: int, owner: int, message: Notice, *, alone: bool) -> int:
        """Give a client its events; return how many, 0 if it cannot take them now."""
        waiting = self.attached.get(client)
        if waiting is None or waiting >= self._broker.configuration.window:
            self._kept_at.setdefault(client, {})[owner, message.part] = message.batch.count
            return 0
        if not alone:
            mine = BatchMatches(message.every, message.rows, message.names).only(self._names[client])
            message = mine.notice(message.part, message.batch)
        self.attached[client] = waiting + message.batch.count
        self._broker.reply(client, Deliver(owner, message))
        return message.batch.count

    def confirm(self, client: int, keys: Iterable[tuple[int, int]]) -> None:
        """A client has these."""
        for key in keys:
            clients = self._open.get(key)
            if clients is not None and client in clients:
                self._confirmed(key, client)
        if client in self._kept_at and self.attached.get(client, inf) <= self._broker.configuration.window // 2:
            self._relieve(client)

    def _confirmed(self, key: tuple[int, int], client: int) -> None:
        clients = self._open.get(key, {})
        told = clients.get(client, -1)
        if told < 0:
            return
        clients[client] = -1
        if client in self.attached:
            self.attached[client] = max(0, self.attached[client] - told)
        if all(count < 0 for count in clients.values()):
            del self._open[key]
            owner, part = key
            self._confirms.setdefault(owner, []).append(part)

    def _relieve(self, client: int) -> None:
        """Ask for as much of what is kept for a client as it may be told now; for more when it has confirmed that."""
        kept = self._kept_at.get(client, {})
        room = self._broker.configuration.window - self.attached.get(client, 0)
        asked: dict[int, list[int]] = {}
        while kept and room > 0:
            owner, part = next(iter(kept))
            room -= max(1, kept.pop((owner, part)))
            asked.setdefault(owner, []).append(part)
        if not kept:
            self._kept_at.pop(client, None)
        for owner, parts in asked.items():
            self._broker.send(owner, Again(tuple(parts)))

    @property
    def has_confirms(self) -> bool:
        """Whether `settle` has anything to send."""
        return bool(self._confirms)

    def settle(self) -> None:
        """Send the confirmations of a batch of messages, one message for each owner."""
        if self._confirms:
            confirms, self._confirms = self._confirms, {}
            for owner, parts in confirms.items():
                self._broker.send(owner, Confirm(tuple(parts)))

    def lost(self, owner: int) -> None:
        """An owner is gone: its notices will not be confirmed, others will tell."""
        for key in [key for key in self._open if key[0] == owner]:
            for client, told in self._open.pop(key).items():
                if client in self.attached:
                    self.attached[client] = max(0, self.attached[client] - max(0, told))

    def beat(self) -> None:
        """Ask again for what was not placed or not told; let go of clients that have been away for too long."""
        broker = self._broker
        for client in [client for client in self._kept_at if self.attached.get(client, inf) == 0]:
            self._relieve(client)  # what was asked for did not come
        for name, (version, left, since) in list(self._placing.items()):
            subscription = broker.placement.clients.get(name)
            if subscription is not None and broker.now - since >= broker.configuration.beat:
                self._placing[name] = (version, left, broker.now)
                broker.placement.send(subscription, answer=True)
        over = broker.now - broker.configuration.detached
        for client in [client for client, since in self._away.items() if since < over]:
            broker.counters["clients given up"] += 1
            self.forget(client)
