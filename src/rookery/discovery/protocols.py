"""The discovery protocols: what goes into a participant's announcement.

All of them run over the same participant and differ in one thing, the summary of the participant's endpoints that its
announcement carries. Whom an endpoint is told to follows from the summaries (`directory`), and is the same for all.

| protocol | summary | from |
|---|---|---|
| `simple` | none: everyone is told everything | RTPS 2.5, 8.5 |
| `bloom` | one plain Bloom filter, made anew when something changes | BF_SDP, the baseline of seed 000 |
| `tree` | the dynamic Bloom counting tree, each node's own rows; it tells sub-nodes | HBF_ADA, seed 000 |
| `cuckoo` | the compressed cuckoo filter; two while it doubles | CCF, seed 001 |
| `ribbon` | the layered ribbon, as many layers as fit | ours: the fewest bits |
| `hashes` | the sorted 32-bit hashes | the honest simple competitor |

Seed 000, section 2.3, has five steps, and `tree` goes through them: (1) build the namespace N and the used namespace
N′: here the layers of topic names are the namespace, so that nobody needs a dictionary (`rookery.filters.tree.layers`);
(2) build the DBCT of the local endpoints and (3) send it: `Summary.encode`, carried in DATA(p); (4) read what comes,
search it for what is sought here, keep it and go on to SEDP: `directory`; (5) on any change put it into the DBCT and go
back to (3): `Summary.add` and `remove`, and a new epoch. `tree:paper` is printed to the letter (`discovery.tree`).
Seed 001 has two phases, and `cuckoo` goes through them: in the *participant discovery phase* the fingerprints of the
endpoints go out in the compressed filter; in the *endpoint discovery phase* the receiver asks it for its own topics and
contacts the sender for the hits alone. Its table doubles at 80 % load; `settle` moves some fingerprints with each
announcement, and until all have moved both filters are sent. `cuckoo:patent` is the setting as the seed has it, and
`rookery.discovery.cuckoo` lists what can be set.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Protocol

from rookery.discovery.cuckoo import CuckooSetting, CuckooSummary
from rookery.discovery.tree import TreeSummary, search_tree, tree_mode
from rookery.errors import FilterError, TopicError

if TYPE_CHECKING:
    from rookery.filters import DomainKey

__all__ = ["FALSE_POSITIVE_RATE", "PROTOCOLS", "Summary", "rate_among", "require_protocol", "summary_of", "warm"]

#: What structures are compared at, and made for where nobody says otherwise: a false match costs some 400 octets, so
#: for a summary that a handful read once eleven halvings are the cheapest (filters, 3.4).
FALSE_POSITIVE_RATE = 2.0**-11
#: The more read a summary, the more false matches there are, so the cheapest rate is one over their number, about. Who
#: begins does not know how many there are or will be: it supposes so many, and goes by what it knows beyond that.
_FEWEST_READERS, _BITS_OF_FEWEST = 512, 17
#: Equation 1 takes positions for independent; double hashing repeats itself in few bits. As measured, these bring a
#: filter of 1 to 1,000 keys to its rate (0.3 to 1.05 times it), where equation 1 alone gives 4 times it at ten keys.
_DOUBLE_HASHING_BITS, _BLOOM_HASHES = 88, 9
#: Below this many bits a key, a Bloom filter lets almost everything through.
_LEAST_BLOOM_BITS = 2


def rate_among(participants: int) -> float:
    """Return the false-positive rate of a summary that so many participants read."""
    return 2.0 ** -(_BITS_OF_FEWEST + max(0, math.ceil(math.log2(max(1, participants) / _FEWEST_READERS))))


class Summary(Protocol):
    """A participant's own summary: keys go in and out, containers come out."""

    def add(self, key: str) -> None:
        """Take in a key that is not in it yet."""
        ...

    def remove(self, key: str) -> None:
        """Take out a key that is in it."""
        ...

    def encode(self, *, epoch: int, room: int, rate: float | None = None) -> bytes:
        """Return the container, of at most `room` octets where the structure can be told less exactly.

        `rate` is what false positives are to come to, where the structure has none of its own.
        """
        ...

    def settle(self) -> bool:
        """Do one announcement's share of the work that is left over; say whether the container has changed.

        It is called before every announcement that has new content, and once a period: what it changes makes one.
        """
        ...


class _Rebuilt:
    """A summary that is made anew from all keys each time."""

    def __init__(self, make: Callable[[list[str], int, int, float], bytes]) -> None:
        self._keys: dict[str, None] = {}
        self._make = make

    def add(self, key: str) -> None:
        self._keys[key] = None

    def remove(self, key: str) -> None:
        del self._keys[key]

    def encode(self, *, epoch: int, room: int, rate: float | None = None) -> bytes:
        return self._make(list(self._keys), epoch, room, rate or FALSE_POSITIVE_RATE)

    def settle(self) -> bool:
        return False


def _tree(domain_key: DomainKey | None, setting: str = "") -> Summary:
    return TreeSummary(domain_key, FALSE_POSITIVE_RATE, setting)


def _bloom(domain_key: DomainKey | None) -> Summary:
    from rookery.filters import BloomFilter
    from rookery.filters.bloom.filter import HEADER_BYTES
    from rookery.filters.equations import optimal_bit_count, optimal_hash_count

    def make(keys: list[str], epoch: int, room: int, rate: float) -> bytes:
        count = max(1, len(keys))
        bits = optimal_bit_count(n=count, rate=rate) + _DOUBLE_HASHING_BITS
        if _LEAST_BLOOM_BITS * count <= 8 * (room - HEADER_BYTES):
            bits = min(bits, 8 * (room - HEADER_BYTES))
        hashes = min(_BLOOM_HASHES, max(1, math.floor(optimal_hash_count(n=count, m=bits))))
        made = BloomFilter(bit_count=bits, hash_count=hashes, domain_key=domain_key, epoch=epoch)
        made.add_many(keys)
        return made.to_bytes()

    return _Rebuilt(make)


def _ribbon(domain_key: DomainKey | None) -> Summary:
    from rookery.filters import summarize
    from rookery.filters.ribbon import RibbonFilter

    def make(keys: list[str], epoch: int, room: int, rate: float) -> bytes:
        made = summarize(keys, "ribbon", rate, domain_key=domain_key, epoch=epoch)
        assert isinstance(made, RibbonFilter)
        try:
            return made.to_bytes(size_limit=room)
        except FilterError:  # not even one layer fits
            return made.to_bytes()

    return _Rebuilt(make)


def _hashes(domain_key: DomainKey | None) -> Summary:
    from rookery.discovery.hashes import HashList

    return _Rebuilt(lambda keys, epoch, *_: HashList.of(keys, epoch=epoch, domain_key=domain_key).to_bytes())


_SUMMARIES: dict[str, Callable[[DomainKey | None], Summary] | None] = {
    "simple": None,
    "bloom": _bloom,
    "tree": _tree,
    "cuckoo": CuckooSummary,
    "ribbon": _ribbon,
    "hashes": _hashes,
}
#: The protocols by name.
PROTOCOLS = tuple(_SUMMARIES)


def require_protocol(name: str) -> str:
    """Return the name of a protocol, with its setting if it has one; raise with the names that there are."""
    _maker(name)
    return name


def summary_of(protocol: str, *, domain_key: DomainKey | None = None) -> Summary | None:
    """Return an empty summary of a protocol; None for the one that has none."""
    make = _maker(protocol)
    return None if make is None else make(domain_key)


def _maker(protocol: str) -> Callable[[DomainKey | None], Summary] | None:
    name, colon, setting = protocol.partition(":")
    if name not in _SUMMARIES:
        raise TopicError(f"no discovery protocol is called {name!r}; choose from {', '.join(PROTOCOLS)}")
    if not colon:
        return _SUMMARIES[name]
    if name == "tree":
        tree_mode(setting)
        return partial(_tree, setting=setting)
    if name != "cuckoo":
        raise TopicError(f"{protocol}: only cuckoo and tree can be set, for example cuckoo:patent or tree:paper")
    return partial(CuckooSummary, setting=CuckooSetting.parse(setting))


@cache
def warm(protocol: str) -> None:
    """Compile or load what a protocol needs, once: seconds on a machine that has never used it, when a lease may end.

    All structures are read, since peers may use another protocol.
    """
    from rookery.discovery.carriage import decode_summary

    if summary_of(protocol) is None:
        return
    for name in PROTOCOLS:
        summary = summary_of(name)
        if summary is not None:
            for number in range(3):
                summary.add(f"W\x1ftopic{number}\x1ftype")
            received = decode_summary(summary.encode(epoch=1, room=1_000))
            received.contains_many(["R\x1ftopic0\x1ftype"])
            search_tree(received, ["R\x1ftopic0\x1ftype"], mode="sound")
