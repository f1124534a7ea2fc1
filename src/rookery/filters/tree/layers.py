"""What the layers of a DDS participant are: the names of its topics (seed 000, sections 1.1 and 2.3, step 1).

The paper gives a system layers of nodes and sub-nodes and asks on which sub-node a name is; it supposes a namespace
that all participants have. In DDS nobody has such a dictionary, but names have layers of their own: `robot1/arm/joints`
is a topic of the sub-node `robot1/arm`, which is a part of `robot1`, which is a part of the participant. So the
namespace travels in the names, and both ends read it there.

Rule 1: layer 1 is the participant. Each directory of a topic's name, up to four, is a layer further down: left or right
by a bit of the hash of the name so far. So whatever is in one directory is in one sub-node, and whatever is below it in
the subtree of that sub-node. That node is the *home* of the key. Two directories may share a node.
Rule 2: a home that is full passes what comes next to its children, left or right by bits of the key's own hash, and so
on down (section 1.2.3 and the abstract: nodes are made as elements come). So a key is on the path from its home down,
and which node of that path has it is known from the bits of the tree alone.
Rule 3: a domain key and a seed enter the hash of names as they enter that of keys: the shape of a tree tells outsiders
how many endpoints there are, not what they are called.

The names are hashed octet by octet, FNV-1a over the topic's UTF-8 with `basis` for an offset and fmix64 at the end; a
directory is what a slash ends, empty ones do not count. A key without U+001F is all topic.
"""

from __future__ import annotations

from rookery.filters.hashing import KeyHasher, fmix64
from rookery.filters.tree.geometry import NOWHERE, Place

__all__ = ["NAMED_LAYERS", "layered_place", "names_basis"]

#: Layers that names can have; topics further down are in the last one. Each further layer would double the bitmap.
NAMED_LAYERS = 5
_PRIME = 0x100000001B3
_WORD = (1 << 64) - 1
_SEPARATOR, _SLASH = 0x1F, 0x2F


def names_basis(hasher: KeyHasher) -> int:
    """Return what the hash of names begins with: it depends on seed and domain key."""
    return hasher("\x1flayers\x1f")


def layered_place(key: str, value: int, *, basis: int, levels: int) -> Place:
    """Return the path of a key with hash `value`: from the node of its directory to the last level."""
    octets = key.encode()
    first = octets.find(_SEPARATOR)
    last = octets.find(_SEPARATOR, first + 1) if first >= 0 else -1
    topic = octets[first + 1 : last if last >= 0 else None]
    node, depth, state, length = 0, 0, basis, 0
    for octet in topic:
        state = ((state ^ octet) * _PRIME) & _WORD
        if octet != _SLASH:
            length += 1
        elif length and depth < NAMED_LAYERS - 1:
            node, depth, length = 2 * node + 1 + (fmix64(state) >> 63), depth + 1, 0
        else:
            length = 0
    if depth >= levels:
        return NOWHERE
    home, bits = node, fmix64(value)
    for level in range(depth, levels - 1):
        node = 2 * node + 1 + (bits >> 63 - level & 1)
    return Place(home, node)
