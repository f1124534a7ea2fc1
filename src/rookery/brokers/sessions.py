"""Sessions: the clients of an access broker, who is attached, what was delivered to them, what they have acknowledged.

A delivery is acknowledged to its owner when all clients that it concerns have acknowledged it. A client that is away,
or has more events in flight than its window, is given nothing; the owner keeps its backlog and is asked to redeliver it
when the client can take it. So an access broker has no events of its own, and nothing is lost with it. What is in
flight to clients is bounded in bytes too, for each and for all; where it is all taken, who takes nothing is let go.

A subscription is placed when the zones that say they have it, in this version, tile its box: only then does the client
hear that it will get every event published from now on. Where a zone has a later version, the client hears of that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import inf, nextafter
from typing import TYPE_CHECKING

from rookery.brokers.batch_matches import BatchMatches
from rookery.brokers.batches import Acknowledge, DeliverBatch, Placed, Redeliver, Superseded
from rookery.brokers.bulks import bulks
from rookery.brokers.client_messages import DeliverToClient, Subscribed, SubscribedMany
from rookery.brokers.row_cuts import RowCuts
from rookery.machine import ClientId, Close
from rookery.space.zones import ZoneBox, box_of, subtract

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["Sessions"]

#: Subscriptions that are sent to their zones again at one beat, for want of an answer.
MOST_PLACED_AGAIN = 512


class Sessions:
    """The clients of one broker, known by numbers that the program gives them."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._client_of: dict[str, int] = {}
        self._names: dict[int, set[str]] = {}
        #: The clients that are here, and how many events are in flight to each.
        self.attached: dict[int, int] = {}
        #: Bytes in flight to each of them, and to all; of each delivery; and since when a client has taken none.
        self._bytes: Counter[int] = Counter()
        self.bytes_in_flight = 0
        self._sizes: dict[tuple[int, int], int] = {}
        self._since: dict[int, int] = {}
        self._is_short = False
        #: Since when the other clients are away.
        self._away: dict[int, int] = {}
        #: By owner and delivery: the clients concerned; how many events each was given, -1 when it has acknowledged.
        self._in_flight: dict[tuple[int, int], dict[int, int]] = {}
        #: By client that could take no more: what owners keep for it, as owner and delivery, with events and bytes.
        self._backlog: dict[int, dict[tuple[int, int], tuple[int, int]]] = {}
        self._acknowledgments: dict[int, list[int]] = {}
        #: By name of a subscription: version, what of its box no zone has answered for, when it is sent again, and how
        #: long it is waited for then; in the order in which they were last sent.
        self._placing: dict[str, tuple[int, list[ZoneBox], int, int]] = {}
        #: By client, what it is to be told at the end of this turn: subscriptions that are in force.
        self._in_force: dict[int, list[tuple[str, int]]] = {}

    # ---- clients come and go -------------------------------------------------------------------------------------

    def attach(self, client: int) -> None:
        """A client is here, perhaps again."""
        self.attached.setdefault(client, 0)
        self._away.pop(client, None)
        self._request_backlog(client)

    def detach(self, client: int) -> None:
        """A client is away; its subscriptions stay for as long as the configuration says."""
        if self.attached.pop(client, None) is None:
            return
        self._away[client] = self._broker.now
        self.bytes_in_flight -= self._bytes.pop(client, 0)
        for key, clients in self._in_flight.items():
            if clients.get(client, -1) >= 0:
                self._backlog.setdefault(client, {})[key] = (clients[client], self._sizes.get(key, 0))
                clients[client] = 0

    def subscribe(self, client: int, name: str) -> None:
        """Note whose subscription this is, and ask the zones to say that they have it."""
        self._client_of[name] = client
        self._names.setdefault(client, set()).add(name)
        subscription = self._broker.placement.clients[name]
        if subscription.lower:
            upper = tuple(nextafter(x, inf) for x in subscription.upper)
            beat = self._broker.configuration.beat
            whole = [ZoneBox(subscription.lower, upper)]
            self._placing[name] = (subscription.version, whole, self._broker.now + beat, 2 * beat)
        else:  # never true
            self._broker.reply(client, Subscribed(name, subscription.version))

    def count_of(self, client: int) -> int:
        """Return how many subscriptions a client has here."""
        return len(self._names.get(client, ()))

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
        self._backlog.pop(client, None)
        for key in [key for key, clients in self._in_flight.items() if client in clients]:
            self._acknowledged(key, client)

    def placed(self, message: Placed) -> None:
        """A zone says that it has subscriptions."""
        box = box_of(message.path, self._broker.configuration.space.dimensions)
        for name, version in message.subscriptions:
            placing = self._placing.get(name)
            if placing is None or placing[0] != version:
                continue
            left = subtract(placing[1], box)
            if left:
                self._placing[name] = (version, left, *placing[2:])
            else:
                del self._placing[name]
                client = self._client_of.get(name)
                if client is not None:
                    self._in_force.setdefault(client, []).append((name, version))

    def superseded(self, message: Superseded) -> None:
        """A zone says that it has another version: only the client can take a greater one."""
        placing = self._placing.get(message.subscription_id)
        if placing is not None and placing[0] == message.version:
            del self._placing[message.subscription_id]
            self._broker.counters["superseded"] += 1
            client = self._client_of.get(message.subscription_id)
            if client is not None:
                self._broker.reply(client, message)

    def version_of(self, client: int) -> int:
        """Return the greatest version that a client has used here, 0 if none is known."""
        clients = self._broker.placement.clients
        return max((clients[name].version for name in self._names.get(client, ()) if name in clients), default=0)

    # ---- deliveries ----------------------------------------------------------------------------------------------

    def deliver(self, message: DeliverBatch, owner: int) -> None:
        """Give a delivery to the clients concerned, each once."""
        client_of = self._client_of
        key = (owner, message.number)
        known = self._in_flight.get(key)
        if known is not None and len(known) == 1 and message.names and client_of.get(message.names[0]) in known:
            clients = set(known)  # delivered again is no more than before, so all of it is the one client's
        elif len(self._names) == 1 and not client_of.keys().isdisjoint(message.names):
            clients = set(self._names)  # whose else
        else:
            found = {*map(client_of.get, message.names), *map(client_of.get, message.every)}
            clients = {client for client in found if client is not None}  # not ours any more: nobody to tell
        if known is None:
            if not clients:
                self._acknowledgments.setdefault(owner, []).append(message.number)
                return
            known = self._in_flight[key] = {}
        # One tuple for all clients: a thousand of them that are away, with a thousand events each, are a million.
        waiting = (message.batch.count, message.batch.size)
        self._sizes[key] = waiting[1]
        divided: dict[int, BatchMatches] | None = None
        cuts = RowCuts(message.batch)
        for client in clients:
            if known.get(client):
                continue
            if not self._can_take(client, waiting[1]):
                self._backlog.setdefault(client, {})[key] = waiting
                known[client] = 0
                continue
            mine = message
            if len(clients) > 1:
                if divided is None:
                    divided = BatchMatches(message.every, message.rows, message.names).divided(client_of)
                mine = divided[client].delivery(message.number, message.batch, cuts)
            known[client] = self._deliver_to(client, key, mine, waiting[1])
        for client in known.keys() - clients:  # the owner waits for them elsewhere, or no more
            self._acknowledged(key, client)

    def _can_take(self, client: int, size: int) -> bool:
        """Tell whether a client is here and has room for so many bytes more."""
        before = self.attached.get(client)
        return before is not None and before < self._broker.configuration.window and self._has_room(client, size)

    def _deliver_to(self, client: int, key: tuple[int, int], message: DeliverBatch, size: int) -> int:
        """Give a client its events, so many bytes at most; return how many."""
        count = message.batch.count
        if not self._bytes[client]:
            self._since[client] = self._broker.now
        self._bytes[client] += size
        self.bytes_in_flight += size
        self.attached[client] += count
        self._broker.reply(client, DeliverToClient(key[0], message))
        return count

    def _has_room(self, client: int, size: int) -> bool:
        """Tell whether a client may be given so many bytes more: one delivery always, others within the budget."""
        memory = self._broker.configuration.memory
        if self.bytes_in_flight + size > memory // 8 and self.bytes_in_flight:
            self._is_short = True
            return False
        return not self._bytes[client] or self._bytes[client] + size <= memory // 16

    def _drop_slowest(self) -> None:
        """Where deliveries to clients fill the budget, let go of those that have taken nothing for some beats.

        Their events stay with the owners, and they get them when they are back.
        """
        broker = self._broker
        over = broker.now - broker.configuration.slow * broker.configuration.beat
        for client in [one for one in self._bytes if self._bytes[one] and self._since.get(one, over + 1) <= over]:
            broker.counters["too slow"] += 1
            self.detach(client)
            broker.effect(Close(ClientId(client), "too slow"))

    def acknowledge(self, client: int, keys: Iterable[tuple[int, int]]) -> None:
        """A client has these."""
        for key in keys:
            clients = self._in_flight.get(key)
            if clients is not None and client in clients:
                self._acknowledged(key, client)
        if client in self._backlog and self.attached.get(client, inf) <= self._broker.configuration.window // 2:
            self._request_backlog(client)

    def _acknowledged(self, key: tuple[int, int], client: int) -> None:
        clients = self._in_flight.get(key, {})
        delivered = clients.get(client, -1)
        if delivered < 0:
            return
        clients[client] = -1
        if client in self.attached and delivered:
            self._taken(key, client, delivered)
        if all(count < 0 for count in clients.values()):
            del self._in_flight[key]
            self._sizes.pop(key, None)
            owner, number = key
            self._acknowledgments.setdefault(owner, []).append(number)

    def _taken(self, key: tuple[int, int], client: int, delivered: int) -> None:
        """A client has a delivery: there is room for another."""
        self.attached[client] = max(0, self.attached[client] - delivered)
        size = min(self._sizes.get(key, 0), self._bytes[client])
        self._bytes[client] -= size
        self.bytes_in_flight -= size
        self._since[client] = self._broker.now

    def _request_backlog(self, client: int) -> None:
        """Ask for as much of a client's backlog as its window has room for; for more when it has acknowledged that."""
        backlog = self._backlog.get(client, {})
        configuration = self._broker.configuration
        room = configuration.window - self.attached.get(client, 0)
        room_bytes = configuration.memory // 16 - self._bytes[client]
        asked: dict[int, list[int]] = {}
        while backlog and room > 0 and room_bytes > 0:
            owner, number = next(iter(backlog))
            count, size = backlog.pop((owner, number))
            room, room_bytes = room - max(1, count), room_bytes - size
            asked.setdefault(owner, []).append(number)
        if not backlog:
            self._backlog.pop(client, None)
        for owner, numbers in asked.items():
            self._broker.send(owner, Redeliver(tuple(numbers)))

    @property
    def has_answers(self) -> bool:
        """Whether `settle` has anything to send."""
        return bool(self._acknowledgments or self._in_force)

    def settle(self) -> None:
        """Send the acknowledgments of one buffer of messages, one for each owner; say what is in force."""
        if self._in_force:
            in_force, self._in_force = self._in_force, {}
            for client, entries in in_force.items():
                for bulk in bulks(entries, _length):
                    self._broker.reply(client, SubscribedMany(bulk) if len(bulk) > 1 else Subscribed(*bulk[0]))
        if self._acknowledgments:
            acknowledgments, self._acknowledgments = self._acknowledgments, {}
            for owner, numbers in acknowledgments.items():
                self._broker.send(owner, Acknowledge(tuple(numbers)))

    def lost(self, owner: int) -> None:
        """An owner is gone: nobody waits for acknowledgments of its deliveries, others will deliver."""
        for key in [key for key in self._in_flight if key[0] == owner]:
            for client, delivered in self._in_flight.pop(key).items():
                if client in self.attached and delivered > 0:
                    self._taken(key, client, delivered)
            self._sizes.pop(key, None)

    def _place_again(self) -> None:
        """Send again what was not placed in time, some of it: each time after twice as long, up to `refresh`.

        Zones that are behind have it already, and would only have it twice.
        """
        now, most = self._broker.now, self._broker.configuration.refresh
        due = [name for name, placing in self._placing.items() if placing[2] <= now]
        for name in due[:MOST_PLACED_AGAIN]:
            version, left, _, patience = self._placing.pop(name)
            self._placing[name] = (version, left, now + patience, min(2 * patience, most))
            subscription = self._broker.placement.clients.get(name)
            if subscription is not None:
                self._broker.placement.send(subscription, answer=True)

    def beat(self) -> None:
        """Ask again for what was not placed or not delivered; let go of clients that have been away for too long."""
        broker = self._broker
        if self._is_short:
            self._is_short = False
            self._drop_slowest()
        for client in [client for client in self._backlog if self.attached.get(client, inf) == 0]:
            self._request_backlog(client)  # what was asked for did not come
        self._place_again()
        over = broker.now - broker.configuration.detached
        for client in [client for client, since in self._away.items() if since < over]:
            broker.counters["clients given up"] += 1
            self.forget(client)


def _length(entry: tuple[str, int]) -> int:
    return len(entry[0])
