"""The summary of `tree`: the dynamic Bloom counting tree of seed 000 in a participant, and how it is searched.

Rule 1 (section 1.2.3): growth and shrinking are the tree's own. An endpoint that comes adds a row to its sub-node when
the last one is full, or goes to a child when the sub-node is; one that goes takes row, node and level with it when they
are not needed any more. Nothing is ever built anew, and what has shrunk is as small as what never grew.
Rule 2 (step 4, Algorithm 2): a receiver searches a peer's tree for everything that it seeks in one pass, and learns
which sub-node of the peer has it. Layers are the directories of topic names (`rookery.filters.tree.layers`).
Rule 3: `tree:paper` does what is printed: it announces every node's covering rows and goes down where equation 6 is not
0, so it may miss what a peer has. `tree` announces own rows, searches soundly and misses nothing; either reads the
trees of the other. A tree over a closed namespace that a peer has is asked without its dictionary, in every node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from rookery.errors import TopicError

if TYPE_CHECKING:
    from rookery.filters import BloomTree, DomainKey, SubNode

__all__ = ["PAPER", "TreeSearch", "TreeSummary", "search_tree", "tree_mode"]

#: The setting that does what is printed.
PAPER = "paper"


def tree_mode(setting: str) -> Literal["sound", "paper"]:
    """Return the mode that a setting of `tree` names; raise for another setting."""
    if setting not in ("", PAPER):
        raise TopicError(f"tree:{setting}: the only setting is tree:{PAPER}, which does what is printed")
    return "paper" if setting else "sound"


class TreeSummary:
    """The DBCT of seed 000: endpoints come and go by counters."""

    def __init__(self, domain_key: DomainKey | None, rate: float, setting: str = "") -> None:
        from rookery.filters import BloomTree

        self._tree: BloomTree = BloomTree.layered(rate, domain_key=domain_key, mode=tree_mode(setting))

    def add(self, key: str) -> None:
        """Take in a key that is not in it yet."""
        self._tree.add(key)

    def remove(self, key: str) -> None:
        """Take out a key that is in it."""
        self._tree.remove(key)

    def encode(self, *, epoch: int, room: int, rate: float | None = None) -> bytes:
        """Return the container; its size is what it is, and so is its rate."""
        self._tree.epoch = epoch
        return self._tree.to_bytes()

    def settle(self) -> bool:
        """Return that nothing is left over."""
        return False


class TreeSearch:
    """What a search of a peer's tree gave: the sub-nodes that may have each key, and the nodes that were visited."""

    __slots__ = ("sub_nodes", "visited")

    def __init__(self, sub_nodes: dict[str, tuple[SubNode, ...]], visited: int) -> None:
        self.sub_nodes = sub_nodes
        self.visited = visited


def search_tree(summary: Any, keys: Any, *, mode: Literal["sound", "paper"]) -> TreeSearch | None:
    """Search a summary for many keys if it is a tree; None for one that is not."""
    if not hasattr(summary, "query"):
        return None
    answer = summary.query(keys, mode=mode)
    found: dict[str, tuple[SubNode, ...]] = {}
    for key, node in zip(answer.found, answer.nodes, strict=True):
        found[key] = (*found.get(key, ()), summary.sub_node(node))
    return TreeSearch(found, len(answer.visited))
