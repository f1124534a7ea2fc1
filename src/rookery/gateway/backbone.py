"""The backbone between sites, as one gateway sees it: links to neighbors, ways to sites, streams to and from sites.

It is a part of the gateway and has the verbs of a machine: frames of links go in, and sends and closes of links come
out. A link is whatever its driver names it by. Above it are bodies: `send` gives one to some sites, the owner's `take`
gets those of others, each once and in order. Nothing here knows what a body means. A neighbor's mistake closes its link
and is counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from typing import Protocol

import msgspec

from rookery.gateway.events import SiteTakenOver
from rookery.gateway.messages import (
    BEGIN_ANEW,
    MOST_HOPS,
    Acknowledgment,
    Body,
    Envelope,
    Greeting,
    Recipient,
    SiteState,
    decode_body,
    decode_message,
    encode,
)
from rookery.gateway.sites import MOST_SITES, Sites
from rookery.gateway.streams import Inbound, Outbound
from rookery.machine import Close, Effect, Emit, Send

__all__ = ["FORGET_AFTER", "Backbone", "Owner"]

#: Microseconds after which a site that cannot be reached is forgotten, with what waits for it.
FORGET_AFTER = 60_000_000
_LOOK_AGAIN = 1_000_000
#: One acknowledgment speaks for all bodies of so many microseconds.
_ACKNOWLEDGE_AFTER = 100_000


class Owner(Protocol):
    """Who uses the backbone."""

    def take(self, origin: str, body: Body, now: int) -> bool:
        """Take a body of another site; False to get it again later."""

    def site_changed(self, site: str, now: int) -> None:
        """A site says something new of itself."""

    def session_began(self, origin: str, now: int) -> None:
        """A site begins anew what it has to say."""

    def site_renewed(self, site: str, now: int) -> None:
        """A site knows nothing any more of what it was told."""

    def site_gone(self, site: str, now: int) -> None:
        """A site has been out of reach for too long."""


class Backbone:
    """Links, ways and streams of one gateway."""

    def __init__(self, site: str, *, incarnation: int, owner: Owner) -> None:
        self.sites = Sites(site, incarnation=incarnation)
        self.counters: Counter[str] = Counter()
        #: Set when another gateway with this site's name is newer than this one.
        self.taken_over = False
        self._owner = owner
        #: Whose end each link leads to; empty until that is said.
        self._links: dict[Hashable, str] = {}
        self._outbound: dict[str, Outbound] = {}
        self._inbound: defaultdict[str, Inbound] = defaultdict(Inbound)
        #: The session of each site that was forgotten: it has to begin anew, and is told so if it goes on.
        self._forgotten: dict[str, int] = {}
        #: Whose bodies have come, and when the acknowledgment is due.
        self._heard: dict[str, int] = {}
        self._effects: list[Effect] = []
        self._sessions = 0
        self._look_at: int | None = None

    # ---- for the owner -------------------------------------------------------------------------------------------

    def send(self, sites: Iterable[str], body: bytes, now: int, *, is_sample: bool = False) -> None:
        """Give a body to sites that are known; it goes once over each link that leads to some of them.

        A sample is dropped where too much waits for a site; what the sites agree upon is little, and never is.
        """
        by_hop: defaultdict[str, list[Recipient]] = defaultdict(list)
        for site in sites:
            stream = self._stream(site)
            if stream is None or (is_sample and not stream.has_room(len(body))):
                self.counters["overflow" if stream else "unknown site"] += 1
                continue
            recipient = Recipient(site, stream.session, stream.append(body, now), stream.incarnation)
            hop = self.sites.next_hops.get(site)
            if hop is not None:
                by_hop[hop].append(recipient)
        for hop, recipients in by_hop.items():
            self._to_neighbor(hop, encode(Envelope(self.sites.own, 0, recipients, body)))

    def describe(self, wanted: Iterable[str], now: int) -> None:
        """Say anew what this site's readers want; everyone hears of it if it has changed."""
        if self.sites.describe(wanted=wanted):
            self._flood(self.sites.mine, but=None)

    @property
    def waiting(self) -> int:
        """Bodies that have no acknowledgment yet."""
        return sum(len(stream.waiting) for stream in self._outbound.values())

    # ---- for the driver ------------------------------------------------------------------------------------------

    def open(self, link: Hashable) -> None:
        """Learn that a link is there; both ends say who they are."""
        self._links[link] = ""
        self._send(link, encode(Greeting(self.sites.own, self.sites.mine.incarnation)))

    def lose(self, link: Hashable, now: int) -> None:
        """Learn that a link is gone."""
        if self._links.pop(link, ""):
            self._neighbors_changed(now)

    def receive_many(self, frames: Iterable[bytes], link: Hashable, now: int) -> None:
        """Take in what a link brought."""
        for frame in frames:
            greeted = self._links.get(link)
            if greeted is None:
                return
            message = decode_message(frame)
            if message is None or bool(greeted) == isinstance(message, Greeting):
                self._close(link, "malformed", now)
                return
            self.counters["bytes in"] += len(frame)
            match message:
                case Greeting():
                    self._greet(link, message, now)
                case SiteState():
                    self._merge(link, message, now)
                case Envelope():
                    self._take_envelope(message, now)
                case Acknowledgment():
                    self._take_acknowledgment(message, now)

    def effects(self) -> list[Effect]:
        """Return the frames for links and the links to close, and forget them."""
        effects, self._effects = self._effects, []
        return effects

    def timer(self) -> int | None:
        """Return when `wake` is wanted next."""
        ways = self.sites.next_hops
        due = [stream.due for site, stream in self._outbound.items() if stream.due is not None and site in ways]
        due += self._heard.values()
        if self._look_at is not None:
            due.append(self._look_at)
        return min(due, default=None)

    def wake(self, now: int) -> None:
        """Send acknowledgments and what must be sent again, forget who is gone."""
        for origin in [origin for origin, due in self._heard.items() if now >= due]:
            self._acknowledge(origin, now)
        for site, stream in self._outbound.items():
            if stream.due is not None and now >= stream.due and site in self.sites.next_hops:
                self.counters["resends"] += 1
                self._send_again(site, stream, now)
        if self._look_at is not None and now >= self._look_at:
            for site in self.sites.forget_unreachable(now, after=FORGET_AFTER):
                self._forget(site)
                self._owner.site_gone(site, now)
            self._watch(now)

    # ---- inside --------------------------------------------------------------------------------------------------

    def _stream(self, site: str) -> Outbound | None:
        state = self.sites.states.get(site)
        if state is None or site == self.sites.own:
            return None
        stream = self._outbound.get(site)
        if stream is None or stream.incarnation != state.incarnation:
            self._sessions += 1
            session = self.sites.mine.incarnation + self._sessions
            stream = self._outbound[site] = Outbound(session, state.incarnation)
        return stream

    def _acknowledge(self, origin: str, now: int) -> None:
        """Say how far the stream of a site has come, or that it has to begin anew."""
        hop = self.sites.next_hops.get(origin)
        forgotten, heard = self._forgotten.get(origin), self._inbound[origin]
        session, number = (heard.session, heard.expected) if forgotten is None else (forgotten, BEGIN_ANEW)
        if hop is None and forgotten is not None:
            self._heard[origin] = now + _LOOK_AGAIN
            return
        del self._heard[origin]
        self._to_neighbor(hop, encode(Acknowledgment(self.sites.own, origin, session, number, 0)))

    def _forget(self, site: str) -> None:
        """Forget the streams to and from a site, but for the session that it must not go on with."""
        self._outbound.pop(site, None)
        self._heard.pop(site, None)
        heard = self._inbound.pop(site, None)
        if heard is not None and heard.session:
            self._forgotten[site] = heard.session
            if len(self._forgotten) > MOST_SITES:
                del self._forgotten[next(iter(self._forgotten))]

    def _renew(self, site: str, now: int) -> None:
        """Begin anew what there is to say to a site, which knows nothing of it any more."""
        self._outbound.pop(site, None)
        self._owner.site_renewed(site, now)

    def _greet(self, link: Hashable, greeting: Greeting, now: int) -> None:
        if greeting.site == self.sites.own:
            self._same_site(greeting.incarnation)
            self._close(link, "the same site", now)
            return
        self._links[link] = greeting.site
        for state in self.sites.states.values():
            if state.site != self.sites.own:
                self._send(link, encode(state))
        self._neighbors_changed(now, news_for=link)

    def _same_site(self, incarnation: int) -> None:
        """Learn of another gateway of this site."""
        if incarnation > self.sites.mine.incarnation and not self.taken_over:
            self.taken_over = True
            self._effects.append(Emit(SiteTakenOver(self.sites.own)))

    def _merge(self, link: Hashable, state: SiteState, now: int) -> None:
        if state.site == self.sites.own:
            self._same_site(state.incarnation)
            return
        known = self.sites.states.get(state.site)
        ways = self.sites.next_hops
        if not self.sites.merge(state):
            return
        self._flood(state, but=link)
        if known is not None and known.incarnation != state.incarnation:
            self._renew(state.site, now)
            if self._inbound[state.site].session < state.incarnation:  # no session of this one has begun yet
                self._owner.session_began(state.site, now)
        if known is None and state.site in self._forgotten:
            self._heard.setdefault(state.site, now)
        self._ways_changed(ways, now)
        self._owner.site_changed(state.site, now)

    def _neighbors_changed(self, now: int, *, news_for: Hashable | None = None) -> None:
        ways = self.sites.next_hops
        if self.sites.describe(neighbors=[site for site in self._links.values() if site]):
            self._flood(self.sites.mine, but=None)
        elif news_for is not None:
            self._send(news_for, encode(self.sites.mine))
        self._ways_changed(ways, now)

    def _ways_changed(self, before: dict[str, str], now: int) -> None:
        for site, hop in self.sites.next_hops.items():
            stream = self._outbound.get(site)
            if before.get(site) != hop and stream is not None and stream.waiting:
                self._send_again(site, stream, now)
        self._watch(now)

    def _watch(self, now: int) -> None:
        """Look again in a while if some site cannot be reached."""
        if not self.sites.note_unreachable(now):
            self._look_at = None
        elif self._look_at is None or self._look_at <= now:
            self._look_at = now + _LOOK_AGAIN

    def _send_again(self, site: str, stream: Outbound, now: int) -> None:
        hop = self.sites.next_hops.get(site)
        for number, body in stream.again(now):
            envelope = Envelope(self.sites.own, 0, [Recipient(site, stream.session, number, stream.incarnation)], body)
            self._to_neighbor(hop, encode(envelope))

    def _take_envelope(self, envelope: Envelope, now: int) -> None:
        by_hop: defaultdict[str, list[Recipient]] = defaultdict(list)
        for recipient in envelope.to:
            if recipient.site == self.sites.own:
                self._take_body(envelope, recipient, now)
            else:
                hop = self.sites.next_hops.get(recipient.site)
                if hop is not None:
                    by_hop[hop].append(recipient)
        if not by_hop:
            return
        if envelope.hops + 1 >= MOST_HOPS:
            self.counters["too many hops"] += 1
            return
        for hop, recipients in by_hop.items():
            self.counters["relayed"] += 1
            self._to_neighbor(hop, encode(Envelope(envelope.origin, envelope.hops + 1, recipients, envelope.body)))

    def _take_body(self, envelope: Envelope, recipient: Recipient, now: int) -> None:
        origin = envelope.origin
        if recipient.incarnation != self.sites.mine.incarnation:
            self.counters["for another incarnation"] += 1
            return
        if origin not in self.sites.states:
            return
        self._heard.setdefault(origin, now + _ACKNOWLEDGE_AFTER)
        if recipient.session <= self._forgotten.get(origin, -1):
            return
        self._forgotten.pop(origin, None)
        stream = self._inbound[origin]
        if stream.begins(recipient.session):
            self._owner.session_began(origin, now)
        if not stream.is_next(recipient.session, recipient.number):
            self.counters["out of turn"] += 1
            return
        body = decode_body(envelope.body)
        if body is None:
            self.counters["malformed body"] += 1
        elif not self._owner.take(origin, body, now):
            self.counters["held back"] += 1
            return
        stream.taken()

    def _take_acknowledgment(self, acknowledgment: Acknowledgment, now: int) -> None:
        if acknowledgment.to == self.sites.own:
            stream = self._outbound.get(acknowledgment.origin)
            if stream is not None and (acknowledgment.session, acknowledgment.number) == (stream.session, BEGIN_ANEW):
                self._renew(acknowledgment.origin, now)
                self._owner.site_changed(acknowledgment.origin, now)
            elif stream is not None:
                stream.acknowledge(acknowledgment.session, acknowledgment.number, now)
        elif acknowledgment.hops + 1 < MOST_HOPS:
            passed = msgspec.structs.replace(acknowledgment, hops=acknowledgment.hops + 1)
            self._to_neighbor(self.sites.next_hops.get(acknowledgment.to), encode(passed))

    def _flood(self, state: SiteState, *, but: Hashable | None) -> None:
        # Who is a neighbor of the site itself hears it from there; if that link falls, the site says something new.
        directly = () if state.site == self.sites.own else state.neighbors
        frame = encode(state)
        for link, site in self._links.items():
            if site and link != but and site not in directly:
                self._send(link, frame)

    def _to_neighbor(self, site: str | None, frame: bytes) -> None:
        if site is not None:
            link = next((link for link, name in self._links.items() if name == site), None)
            if link is not None:
                self._send(link, frame)

    def _send(self, link: Hashable, frame: bytes) -> None:
        self.counters["bytes out"] += len(frame)
        self._effects.append(Send(link, frame))

    def _close(self, link: Hashable, reason: str, now: int) -> None:
        """Close a link whose other end is at fault."""
        self.counters[reason] += 1
        self._effects.append(Close(link, reason))
        self.lose(link, now)
