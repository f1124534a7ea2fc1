"""The taps of one site: readers that hear, for other sites, the channels of the writers here.

A channel is *offered* to the sites whose summary holds it. When the first of them *wants* it, the tap is made; when the
writers know the tap, the site is told that the channel is *ready*, and misses nothing from then on.

Each sample crosses on the channel of its own writer. Writers of one topic whose policies differ are channels of their
own, and a tap may hear writers of other channels too: policies that do not decide a match, as the depth of a history,
or a reader that asks for less than a writer offers. What a tap hears of those is left to their own tap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable

from rookery.discovery.interests import interest_of
from rookery.gateway.backbone import Backbone
from rookery.gateway.channels import TYPE_BYTES, Channel, Tap, channel_of
from rookery.gateway.conditions import TopicConditions
from rookery.gateway.messages import Forwarded, Ready, Want, Withdraw, encode
from rookery.gateway.proxies import LOOK, PATIENCE
from rookery.participant.participant import Participant
from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.events import EndpointDiscovered, EndpointLost, Event, SampleReceived
from rookery.rtps.identity import Guid, is_writer

__all__ = ["Taps"]


class Taps:
    """All taps of one gateway; `own` are the endpoints that it makes for other sites."""

    def __init__(
        self, participant: Participant, *, backbone: Backbone, own: dict[Guid, None], counters: Counter[str]
    ) -> None:
        self._participant = participant
        self._backbone = backbone
        self._own = own
        self._counters = counters
        self._taps: dict[Channel, Tap] = {}
        self._by_number: dict[int, Tap] = {}
        self._by_reader: dict[Guid, Tap] = {}
        #: The channels of the writers of this site.
        self._channels: dict[Guid, Channel] = {}
        #: What other sites want, by topic and type.
        self._conditions: dict[tuple[str, str], TopicConditions] = {}
        #: Taps that their writers do not know yet.
        self._new: dict[int, Tap] = {}
        self._look_at: int | None = None
        self._count = 0

    def timer(self) -> int | None:
        """Return when `wake` is wanted next."""
        return self._look_at

    def wake(self, now: int) -> None:
        """Tell those who wait for it that the writers know the taps, where they do."""
        if self._look_at is not None and now >= self._look_at:
            self._look_at = None
            for tap in list(self._new.values()):
                self._say_ready(tap, now)

    # ---- this site's writers -------------------------------------------------------------------------------------

    def settle(self, endpoints: Iterable[EndpointAnnouncement], now: int) -> None:
        """Have a tap for each channel of the writers that there are, and no other."""
        self._channels = {one.guid: channel_of(one) for one in endpoints if is_writer(one.guid.entity)}
        present = set(self._channels.values())
        for channel in [channel for channel in self._taps if channel not in present]:
            self._close(self._taps.pop(channel), now)
        for channel in sorted(present - set(self._taps), key=repr):
            self._count += 1
            self._taps[channel] = self._by_number[self._count] = Tap(channel, self._count)

    def take_event(self, event: Event, now: int, *, gateways: Container[bytes]) -> bool:
        """Take in what happened to the participant; True for a sample of a tap, which is nobody else's concern.

        `gateways` are the other gateways of the domain.
        """
        match event:
            case SampleReceived(reader=reader) if reader in self._by_reader:
                if event.writer in self._own or event.writer.prefix in gateways:
                    self._counters["echoes"] += 1
                else:
                    self._forward(self._by_reader[reader], event, now)
                return True
            case EndpointDiscovered(announcement) if is_writer(announcement.guid.entity):
                self._channels[announcement.guid] = channel_of(announcement)
            case EndpointLost(guid):
                self._channels.pop(guid, None)
        return False

    def _forward(self, tap: Tap, event: SampleReceived, now: int) -> None:
        if self._channel_of(event.writer) != tap.channel:
            self._counters["left to their own tap"] += 1
            return
        key_hash = event.key_hash or b""
        sample = Forwarded(tap.number, event.writer.octets(), event.sequence, int(event.kind), key_hash, event.payload)
        body = encode(sample)
        if tap.channel.kept:
            tap.history.append(body)
            if len(tap.history) > tap.channel.kept:
                tap.history.popleft()
        conditions = self._conditions.get(tap.channel.kind)
        wanting = conditions.wanting(tap.wanted, sample) if conditions is not None else list(tap.wanted)
        self._counters["samples out"] += len(wanting)
        self._counters["samples spared"] += len(tap.wanted) - len(wanting)
        self._backbone.send(wanting, body, now, is_sample=True)

    def _channel_of(self, writer: Guid) -> Channel | None:
        """Return the channel of a writer; one of the gateway's own participant may be newer than the last look."""
        if writer not in self._channels and writer.prefix == self._participant.prefix:
            self._channels |= {one.guid: channel_of(one) for one in self._participant.local_endpoints}
        return self._channels.get(writer)

    def _close(self, tap: Tap, now: int) -> None:
        del self._by_number[tap.number]
        self._new.pop(tap.number, None)
        for site in list(tap.wanted):
            self._unwant(tap, site, now)
        self._backbone.send(tap.offered, encode(Withdraw(tap.number)), now)

    # ---- what the other sites say --------------------------------------------------------------------------------

    def offer(self, site: str, now: int) -> None:
        """Offer a site what its summary holds, unless it knows of it."""
        for channel, tap in self._taps.items():
            sought = interest_of(kind="W", topic=channel.topic, type_name=channel.type_name).sought
            if site not in tap.offered and self._backbone.sites.wants(site, sought):
                tap.offered.add(site)
                self._counters["offers"] += 1
                self._backbone.send([site], encode(channel.offer(tap.number)), now)

    def want(self, site: str, want: Want, now: int) -> None:
        """Learn whether a site wants a channel, and which samples of it."""
        tap = self._by_number.get(want.channel)
        if tap is None:
            if want.wanted:  # its withdrawal has not arrived there, and never will if this site was forgotten since
                self._backbone.send([site], encode(Withdraw(want.channel)), now)
            return
        if not want.wanted:
            self._counters["false contacts"] += site not in tap.wanted
            self._unwant(tap, site, now)
            return
        channel, is_new = tap.channel, site not in tap.wanted
        tap.wanted[site] = None
        conditions = self._conditions.setdefault(channel.kind, TopicConditions(channel.type_name))
        self._counters["conditions not understood"] += bool(conditions.state(site, want))
        if tap.reader is None:
            tap.reader = self._participant.create_reader(
                channel.topic, channel.type_name, channel.quality(depth=None), keyed=channel.keyed, now=now
            )
            self._own[tap.reader] = None
            self._by_reader[tap.reader] = tap
        elif is_new:
            for sample in tap.history:
                self._backbone.send([site], sample, now, is_sample=True)
        tap.unready[site] = (want.turn, now + PATIENCE)
        self._new[tap.number] = tap
        self._say_ready(tap, now)

    def renew(self, site: str, now: int) -> None:
        """Learn that a site knows nothing any more of what it was offered."""
        for tap in self._taps.values():
            tap.offered.discard(site)
            self._unwant(tap, site, now)

    def _say_ready(self, tap: Tap, now: int) -> None:
        """Tell those who wait for it that the writers know the tap, if they do or it has taken too long."""
        described = self._objects_of(tap, now)
        known = tap.reader is not None and self._participant.is_known(tap.reader) and described is not None
        for site, (turn, latest) in list(tap.unready.items()):
            if known or now >= latest:
                del tap.unready[site]
                self._backbone.send([site], encode(Ready(tap.number, turn, list(described or ()))), now)
        if tap.unready:
            self._look_at = now + LOOK
        else:
            self._new.pop(tap.number, None)

    def _objects_of(self, tap: Tap, now: int) -> tuple[bytes, ...] | None:
        """Return what explains the type of a channel; None while its writers are asked for it."""
        writer = next((guid for guid, channel in self._channels.items() if channel == tap.channel), None)
        if not tap.channel.type_information or writer is None:
            return ()
        endpoint = self._participant.endpoint(writer)
        found = () if endpoint is None else self._participant.announced_objects(endpoint, now)
        return () if found and sum(map(len, found)) > TYPE_BYTES else found

    def _unwant(self, tap: Tap, site: str, now: int) -> None:
        tap.wanted.pop(site, None)
        tap.unready.pop(site, None)
        conditions = self._conditions.get(tap.channel.kind)
        if conditions is not None:
            conditions.withdraw(site, tap.number)
            if not conditions:
                del self._conditions[tap.channel.kind]
        if not tap.wanted and tap.reader is not None:
            self._by_reader.pop(tap.reader)
            self._own.pop(tap.reader, None)
            self._participant.delete_endpoint(tap.reader, now)
            tap.reader = None
            tap.history.clear()
