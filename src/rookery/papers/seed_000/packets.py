"""What a node sends of itself under the three protocols of seed 000: a list of records, one filter, a tree.

Rule: a sender is made once from its topics and can send again and again; `packet` encodes, `receive` reads what came,
`match` finds in it the keys that the receiver looks for. The tree is over a namespace that all nodes share, with as
many elements in each node as the sender has applications, so that it has as many levels as the sender has layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rookery.filters import BloomFilter, BloomTree, endpoint_key, equations
from rookery.rtps.announcements import EndpointAnnouncement, decode_endpoint
from rookery.rtps.identity import Guid

__all__ = ["SENDERS", "FilterSender", "ListSender", "TreeSender"]

TYPE_NAME = "T"


def _key(topic: str) -> str:
    return endpoint_key(kind="W", topic=topic, type_name=TYPE_NAME)


class ListSender:
    """SDP: a record for each endpoint."""

    name: ClassVar = "SDP"

    def __init__(self, topics: Sequence[str], *, node_size: int, rate: float) -> None:
        self.levels = 0
        self._records = [
            EndpointAnnouncement(Guid(bytes(12), number << 8 | 3), topic, TYPE_NAME)
            for number, topic in enumerate(topics)
        ]

    def packet(self) -> list[bytes]:
        """Return the records as SEDP sends them."""
        return [record.encode() for record in self._records]

    def receive(self, packet: list[bytes]) -> list[str]:
        """Read the records into a list."""
        return [_key(decode_endpoint(record).topic) for record in packet]

    def match(self, received: list[str], wanted: Sequence[str]) -> list[str]:
        """Walk the list for each key."""
        return [key for key in wanted if key in received]


class FilterSender:
    """BF_SDP: one plain filter."""

    name: ClassVar = "BF_SDP"

    def __init__(self, topics: Sequence[str], *, node_size: int, rate: float) -> None:
        self.levels = 0
        self._filter = BloomFilter.sized_for(len(topics), rate)
        self._filter.add_many([_key(topic) for topic in topics])

    def packet(self) -> bytes:
        """Return the bits."""
        return self._filter.to_bytes()

    def receive(self, packet: bytes) -> BloomFilter:
        """Read them."""
        return BloomFilter.from_bytes(packet)

    def match(self, received: BloomFilter, wanted: Sequence[str]) -> list[str]:
        """Ask for all keys at once."""
        return [key for key, hit in zip(wanted, received.contains_many(wanted).tolist(), strict=True) if hit]


class TreeSender:
    """HBF_ADA: the tree of the sender's layers, each node's own rows."""

    name: ClassVar = "HBF_ADA"

    def __init__(self, topics: Sequence[str], *, node_size: int, rate: float) -> None:
        self._namespace = {_key(topic): place for place, topic in enumerate(topics)}
        bits = equations.optimal_bit_count(n=node_size, rate=rate)
        self._tree = BloomTree(
            namespace_size=len(topics),
            node_size=node_size,
            bit_count=bits,
            hash_count=max(1, round(equations.optimal_hash_count(n=node_size, m=bits))),
            namespace=self._namespace,
        )
        self._tree.add_many(list(self._namespace))
        self.levels = self._tree.geometry.levels

    def packet(self) -> bytes:
        """Return the bits of all nodes."""
        return self._tree.to_bytes()

    def receive(self, packet: bytes) -> BloomTree:
        """Read them, and lay them out for the search; the namespace is the one that all share."""
        received = BloomTree.from_bytes(packet, namespace=self._namespace)
        assert received.created_nodes
        return received

    def match(self, received: BloomTree, wanted: Sequence[str]) -> tuple[str, ...]:
        """Search for all keys at once, from the root down."""
        return received.query(wanted).found


SENDERS: tuple[Any, ...] = (ListSender, FilterSender, TreeSender)
