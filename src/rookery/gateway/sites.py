"""Which sites there are, and which way to each: a link-state table.

Every site says who its neighbors are; all sites have all of these statements, so each can find the shortest way to
every other by itself, and a cycle of sites is nothing special. A link counts only if both ends name it: what a vanished
site said last does not lead anybody there. Statements are passed on when they are new and never again, and only to
those who are not neighbors of the speaker. A site that cannot be reached is remembered for a while, so that one that
returns goes on where it was.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from rookery.errors import FilterError
from rookery.filters import ObserverFilter, RibbonFilter, from_bytes
from rookery.filters.summaries import AnyFilter
from rookery.gateway.messages import SiteState

__all__ = ["MOST_NEIGHBORS", "MOST_SITES", "MOST_SUMMARY", "Sites"]

MOST_SITES = 256
MOST_NEIGHBORS = 64
#: Bytes of one site's summary: at the default rate some 70,000 topics.
MOST_SUMMARY = 64 << 10
#: One in so many topics that nobody wants is offered in vain.
_RATE = 1 / 1024


class Sites:
    """The table of one gateway."""

    def __init__(self, own: str, *, incarnation: int) -> None:
        self.own = own
        self.states: dict[str, SiteState] = {own: SiteState(own, incarnation, 0, [], b"")}
        self.filters: dict[str, AnyFilter] = {}
        #: The neighbor on the way to each site that can be reached.
        self.next_hops: dict[str, str] = {}
        self._unreachable_since: dict[str, int] = {}

    @property
    def mine(self) -> SiteState:
        """What this site says of itself."""
        return self.states[self.own]

    def describe(self, *, neighbors: Iterable[str] | None = None, wanted: Iterable[str] | None = None) -> bool:
        """Change what this site says of itself; say whether anything changed."""
        mine = self.mine
        names = mine.neighbors if neighbors is None else sorted(set(neighbors))[:MOST_NEIGHBORS]
        summary = mine.summary if wanted is None else _summary(wanted)
        if (names, summary) == (mine.neighbors, mine.summary):
            return False
        self.states[self.own] = SiteState(self.own, mine.incarnation, mine.version + 1, names, summary)
        self._find_ways()
        return True

    def merge(self, state: SiteState) -> bool:
        """Take in what a site says of itself; say whether it is new and fit to be passed on."""
        known = self.states.get(state.site)
        if state.site == self.own or (known is None and len(self.states) >= MOST_SITES):
            return False
        if known is not None and (state.incarnation, state.version) <= (known.incarnation, known.version):
            return False
        if len(state.neighbors) > MOST_NEIGHBORS or len(state.summary) > MOST_SUMMARY or not 0 < len(state.site) < 256:
            return False
        if state.summary:
            try:
                found = from_bytes(state.summary)
            except FilterError:
                return False
            if isinstance(found, ObserverFilter):
                return False
            self.filters[state.site] = found
        else:
            self.filters.pop(state.site, None)
        self.states[state.site] = state
        self._find_ways()
        return True

    def wants(self, site: str, key: str) -> bool:
        """Say whether a site's summary holds a key; it may do so wrongly, and never says no wrongly."""
        found = self.filters.get(site)
        return found is not None and key in found

    def note_unreachable(self, now: int) -> bool:
        """Note since when sites are out of reach; say whether there are any."""
        for site in self.states:
            if site == self.own or site in self.next_hops:
                self._unreachable_since.pop(site, None)
            else:
                self._unreachable_since.setdefault(site, now)
        return bool(self._unreachable_since)

    def forget_unreachable(self, now: int, *, after: int) -> list[str]:
        """Forget the sites that have been out of reach for so long; return their names."""
        self.note_unreachable(now)
        gone = [site for site, since in self._unreachable_since.items() if now - since >= after]
        for site in gone:
            del self.states[site], self._unreachable_since[site]
            self.filters.pop(site, None)
        return gone

    def _find_ways(self) -> None:
        """Search breadth first from here; among equal ways the first by name, so that all sites agree."""
        ways: dict[str, str] = {}
        queue = deque([self.own])
        reached = {self.own}
        while queue:
            site = queue.popleft()
            for neighbor in self.states[site].neighbors:
                state = self.states.get(neighbor)
                if neighbor in reached or state is None or site not in state.neighbors:
                    continue
                reached.add(neighbor)
                ways[neighbor] = ways.get(site, neighbor)
                queue.append(neighbor)
        self.next_hops = ways


def _summary(wanted: Iterable[str]) -> bytes:
    keys = sorted(set(wanted))
    if not keys:
        return b""
    summary = RibbonFilter.sized_for(len(keys), _RATE)
    summary.add_many(keys)
    return summary.announce()
