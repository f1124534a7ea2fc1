"""The proxies of one site: writers that stand for the channels of other sites which somebody here wants.

A proxy goes through four states. *Offered*: its site has offered the channel. *Wanted*: the answer was that readers
here want it. *Made*: the site has said that the writers there know the tap, so the readers here may find a writer.
*Known*: they have found it. Until then samples wait in its backlog, within bounds, and then are written in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rookery.errors import HistoryFullError
from rookery.gateway.channels import TYPE_BYTES, Channel, Proxy, channel_of_offer
from rookery.gateway.messages import Forwarded, Offer, Ready
from rookery.participant.participant import Participant
from rookery.rtps.events import SampleKind
from rookery.rtps.identity import Guid

__all__ = ["LOOK", "PATIENCE", "Proxies"]

#: How long a proxy waits for its readers to know it, and a tap for its writers, and how often that is looked at.
PATIENCE = 2_000_000
LOOK = 10_000
#: Channels of other sites that are remembered.
MOST_CHANNELS = 1 << 16
#: How long the proxies of a site that began anew wait to be offered again: a gateway that was started again has to find
#: the writers of its site first, on a bad network too.
_STALE = 30_000_000


class Proxies:
    """All proxies of one gateway; `own` are the endpoints that it makes for other sites."""

    def __init__(self, participant: Participant, *, own: dict[Guid, None], counters: Counter[str]) -> None:
        self._participant = participant
        self._own = own
        self._counters = counters
        self._proxies: dict[tuple[str, Channel], Proxy] = {}
        self._by_number: dict[tuple[str, int], Proxy] = {}
        #: Those that are made and not known.
        self._new: dict[Guid, Proxy] = {}
        self._look_at: int | None = None
        self._stale_at: int | None = None

    def __iter__(self) -> Iterator[tuple[str, Proxy]]:
        return iter([(origin, proxy) for (origin, _), proxy in self._proxies.items()])

    def timer(self) -> int | None:
        """Return when `wake` is wanted next."""
        return min((at for at in (self._look_at, self._stale_at) if at is not None), default=None)

    def wake(self, now: int) -> None:
        """Write the backlog where the readers know the proxy now; drop what was not offered again."""
        if self._look_at is not None and now >= self._look_at:
            self._look_at = None
            for writer, proxy in list(self._new.items()):
                self._write_backlog(writer, proxy, now)
        if self._stale_at is not None and now >= self._stale_at:
            self._stale_at = None
            for place in [place for place, proxy in self._proxies.items() if proxy.stale]:
                self._drop(place, now)

    # ---- what the other sites say --------------------------------------------------------------------------------

    def offered(self, origin: str, offer: Offer) -> Proxy | None:
        """Note a channel of another site; None for one that cannot be, or is one too many."""
        channel = channel_of_offer(offer)
        proxy = None if channel is None else self._proxies.get((origin, channel))
        if channel is None or (proxy is None and len(self._proxies) >= MOST_CHANNELS):
            self._counters["offers refused"] += 1
            return None
        if proxy is None:
            proxy = self._proxies[origin, channel] = Proxy(channel, offer.channel)
        proxy.number, proxy.stale = offer.channel, False
        self._by_number[origin, offer.channel] = proxy
        return proxy

    def withdrawn(self, origin: str, number: int, now: int) -> None:
        """Forget a channel: its writers are gone."""
        proxy = self._by_number.get((origin, number))
        if proxy is not None:
            self._drop((origin, proxy.channel), now)

    def ready(self, origin: str, ready: Ready, now: int) -> None:
        """Let the readers find the proxy: its site misses nothing any more."""
        proxy = self._by_number.get((origin, ready.channel))
        if proxy is not None and proxy.is_wanted and proxy.writer is None and proxy.turn == ready.turn:
            if sum(map(len, ready.type_objects)) <= TYPE_BYTES:
                proxy.type_objects = tuple(ready.type_objects)
            self._make(proxy, now)

    def write(self, origin: str, sample: Forwarded, now: int) -> bool:
        """Write a sample of another site, or keep it in the backlog; False where it must come again later."""
        proxy = self._by_number.get((origin, sample.channel))
        if proxy is None or not proxy.is_wanted or not 0 <= sample.kind <= max(SampleKind):
            self._counters["samples unwanted"] += 1
            return True
        if proxy.seen.get(sample.writer, -1) >= sample.sequence:
            self._counters["repetitions"] += 1
            return True
        if proxy.writer is None or proxy.patience is not None:
            if not proxy.hold(sample):
                if proxy.writer is None:  # the word that it is ready comes behind this one, which has no room
                    self._make(proxy, now)
                return False
        elif not self._write_here(proxy.writer, sample, now):
            return False
        proxy.seen[sample.writer] = sample.sequence
        self._counters["samples in"] += 1
        return True

    def began_anew(self, origin: str, now: int) -> None:
        """A site offers again what it has, and must be answered again."""
        for (site, _), proxy in self._proxies.items():
            if site == origin:
                proxy.stale, proxy.answered = True, None
                self._by_number.pop((origin, proxy.number), None)
                self._stale_at = now + _STALE

    def forget_answers(self, origin: str) -> None:
        """A site knows nothing any more of what it was answered."""
        for (site, _), proxy in self._proxies.items():
            if site == origin:
                proxy.answered = None

    def gone(self, origin: str, now: int) -> None:
        """A site has vanished."""
        for place in [place for place in self._proxies if place[0] == origin]:
            self._drop(place, now)

    # ---- inside --------------------------------------------------------------------------------------------------

    def unmake(self, proxy: Proxy, now: int) -> None:
        """Take the writer away: nobody here wants the channel."""
        if proxy.writer is not None:
            self._new.pop(proxy.writer, None)
            self._own.pop(proxy.writer, None)
            self._participant.delete_endpoint(proxy.writer, now)
        proxy.forget()

    def _make(self, proxy: Proxy, now: int) -> None:
        channel, depth = proxy.channel, proxy.channel.kept or None
        writer = self._participant.create_writer(
            channel.topic,
            channel.type_name,
            channel.quality(depth=depth),
            keyed=channel.keyed,
            now=now,
            type=channel.announced_type(proxy.type_objects),
        )
        proxy.writer, proxy.patience = writer, now + PATIENCE
        self._own[writer] = None
        self._new[writer] = proxy
        self._look_at = now + LOOK

    def _write_here(self, writer: Guid, sample: Forwarded, now: int) -> bool:
        """Write a sample; False where a reader here does not keep up, and the site of the writer has to wait."""
        kind = SampleKind(sample.kind)
        try:
            self._participant.write(writer, sample.payload, now=now, kind=kind, key_hash=sample.key_hash)
        except HistoryFullError:
            return False
        return True

    def _write_backlog(self, writer: Guid, proxy: Proxy, now: int) -> None:
        """Write what has waited for the readers to know the proxy, if they do or it has waited long enough."""
        if proxy.patience is None or now >= proxy.patience or self._participant.is_known(writer):
            while proxy.backlog and self._write_here(writer, proxy.backlog[0], now):
                proxy.backlog_bytes -= len(proxy.backlog.popleft().payload)
            if not proxy.backlog:
                proxy.patience = None
                del self._new[writer]
                return
        self._look_at = now + LOOK

    def _drop(self, place: tuple[str, Channel], now: int) -> None:
        proxy = self._proxies.pop(place)
        self._by_number.pop((place[0], proxy.number), None)
        self.unmake(proxy, now)
