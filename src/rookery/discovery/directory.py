"""Who is to hear of which endpoint: the decision that all protocols share.

Rule: an endpoint is told to a peer if the peer may have a counterpart of it. How that is known depends on the peer:

- it sent a summary: the summary is asked for everything that our endpoints seek (seed 000, step 4; seed 001, endpoint
  discovery phase). A tree is searched, and tells which of the peer's sub-nodes may have what is sought;
- it has told us of a counterpart itself, by SEDP;
- it wants everything: an observer, or a peer whose summary cannot be read, which may be filtering us likewise.

Never no wrongly: a summary holds all keys of its owner, and what is not in it by the time it was made will be in the
next one. Interest only grows here: what a peer was told stays told until the endpoint ends, for otherwise the end could
not be told. The decision is per endpoint, not per participant: in a ROS 2 graph nearly every pair of participants
shares some topic, so a gate per pair would let nearly everything through.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rookery.discovery.interests import Interest, interest_of_endpoint
from rookery.discovery.tree import search_tree
from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.identity import Guid

if TYPE_CHECKING:
    from rookery.filters import SubNode

__all__ = ["InterestDirectory", "PeerView"]


@dataclass(slots=True)
class PeerView:
    """What is known of one peer's interest."""

    everything: bool = False
    summary: Any = None
    """A filter, or None for a peer that sends none."""
    octets: int = 0
    """The size of the summary's container."""
    known: Counter[str] = field(default_factory=Counter)
    """The keys of its endpoints that it has told us of."""
    relevant: dict[Guid, None] = field(default_factory=dict)
    """Our endpoints that it is to hear of."""
    sub_nodes: dict[str, tuple[SubNode, ...]] = field(default_factory=dict)
    """Of a peer that sent a tree: its sub-nodes that may have what our endpoints seek, by the key sought."""
    visited: int = 0
    """Nodes of that tree that the last search looked at."""


class InterestDirectory:
    """The interests of this participant and of its peers."""

    def __init__(self, *, tree_mode: Literal["sound", "paper"] = "sound") -> None:
        """Make an empty directory; with `paper` trees are searched as printed, and may miss something."""
        self._tree_mode = tree_mode
        self.peers: dict[bytes, PeerView] = {}
        self.own: Counter[str] = Counter()
        """The keys of our endpoints, counted."""
        self._local: dict[Guid, Interest] = {}
        self._seekers: dict[str, dict[Guid, None]] = {}
        self._sought: Any = None  # the keys of `_seekers` as an Arrow array, until they change
        self.octets = 0
        """Octets of all summaries that are kept."""

    def __len__(self) -> int:
        return len(self._local)

    @property
    def local(self) -> tuple[Guid, ...]:
        """Our endpoints."""
        return tuple(self._local)

    def view(self, prefix: bytes) -> PeerView:
        """Return what is known of a peer, which may be nothing yet."""
        view = self.peers.get(prefix)
        if view is None:
            view = self.peers[prefix] = PeerView()
        return view

    def wants(self, prefix: bytes, guid: Guid) -> bool:
        """Say whether a peer is to hear of one of our endpoints."""
        view = self.peers.get(prefix)
        return view is not None and guid in view.relevant

    def add_local(self, announcement: EndpointAnnouncement) -> list[bytes]:
        """Take in an endpoint of ours; return the peers that are to hear of it."""
        guid, interest = announcement.guid, interest_of_endpoint(announcement)
        self._local[guid] = interest
        if interest.sought not in self._seekers:
            self._seekers[interest.sought], self._sought = {}, None
        self._seekers[interest.sought][guid] = None
        self.own[interest.own] += 1
        reached = [prefix for prefix, view in self.peers.items() if self._may_have(view, interest.sought)]
        for prefix in reached:
            self.peers[prefix].relevant[guid] = None
        return reached

    def remove_local(self, guid: Guid) -> str | None:
        """Take out an endpoint of ours; return its key if no other endpoint has it."""
        interest = self._local.pop(guid)
        seekers = self._seekers[interest.sought]
        del seekers[guid]
        if not seekers:
            del self._seekers[interest.sought]
            self._sought = None
        for view in self.peers.values():
            view.relevant.pop(guid, None)
            if not seekers:
                view.sub_nodes.pop(interest.sought, None)
        self.own[interest.own] -= 1
        if self.own[interest.own]:
            return None
        del self.own[interest.own]
        return interest.own

    def key_of(self, guid: Guid) -> str:
        """Return the key of one of our endpoints."""
        return self._local[guid].own

    def sought_by(self, guid: Guid) -> str:
        """Return the key that one of our endpoints seeks."""
        return self._local[guid].sought

    @property
    def sought(self) -> Collection[str]:
        """What our endpoints seek: the set that a peer's summary is asked for."""
        return self._seekers.keys()

    def set_summary(self, prefix: bytes, summary: Any, *, octets: int) -> list[Guid]:
        """Keep a peer's summary; return our endpoints that it is now to hear of."""
        view = self.view(prefix)
        self.octets += octets - view.octets
        view.summary, view.octets = summary, octets
        view.sub_nodes, view.visited = {}, 0
        if not self._seekers:
            return []
        if self._sought is None:
            import pyarrow

            self._sought = pyarrow.array(self._seekers)
        searched = search_tree(summary, self._sought, mode=self._tree_mode)
        if searched is not None:
            view.sub_nodes, view.visited = searched.sub_nodes, searched.visited
            return [] if view.everything else self._extend(view, searched.sub_nodes)
        if view.everything:
            return []
        hits = summary.contains_many(self._sought)
        if not hits.any():
            return []
        return self._extend(view, (key for key, hit in zip(self._seekers, hits.tolist(), strict=True) if hit))

    def drop_summary(self, prefix: bytes) -> None:
        """Forget a peer's summary, but not what it was told."""
        view = self.view(prefix)
        self.octets -= view.octets
        view.summary, view.octets, view.sub_nodes = None, 0, {}

    def set_everything(self, prefix: bytes) -> list[Guid]:
        """Note that a peer wants everything; return our endpoints that it has not heard of."""
        view = self.view(prefix)
        view.everything = True
        return self._extend(view, tuple(self._seekers))

    def add_remote(self, announcement: EndpointAnnouncement) -> list[Guid]:
        """Take in an endpoint that a peer told of; return our endpoints that it is now to hear of."""
        view, key = self.view(announcement.guid.prefix), interest_of_endpoint(announcement).own
        view.known[key] += 1
        return self._extend(view, (key,))

    def remove_remote(self, announcement: EndpointAnnouncement) -> None:
        """Take out an endpoint that a peer told of."""
        view = self.peers.get(announcement.guid.prefix)
        if view is not None:
            key = interest_of_endpoint(announcement).own
            view.known[key] -= 1
            if view.known[key] <= 0:
                del view.known[key]

    def forget(self, prefix: bytes) -> None:
        """Forget a peer."""
        view = self.peers.pop(prefix, None)
        self.octets -= 0 if view is None else view.octets

    def _extend(self, view: PeerView, keys: Iterable[str]) -> list[Guid]:
        fresh = [guid for key in keys for guid in self._seekers.get(key, ()) if guid not in view.relevant]
        view.relevant.update(dict.fromkeys(fresh))
        return fresh

    def _may_have(self, view: PeerView, key: str) -> bool:
        """Say whether a peer may have a key; of a tree also learn where."""
        searched = None if view.summary is None else search_tree(view.summary, [key], mode=self._tree_mode)
        if searched is not None:
            view.sub_nodes.update(searched.sub_nodes)
            view.visited = searched.visited
            return view.everything or key in view.known or key in searched.sub_nodes
        return view.everything or key in view.known or (view.summary is not None and key in view.summary)
