"""The gateway of an island, as a machine: plain DDS inside, summaries and wanted samples between sites.

A site is a DDS domain of its own. Its gateway is one more participant there. It hears of all endpoints, tells the other
sites in a summary what the readers here want, and looks for what the writers here have in the summaries of the others.
Where a summary says yes, the site is offered a channel; if it wants it, samples go, each only to the sites that want
it, and a condition that acts there is applied here, at the source. A summary that said yes wrongly costs one offer.

Nobody is told too early: a reader finds the proxy of a channel when the channel's writers know the tap, and what comes
before the reader knows the proxy waits. So whatever a writer sends once it knows the tap, and a reader wants once it
knows the proxy, arrives, although neither knows of the other.

No echo: what the gateway itself writes here for other sites is neither offered nor heard by its taps, the endpoints of
any other gateway in this domain are as if they were not there, and with its site nothing is exchanged. No storm:
samples go from the site of their writer to the sites of its readers, and no site passes on what it received, except as
a link of the way.

The machine has two kinds of senders. What comes from an address is a datagram for its participant, which it owns; all
else is a frame of a link, and goes to the backbone. The events of the participant are emitted after the gateway has
taken them in.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterable
from typing import Any

from rookery.discovery.interests import interest_of_endpoint
from rookery.gateway.backbone import Backbone
from rookery.gateway.channels import Proxy
from rookery.gateway.events import GatewayFound
from rookery.gateway.membership import gateways_among
from rookery.gateway.messages import Body, Forwarded, Offer, Ready, Want, Withdraw, encode
from rookery.gateway.proxies import Proxies
from rookery.gateway.taps import Taps
from rookery.machine import Effect, Emit
from rookery.model import Schema
from rookery.participant.participant import Participant
from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.events import EndpointMatched, Event, MessageRejected, SampleReceived
from rookery.rtps.identity import Guid, is_writer
from rookery.rtps.locators import Address

__all__ = ["Gateway"]

#: Endpoints come in crowds: what changed is looked at once after so many microseconds, and not again for so many more.
_SETTLE = 50_000
_REST = 500_000


class Gateway:
    """One site's end of the backbone, and one participant of its domain."""

    def __init__(self, site: str, *, participant: Participant, incarnation: int) -> None:
        self.participant = participant
        self.counters: Counter[str] = Counter()
        self.backbone = Backbone(site, incarnation=incarnation, owner=self)
        #: The taps and proxies of this gateway, and the other gateways of its domain by prefix.
        self._own: dict[Guid, None] = {}
        self._gateways: dict[bytes, str] = {}
        self._taps = Taps(participant, backbone=self.backbone, own=self._own, counters=self.counters)
        self._proxies = Proxies(participant, own=self._own, counters=self.counters)
        #: What the gateway's own subscriptions want, by topic and type.
        self._conditions: dict[tuple[str, str], dict[int, tuple[str, Schema]]] = {}
        self._settle_at: int | None = 0
        self._rests_until = 0
        self._effects: list[Effect] = []
        #: What the participant had when the gateway did something last; what is more, its owner has made.
        self._endpoints_made = 0
        #: Events of the participant that are not taken in yet.
        self._events: deque[Event] = deque()

    # ---- the machine ---------------------------------------------------------------------------------------------

    def receive_many(self, messages: Iterable[Any], sender: Hashable, now: int) -> None:
        """Take in the datagrams of an address, or the frames of a link."""
        if isinstance(sender, Address):
            self.participant.receive_many(messages, sender, now)
        else:
            self.backbone.receive_many(messages, sender, now)
        self._take_events(now)

    def undeliverable(self, message: Any, receiver: Hashable, now: int) -> None:
        """Do nothing: what a link did not deliver is sent again when there is another."""

    def lose(self, node: Hashable, now: int) -> None:
        """Learn that a link is gone."""
        self.backbone.lose(node, now)
        self._take_events(now)

    def completed(self, effect: Effect, result: Any, now: int) -> None:
        """Do nothing: a gateway writes nothing to a disk."""

    def wake(self, now: int) -> None:
        """Do what is due, in all parts."""
        self.participant.wake(now)
        self._take_events(now)
        self.backbone.wake(now)
        self._proxies.wake(now)
        self._taps.wake(now)
        if self._settle_at is not None and now >= self._settle_at:
            self._settle(now)
        self._take_events(now)

    def timer(self) -> int | None:
        """Return when `wake` is wanted next: by the first of all parts, and at once where events wait."""
        if self._events:
            return 0
        parts = (self.participant, self.backbone, self._proxies, self._taps)
        times = (self._settle_at, *(part.timer() for part in parts))
        return min((at for at in times if at is not None), default=None)

    def effects(self) -> list[Effect]:
        """Return the datagrams, frames and links to close, and the events; forget them."""
        for effect in self.participant.effects():  # events come of commands of its owner: they are the gateway's first
            if isinstance(effect, Emit):
                self._events.append(effect.event)
            else:
                self._effects.append(effect)
        if self.participant.endpoints_made != self._endpoints_made and self._settle_at is None:
            self._settle_at = self._rests_until
        effects, self._effects = self._effects + self.backbone.effects(), []
        return effects

    @property
    def waiting(self) -> int:
        """What other sites do not have yet: events of this one that are not taken in, and bodies on their way."""
        return len(self._events) + self.backbone.waiting

    # ---- commands of the owner -----------------------------------------------------------------------------------

    def start(self, now: int) -> None:
        """Announce the participant."""
        self.participant.start(now)
        self._take_events(now)

    def stop(self, now: int) -> None:
        """Let the participant say goodbye."""
        self.participant.stop(now)

    def open(self, link: Hashable) -> None:
        """Learn that there is a link to another gateway, which its driver names as it likes, but not by an address."""
        self.backbone.open(link)

    def restrict(self, subscription: int, *, topic: str, type_name: str, where: str, schema: Schema, now: int) -> None:
        """Say that a subscription of the gateway's own participant wants only some events of a topic."""
        self._conditions.setdefault((topic, type_name), {})[subscription] = (where, schema)
        self._look_soon(now)

    def release(self, subscription: int, now: int) -> None:
        """Forget a restriction: its subscription has ended."""
        for conditions in self._conditions.values():
            conditions.pop(subscription, None)
        self._look_soon(now)

    @property
    def other_gateways(self) -> tuple[str, ...]:
        """The islands whose gateways are participants of this site's domain; there should be none."""
        return tuple(sorted(self._gateways.values()))

    # ---- the participant's events --------------------------------------------------------------------------------

    def _take_events(self, now: int) -> None:
        """Take in what happened to the participant, and what that makes happen to it.

        What it sends waits for `effects`, where it is packed into datagrams once.
        """
        self._events += self.participant.take_events()
        while self._events:
            event = self._events.popleft()
            self._take_event(event, now)
            self._effects.append(Emit(event))
            if not self._events:
                self._events += self.participant.take_events()
        self._endpoints_made = self.participant.endpoints_made

    def _take_event(self, event: Event, now: int) -> None:
        if self._taps.take_event(event, now, gateways=self._gateways):
            return
        if isinstance(event, SampleReceived | MessageRejected):
            return
        if isinstance(event, EndpointMatched) and event.local in self._own:
            return
        gateways = gateways_among(self.participant.peers)
        for prefix in gateways.keys() - self._gateways.keys():
            self._effects.append(Emit(GatewayFound(gateways[prefix])))
        self._gateways = gateways
        self._look_soon(now)

    # ---- the backbone's owner ------------------------------------------------------------------------------------

    def take(self, origin: str, body: Body, now: int) -> bool:
        """Take a body of another site; False where it must come again later."""
        match body:
            case Offer():
                proxy = self._proxies.offered(origin, body)
                if proxy is not None:
                    self._answer(origin, proxy, self._readers(), now)
            case Withdraw(number):
                self._proxies.withdrawn(origin, number, now)
            case Want():
                self._taps.want(origin, body, now)
            case Ready():
                self._proxies.ready(origin, body, now)
            case Forwarded():
                return self._proxies.write(origin, body, now)
        return True

    def site_changed(self, site: str, now: int) -> None:
        """A site says something new of itself: it may want more."""
        self._offer(site, now)

    def session_began(self, origin: str, now: int) -> None:
        """A site begins anew: it offers again what it has, and must be told again what is wanted."""
        self._proxies.began_anew(origin, now)

    def site_renewed(self, site: str, now: int) -> None:
        """A site knows nothing any more: it is offered everything again."""
        self._taps.renew(site, now)
        self._proxies.forget_answers(site)
        self._look_soon(now)

    def site_gone(self, site: str, now: int) -> None:
        """A site has vanished for good, as far as can be told."""
        self.site_renewed(site, now)
        self._proxies.gone(site, now)

    def _offer(self, site: str, now: int) -> None:
        if site not in self.other_gateways:
            self._taps.offer(site, now)

    # ---- the others' writers, for this site ----------------------------------------------------------------------

    def _answer(self, origin: str, proxy: Proxy, readers: set[tuple[str, str]], now: int) -> None:
        """Say whether a channel is wanted, if that is not what was said last."""
        channel = proxy.channel
        kind = channel.kind
        conditions = self._conditions.get(kind, {})
        is_wanted = (kind in readers or bool(conditions)) and origin not in self.other_gateways
        if not is_wanted:
            self._proxies.unmake(proxy, now)
        clauses = sorted({where for where, _ in conditions.values()}) if is_wanted and kind not in readers else []
        schema = next(iter(conditions.values()))[1].to_dict() if clauses else {}
        said = (is_wanted, tuple(clauses))
        if proxy.answered != said and not proxy.stale:
            proxy.answered = said
            proxy.turn += 1
            self.backbone.send([origin], encode(Want(proxy.number, is_wanted, clauses, schema, proxy.turn)), now)

    # ---- what there is at this site ------------------------------------------------------------------------------

    def _look_soon(self, now: int) -> None:
        if self._settle_at is None:
            self._settle_at = max(now + _SETTLE, self._rests_until)

    def _endpoints(self) -> list[EndpointAnnouncement]:
        """The endpoints of this site: all but those of gateways, and of this one those that are not for other sites."""
        heard = [endpoint.announcement for endpoint in self.participant.remote_endpoints]
        here = [one for one in self.participant.local_endpoints if one.guid not in self._own]
        return [one for one in heard if one.guid.prefix not in self._gateways] + here

    def _readers(self) -> set[tuple[str, str]]:
        """What this site reads, by topic and type, but for the gateway's own readers that want only some events."""
        readers: set[tuple[str, str]] = set()
        for one in self._endpoints():
            kind = (one.topic, one.type_name)
            restricted = one.guid.prefix == self.participant.prefix and self._conditions.get(kind)
            if not is_writer(one.guid.entity) and not restricted:
                readers.add(kind)
        return readers

    def _settle(self, now: int) -> None:
        """Look at what there is at this site, and tell the others what has changed."""
        self._settle_at = None
        self._rests_until = now + _REST
        endpoints = self._endpoints()
        self.backbone.describe(
            (interest_of_endpoint(one).own for one in endpoints if not is_writer(one.guid.entity)), now
        )
        self._taps.settle(endpoints, now)
        for site in self.backbone.sites.states:
            self._offer(site, now)
        readers = self._readers()
        for origin, proxy in self._proxies:
            self._answer(origin, proxy, readers, now)
