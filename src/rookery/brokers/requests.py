"""What clients ask of the broker that they are connected to: each request is done, a wrong one closes the connection.

Rule 1: a client says `Attach` first and is told what is served here and by whom.
Rule 2: nothing that a client says raises or harms anybody else. What no client of ours says (a batch under another
publisher's number, a subscription named after somebody else) ends its connection or is rejected with the reason.
Rule 3: a broker that leaves takes no more clients and sends those that it has to others; their subscriptions stand, so
nothing that is published meanwhile is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rookery.brokers.batches import EventBatch, Superseded, is_readable
from rookery.brokers.client_messages import (
    AskStatus,
    Attach,
    ClientAcknowledge,
    FromClient,
    KnownBrokers,
    PublishBatch,
    RequestZone,
    Subscribe,
    SubscribeMany,
    SubscriptionRejected,
    TransferZone,
    Unsubscribe,
    UnsubscribeMany,
    Welcome,
)
from rookery.brokers.events import StatusAsked
from rookery.errors import RookeryError
from rookery.machine import ClientId, Close, Emit

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["Requests"]

#: Seconds that a broker waits for a zone at most.
MOST_PATIENCE = 600.0
#: Brokers named to a client.
MOST_BROKERS = 16


class Requests:
    """The requests of one broker's clients."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        #: Which other brokers there were when the clients were told, and when to tell them again.
        self._told: frozenset[int] = frozenset()
        self._next_news = 0

    def receive(self, requests: Iterable[FromClient], client: int) -> None:
        """Do what a client asks in one buffer; its batches go on their way together."""
        broker = self._broker
        for request in requests:
            if broker.membership.leaving:
                self._send_away(client)
                return
            if not isinstance(request, Attach) and client not in broker.sessions.attached:
                return  # its connection was closed a moment ago
            if not self._do(request, client):
                broker.counters["malformed request"] += 1
                self._close(client, "malformed request")
                return

    def close_all(self) -> None:
        """Send every client to another broker, and say which ones there are: those it knows may all be gone by now."""
        for client in list(self._broker.sessions.attached):
            self._send_away(client)

    def _send_away(self, client: int) -> None:
        self._broker.reply(client, KnownBrokers(self._peers(client)))
        self._close(client, "leaving")

    def _close(self, client: int, reason: str) -> None:
        self._broker.sessions.detach(client)
        self._broker.effect(Close(ClientId(client), reason))

    def _do(self, request: FromClient, client: int) -> bool:
        """Carry out one request; say whether it is one that a client may make."""
        broker = self._broker
        match request:
            case PublishBatch(batch):
                if not _is_of(batch, client):
                    return False
                broker.publishing.publish(batch)
            case ClientAcknowledge(keys):
                broker.sessions.acknowledge(client, keys)
            case Subscribe():
                self._subscribe(request, client)
            case SubscribeMany(subscriptions):
                for one in subscriptions:
                    self._subscribe(one, client)
            case Unsubscribe(name):
                self._unsubscribe(name, client)
            case UnsubscribeMany(names):
                for name in names:
                    self._unsubscribe(name, client)
            case Attach():
                self._attach(client)
            case AskStatus(sample):
                broker.effect(Emit(StatusAsked(client, sample)))
            case TransferZone(seconds, back):
                if not 0 <= seconds <= MOST_PATIENCE:
                    return False
                broker.balancing.ordered()
                broker.membership.transfer_all(round(seconds * 1e6), back)
            case RequestZone(path, cut):
                broker.balancing.ordered()
                broker.membership.joining.request_zone(path, cut)
        return True

    def beat(self) -> None:
        """Tell the clients who else serves them, where that is not what they were told."""
        broker = self._broker
        if broker.sessions.attached and broker.now >= self._next_news:
            self._next_news = broker.now + broker.configuration.refresh
            living = frozenset(broker.routing_table.living())
            if living != self._told:
                self._told = living
                for client in broker.sessions.attached:
                    broker.reply(client, KnownBrokers(self._peers(client)))

    def _peers(self, client: int) -> tuple[int, ...]:
        return tuple(self._broker.routing_table.ways_on(client)[: MOST_BROKERS - 1])

    def _attach(self, client: int) -> None:
        broker = self._broker
        broker.sessions.detach(client)  # of an earlier connection, whose end was not seen
        space = broker.configuration.space
        axes = tuple(axis.plain() for axis in space.axes)
        brokers = (broker.id, *self._peers(client))
        version = broker.sessions.version_of(client)
        broker.sessions.attach(client)
        broker.reply(client, Welcome(broker.configuration.topic, space.schema.to_dict(), axes, brokers, version))

    def _subscribe(self, request: Subscribe, client: int) -> None:
        """Place a subscription: `Subscribed` is said when every zone has this very version.

        A client that attaches to another broker subscribes there under the same name with a greater version, and so it
        does when it hears `Superseded`.
        """
        broker, name, version = self._broker, request.name, request.version
        if not _is_named_after(name, client):
            broker.reply(client, SubscriptionRejected(name, "a subscription is named after its client"))
            return
        known = broker.placement.clients.get(name)
        most = broker.configuration.most_subscriptions
        if known is None and broker.sessions.count_of(client) >= most:
            broker.counters["too many subscriptions"] += 1
            broker.reply(client, SubscriptionRejected(name, f"you have {most} subscriptions here: end some first"))
            return
        if known is not None and (version, request.where) != (known.version, known.where) and version <= known.version:
            broker.reply(client, Superseded(name, version, known.version))
            return
        try:
            broker.placement.subscribe(name, request.where, request.parameters, version, durable=request.durable)
        except RookeryError as error:
            broker.reply(client, SubscriptionRejected(name, str(error)))
            return
        broker.sessions.subscribe(client, name)

    def _unsubscribe(self, name: str, client: int) -> None:
        if _is_named_after(name, client):
            self._broker.sessions.unsubscribe(name)
            self._broker.placement.unsubscribe(name)


def _is_of(batch: EventBatch, client: int) -> bool:
    return batch.publisher == client and not batch.offsets and is_readable(batch)


def _is_named_after(name: str, client: int) -> bool:
    return name.startswith(f"{client:x}/")
