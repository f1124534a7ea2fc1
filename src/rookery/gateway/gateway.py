"""The gateway of an island: plain DDS inside, summaries and wanted samples between sites.

A site is a DDS domain of its own. Its gateway is one more participant there. It hears of all endpoints, tells the other
sites in a summary what the readers here want, and looks for what the writers here have in the summaries of the others.
Where a summary says yes, the site is offered a channel; if it wants it, samples go, each only to the sites that want
it, and a condition that acts there is applied here, at the source. A summary that said yes wrongly costs one offer.

Nobody is told too early: a reader finds the proxy of a channel when the channel's writers know the tap, and what comes
before the reader knows the proxy is held. So whatever a writer sends once it knows the tap, and a reader wants once it
knows the proxy, arrives, although neither knows of the other.

No echo: what the gateway itself writes here for other sites is neither offered nor heard by its taps, the endpoints of
any other gateway in this domain are as if they were not there, and with its site nothing is exchanged. No storm:
samples go from the site of their writer to the sites of its readers, and no site passes on what it received, except as
a link of the way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rookery.discovery.interests import interest_of, interest_of_endpoint
from rookery.gateway.backbone import Backbone
from rookery.gateway.channels import Channel, Proxy, Tap, channel_of
from rookery.gateway.conditions import TopicConditions
from rookery.gateway.membership import gateways_among
from rookery.gateway.messages import Body, Forwarded, Offer, Ready, Want, Withdraw, encode
from rookery.gateway.proxies import LOOK, PATIENCE, Proxies
from rookery.model import Schema
from rookery.participant.participant import Participant
from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.events import EndpointMatched, Event, MessageRejected, SampleReceived
from rookery.rtps.identity import Guid, is_writer

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
        self._taps: dict[Channel, Tap] = {}
        self._taps_by_number: dict[int, Tap] = {}
        self._taps_by_reader: dict[Guid, Tap] = {}
        #: Taps that their writers do not know yet.
        self._new_taps: dict[int, Tap] = {}
        self._look_at: int | None = None
        #: The taps and proxies of this gateway, and the other gateways of its domain by prefix.
        self._own: dict[Guid, None] = {}
        self._gateways: dict[bytes, str] = {}
        self._proxies = Proxies(participant, own=self._own, counters=self.counters)
        #: What the gateway's own subscriptions want, and what other sites do, by topic and type.
        self._conditions: dict[tuple[str, str], dict[int, tuple[str, Schema]]] = {}
        self._remote_conditions: dict[tuple[str, str], TopicConditions] = {}
        self._numbers = 0
        self._settle_at: int | None = 0
        self._rests_until = 0

    # ---- what the owner of the site does -------------------------------------------------------------------------

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

    # ---- what moves it -------------------------------------------------------------------------------------------

    def take_event(self, event: Event, now: int) -> None:
        """Take in what happened to the participant."""
        if isinstance(event, SampleReceived):
            tap = self._taps_by_reader.get(event.reader)
            if tap is not None:
                self._forward(tap, event, now)
        elif not isinstance(event, MessageRejected) and not (
            isinstance(event, EndpointMatched) and event.local in self._own
        ):
            self._gateways = gateways_among(self.participant.peers)
            self._look_soon(now)

    def timer(self) -> int | None:
        """Return when `handle_timer` is wanted next."""
        times = (self._settle_at, self._look_at, self._proxies.timer(), self.backbone.timer())
        return min((at for at in times if at is not None), default=None)

    def handle_timer(self, now: int) -> None:
        """Do what is due."""
        self.backbone.handle_timer(now)
        self._proxies.handle_timer(now)
        if self._look_at is not None and now >= self._look_at:
            self._look_at = None
            for tap in list(self._new_taps.values()):
                self._tell_ready(tap, now)
        if self._settle_at is not None and now >= self._settle_at:
            self._settle(now)

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
                self._take_want(origin, body, now)
            case Ready():
                self._proxies.ready(origin, body, now)
            case Forwarded():
                return self._proxies.write(origin, body, now)
        return True

    def site_changed(self, site: str, now: int) -> None:
        """A site says something new of itself: it may want more."""
        self._offer(site, self._taps.values(), now)

    def session_began(self, origin: str, now: int) -> None:
        """A site begins anew: it offers again what it has, and must be told again what is wanted."""
        self._proxies.began_anew(origin, now)

    def site_renewed(self, site: str, now: int) -> None:
        """A site knows nothing any more: it is offered everything again."""
        for tap in self._taps.values():
            tap.offered.discard(site)
            self._unwant(tap, site, now)
        self._proxies.tell_again(site)

    def site_gone(self, site: str, now: int) -> None:
        """A site has vanished for good, as far as can be told."""
        self.site_renewed(site, now)
        self._proxies.gone(site, now)

    # ---- this site's writers, for the others ---------------------------------------------------------------------

    def _offer(self, site: str, taps: Iterable[Tap], now: int) -> None:
        if site in self.other_gateways:
            return
        for tap in taps:
            channel = tap.channel
            sought = interest_of(kind="W", topic=channel.topic, type_name=channel.type_name).sought
            if site not in tap.offered and self.backbone.sites.wants(site, sought):
                tap.offered.add(site)
                self.counters["offers"] += 1
                self.backbone.send([site], encode(channel.offer(tap.number)), now)

    def _take_want(self, site: str, want: Want, now: int) -> None:
        tap = self._taps_by_number.get(want.channel)
        if tap is None:
            return
        if not want.wanted:
            self.counters["false contacts"] += site not in tap.wanted
            self._unwant(tap, site, now)
            return
        is_new = site not in tap.wanted
        tap.wanted[site] = None
        conditions = self._remote_conditions.setdefault(tap.channel[:2], TopicConditions(tap.channel.type_name))
        self.counters["conditions not understood"] += bool(conditions.state(site, want))
        if tap.reader is None:
            channel = tap.channel
            tap.reader = self.participant.create_reader(
                channel.topic, channel.type_name, channel.quality(depth=None), keyed=channel.keyed, now=now
            )
            self._own[tap.reader] = None
            self._taps_by_reader[tap.reader] = tap
        elif is_new:
            for sample in tap.history:
                self.backbone.send([site], sample, now, is_sample=True)
        tap.unready[site] = (want.turn, now + PATIENCE)
        self._new_taps[tap.number] = tap
        self._tell_ready(tap, now)

    def _tell_ready(self, tap: Tap, now: int) -> None:
        """Tell those who wait for it that the writers know the tap, if they do."""
        known = tap.reader is not None and self.participant.is_known(tap.reader)
        for site, (turn, latest) in list(tap.unready.items()):
            if known or now >= latest:
                del tap.unready[site]
                self.backbone.send([site], encode(Ready(tap.number, turn)), now)
        if tap.unready:
            self._look_at = now + LOOK
        else:
            self._new_taps.pop(tap.number, None)

    def _unwant(self, tap: Tap, site: str, now: int) -> None:
        tap.wanted.pop(site, None)
        tap.unready.pop(site, None)
        conditions = self._remote_conditions.get(tap.channel[:2])
        if conditions is not None:
            conditions.withdraw(site, tap.number)
            if not conditions:
                del self._remote_conditions[tap.channel[:2]]
        if not tap.wanted and tap.reader is not None:
            self._taps_by_reader.pop(tap.reader)
            self._own.pop(tap.reader, None)
            self.participant.delete_endpoint(tap.reader, now)
            tap.reader = None
            tap.history.clear()

    def _forward(self, tap: Tap, event: SampleReceived, now: int) -> None:
        if event.writer in self._own or event.writer.prefix in self._gateways:
            self.counters["echoes"] += 1
            return
        key_hash = event.key_hash or b""
        sample = Forwarded(tap.number, event.writer.octets(), event.sequence, int(event.kind), key_hash, event.payload)
        body = encode(sample)
        if tap.channel.kept:
            tap.history.append(body)
            if len(tap.history) > tap.channel.kept:
                tap.history.popleft()
        conditions = self._remote_conditions.get(tap.channel[:2])
        wanting = conditions.wanting(tap.wanted, sample) if conditions is not None else list(tap.wanted)
        self.counters["samples out"] += len(wanting)
        self.counters["samples spared"] += len(tap.wanted) - len(wanting)
        self.backbone.send(wanting, body, now, is_sample=True)

    # ---- the others' writers, for this site ----------------------------------------------------------------------

    def _answer(self, origin: str, proxy: Proxy, readers: set[tuple[str, str]], now: int) -> None:
        """Say whether a channel is wanted, if that is not what was said last."""
        channel = proxy.channel
        kind = (channel.topic, channel.type_name)
        conditions = self._conditions.get(kind, {})
        is_wanted = (kind in readers or bool(conditions)) and origin not in self.other_gateways
        if not is_wanted:
            self._proxies.unmake(proxy, now)
        clauses = sorted({where for where, _ in conditions.values()}) if is_wanted and kind not in readers else []
        schema = next(iter(conditions.values()))[1].to_dict() if clauses else {}
        said = (is_wanted, tuple(clauses))
        if proxy.told != said and not proxy.stale:
            proxy.told = said
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
        present = {channel_of(one) for one in endpoints if is_writer(one.guid.entity)}
        for channel in [channel for channel in self._taps if channel not in present]:
            self._close_tap(self._taps.pop(channel), now)
        for channel in sorted(present - set(self._taps), key=repr):
            self._numbers += 1
            self._taps[channel] = self._taps_by_number[self._numbers] = Tap(channel, self._numbers)
        for site in self.backbone.sites.states:
            self._offer(site, self._taps.values(), now)
        readers = self._readers()
        for origin, proxy in self._proxies:
            self._answer(origin, proxy, readers, now)

    def _close_tap(self, tap: Tap, now: int) -> None:
        del self._taps_by_number[tap.number]
        self._new_taps.pop(tap.number, None)
        for site in list(tap.wanted):
            self._unwant(tap, site, now)
        self.backbone.send(tap.offered, encode(Withdraw(tap.number)), now)
