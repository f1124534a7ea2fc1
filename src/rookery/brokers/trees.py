"""The zones of a broker network as the K-D tree that Spark partitions by, and back: one tree, one serial form.

The tree's attributes are the coordinates of the event space (`rookery.space.axes`), so its points lie in [0, 1). A
network's tree cuts the dimensions in turn; only such a tree can become a network again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from rookery.brokers.static import StaticBrokers
from rookery.brokers.zones import ROOT, Path, split
from rookery.errors import SpaceError
from rookery.space.tree import FORMAT, FORMAT_VERSION, KdTree

__all__ = ["paths_of", "tree_of"]


def tree_of(paths: Sequence[Path], attributes: Sequence[str]) -> KdTree:
    """Return the tree whose zone n is `paths[n]`; the zones must tile the space."""
    dimensions = len(attributes)
    brokers = StaticBrokers.from_paths(paths, dimensions=dimensions)
    number_of = {path: number for number, path in enumerate(paths)}
    ordered = brokers.paths()
    nodes: list[object] = []
    pending = [0]
    while pending:
        node = pending.pop()
        if brokers.low[node] < 0:
            nodes.append(number_of[ordered[brokers.first[node]]])
            continue
        axis = int(brokers.depth[node]) % dimensions
        nodes.append([axis, float(brokers.lower[brokers.high[node], axis]).hex()])
        pending += [int(brokers.high[node]), int(brokers.low[node])]
    document = {"format": FORMAT, "version": FORMAT_VERSION, "attributes": list(attributes), "nodes": nodes}
    return KdTree.from_json(json.dumps(document))


def paths_of(tree: KdTree) -> list[Path]:
    """Return the zones of a tree as paths, by zone number."""
    found: list[Path] = [ROOT] * tree.zone_count
    pending: list[tuple[int, Path]] = [(0, ROOT)]
    while pending:
        node, path = pending.pop()
        axis = tree.dimension[node]
        if axis < 0:
            found[tree.zone[node]] = path
            continue
        if axis != len(path) % len(tree.attributes) or not 0 < tree.cut[node] < 1:
            raise SpaceError(
                "brokers cut the dimensions of the unit cube in turn, and this tree does not: fit it on coordinates "
                'with dimension="cyclic"'
            )
        below, above = split(path, tree.cut[node])
        pending += [(tree.lower[node], below), (tree.upper[node], above)]
    return found
