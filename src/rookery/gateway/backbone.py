"""The backbone between sites, as one gateway sees it: links to neighbors, ways to sites, streams to and from sites.

Frames of links go in (`link_opened`, `receive_frames`, `link_closed`), frames come out (`frames_to_send`). Above it are
bodies: `send` gives one to some sites, the owner's `take` gets those of others, each once and in order. Nothing here
knows what a body means. A neighbor's mistake closes its link and is counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Protocol

from rookery.gateway.messages import (
    MOST_HOPS,
    Body,
    Greeting,
    Parcel,
    Receipt,
    SiteState,
    Stage,
    decode_body,
    decode_message,
    encode,
)
from rookery.gateway.sites import Sites
from rookery.gateway.streams import Inbound, Outbound

__all__ = ["REMEMBERED", "Backbone", "Owner"]

#: Microseconds for which a site that cannot be reached is remembered, with what waits for it.
REMEMBERED = 60_000_000
_LOOK_AGAIN = 1_000_000
#: One receipt speaks for all bodies of so many microseconds.
_RECEIPT = 100_000


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
        self._links: dict[int, str] = {}
        self._outbound: dict[str, Outbound] = {}
        self._inbound: defaultdict[str, Inbound] = defaultdict(Inbound)
        #: Whose bodies have come, and when the receipt is due.
        self._heard: dict[str, int] = {}
        self._frames: list[tuple[int, bytes]] = []
        self._bad_links: list[tuple[int, str]] = []
        self._sessions = 0
        self._look_at: int | None = None

    # ---- for the owner -------------------------------------------------------------------------------------------

    def send(self, sites: Iterable[str], body: bytes, now: int, *, is_sample: bool = False) -> None:
        """Give a body to sites that are known; it goes once over each link that leads to some of them.

        A sample is dropped where too much waits for a site; what the sites agree upon is little, and never is.
        """
        by_hop: defaultdict[str, list[Stage]] = defaultdict(list)
        for site in sites:
            stream = self._stream(site)
            if stream is None or (is_sample and not stream.has_room(len(body))):
                self.counters["overflow" if stream else "unknown site"] += 1
                continue
            stage = Stage(site, stream.session, stream.append(body, now))
            hop = self.sites.next_hops.get(site)
            if hop is not None:
                by_hop[hop].append(stage)
        for hop, stages in by_hop.items():
            self._to_neighbor(hop, encode(Parcel(self.sites.own, 0, stages, body)))

    def describe(self, wanted: Iterable[str], now: int) -> None:
        """Say anew what this site's readers want; everyone hears of it if it has changed."""
        if self.sites.describe(wanted=wanted):
            self._flood(self.sites.mine, but=None)

    @property
    def waiting(self) -> int:
        """Bodies that have no receipt yet."""
        return sum(len(stream.waiting) for stream in self._outbound.values())

    # ---- for who moves the bytes ---------------------------------------------------------------------------------

    def link_opened(self, link: int) -> None:
        """A link is there; both ends say who they are."""
        self._links[link] = ""
        self._frames.append((link, encode(Greeting(self.sites.own, self.sites.mine.incarnation))))

    def link_closed(self, link: int, now: int) -> None:
        """A link is gone."""
        if self._links.pop(link, ""):
            self._neighbors_changed(now)

    def receive_frames(self, link: int, frames: Iterable[bytes], now: int) -> None:
        """Take in what a link brought."""
        for frame in frames:
            message = decode_message(frame)
            greeted = self._links.get(link)
            if greeted is None:
                return
            if message is None or bool(greeted) == isinstance(message, Greeting):
                self._fault(link, "malformed")
                return
            self.counters["octets in"] += len(frame)
            match message:
                case Greeting():
                    self._greet(link, message, now)
                case SiteState():
                    self._merge(link, message, now)
                case Parcel():
                    self._take_parcel(message, now)
                case Receipt():
                    self._take_receipt(message, now)

    def frames_to_send(self) -> list[tuple[int, bytes]]:
        """Return the frames for links, and forget them."""
        frames, self._frames = self._frames, []
        self.counters["octets out"] += sum(len(frame) for _, frame in frames)
        return frames

    def links_to_close(self) -> list[tuple[int, str]]:
        """Return the links whose other end is at fault, and why."""
        bad, self._bad_links = self._bad_links, []
        return bad

    def timer(self) -> int | None:
        """Return when `handle_timer` is wanted next."""
        ways = self.sites.next_hops
        due = [stream.due for site, stream in self._outbound.items() if stream.due is not None and site in ways]
        due += self._heard.values()
        if self._look_at is not None:
            due.append(self._look_at)
        return min(due, default=None)

    def handle_timer(self, now: int) -> None:
        """Send receipts and what must be sent again, forget who is gone."""
        for origin in [origin for origin, due in self._heard.items() if now >= due]:
            del self._heard[origin]
            heard = self._inbound[origin]
            receipt = Receipt(self.sites.own, origin, heard.session, heard.expected, 0)
            self._to_neighbor(self.sites.next_hops.get(origin), encode(receipt))
        for site, stream in self._outbound.items():
            if stream.due is not None and now >= stream.due and site in self.sites.next_hops:
                self.counters["resends"] += 1
                self._send_again(site, stream, now)
        if self._look_at is not None and now >= self._look_at:
            for site in self.sites.forget_unreachable(now, after=REMEMBERED):
                self._outbound.pop(site, None)
                self._inbound.pop(site, None)
                self._heard.pop(site, None)
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

    def _greet(self, link: int, greeting: Greeting, now: int) -> None:
        if greeting.site == self.sites.own:
            self.taken_over = self.taken_over or greeting.incarnation > self.sites.mine.incarnation
            self._fault(link, "the same site")
            return
        self._links[link] = greeting.site
        for state in self.sites.states.values():
            if state.site != self.sites.own:
                self._frames.append((link, encode(state)))
        self._neighbors_changed(now, news_for=link)

    def _merge(self, link: int, state: SiteState, now: int) -> None:
        if state.site == self.sites.own:
            self.taken_over = self.taken_over or state.incarnation > self.sites.mine.incarnation
            return
        known = self.sites.states.get(state.site)
        ways = self.sites.next_hops
        if not self.sites.merge(state):
            return
        self._flood(state, but=link)
        if known is not None and known.incarnation != state.incarnation:
            self._outbound.pop(state.site, None)
            self._owner.site_renewed(state.site, now)
        self._ways_changed(ways, now)
        self._owner.site_changed(state.site, now)

    def _neighbors_changed(self, now: int, *, news_for: int | None = None) -> None:
        ways = self.sites.next_hops
        if self.sites.describe(neighbors=[site for site in self._links.values() if site]):
            self._flood(self.sites.mine, but=None)
        elif news_for is not None:
            self._frames.append((news_for, encode(self.sites.mine)))
        self._ways_changed(ways, now)

    def _ways_changed(self, before: dict[str, str], now: int) -> None:
        for site, hop in self.sites.next_hops.items():
            stream = self._outbound.get(site)
            if before.get(site) != hop and stream is not None and stream.waiting:
                self._send_again(site, stream, now)
        self._watch(now)

    def _watch(self, now: int) -> None:
        """Look again in a while if some site cannot be reached."""
        lost = len(self.sites.next_hops) + 1 < len(self.sites.states)
        if lost and (self._look_at is None or self._look_at <= now):
            self._look_at = now + _LOOK_AGAIN
        elif not lost:
            self._look_at = None
        self.sites.forget_unreachable(now, after=REMEMBERED + _LOOK_AGAIN)

    def _send_again(self, site: str, stream: Outbound, now: int) -> None:
        hop = self.sites.next_hops.get(site)
        for number, body in stream.again(now):
            parcel = Parcel(self.sites.own, 0, [Stage(site, stream.session, number)], body)
            self._to_neighbor(hop, encode(parcel))

    def _take_parcel(self, parcel: Parcel, now: int) -> None:
        by_hop: defaultdict[str, list[Stage]] = defaultdict(list)
        for stage in parcel.to:
            if stage.site == self.sites.own:
                self._take_body(parcel, stage, now)
            else:
                hop = self.sites.next_hops.get(stage.site)
                if hop is not None:
                    by_hop[hop].append(stage)
        if not by_hop:
            return
        if parcel.hops + 1 >= MOST_HOPS:
            self.counters["too many hops"] += 1
            return
        for hop, stages in by_hop.items():
            self.counters["relayed"] += 1
            self._to_neighbor(hop, encode(Parcel(parcel.origin, parcel.hops + 1, stages, parcel.body)))

    def _take_body(self, parcel: Parcel, stage: Stage, now: int) -> None:
        origin = parcel.origin
        if origin not in self.sites.states:
            return
        stream = self._inbound[origin]
        if stream.begins(stage.session):
            self._owner.session_began(origin, now)
        self._heard.setdefault(origin, now + _RECEIPT)
        if not stream.is_next(stage.session, stage.number):
            self.counters["out of turn"] += 1
            return
        body = decode_body(parcel.body)
        if body is None:
            self.counters["malformed body"] += 1
        elif not self._owner.take(origin, body, now):
            self.counters["held back"] += 1
            return
        stream.taken()

    def _take_receipt(self, receipt: Receipt, now: int) -> None:
        if receipt.to == self.sites.own:
            stream = self._outbound.get(receipt.origin)
            if stream is not None:
                stream.acknowledge(receipt.session, receipt.number, now)
        elif receipt.hops + 1 < MOST_HOPS:
            passed = Receipt(receipt.origin, receipt.to, receipt.session, receipt.number, receipt.hops + 1)
            self._to_neighbor(self.sites.next_hops.get(receipt.to), encode(passed))

    def _flood(self, state: SiteState, *, but: int | None) -> None:
        # Who is a neighbor of the site itself hears it from there; if that link falls, the site says something new.
        directly = () if state.site == self.sites.own else state.neighbors
        frame = encode(state)
        for link, site in self._links.items():
            if site and link != but and site not in directly:
                self._frames.append((link, frame))

    def _to_neighbor(self, site: str | None, frame: bytes) -> None:
        if site is not None:
            link = next((link for link, name in self._links.items() if name == site), None)
            if link is not None:
                self._frames.append((link, frame))

    def _fault(self, link: int, reason: str) -> None:
        self.counters[reason] += 1
        self._bad_links.append((link, reason))
