"""One tree for brokers and for Spark."""

from __future__ import annotations

import numpy as np
import pytest

from rookery.brokers.static import StaticBrokers
from rookery.brokers.trees import paths_of, tree_of
from rookery.errors import SpaceError
from rookery.space import KdTree


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_a_network_is_a_tree_and_a_tree_a_network(dimensions: int) -> None:
    generator = np.random.default_rng(3)
    events = generator.beta(2, 8, (5000, dimensions))
    brokers = StaticBrokers.grown(50, dimensions=dimensions, generator=generator, events=events)
    names = [f"a{number}" for number in range(dimensions)]
    tree = tree_of(brokers.paths(), names)
    assert paths_of(tree) == brokers.paths()
    points = generator.random((500, dimensions))
    assert tree.zones_of(points).tolist() == brokers.owners(points).tolist()
    fitted = KdTree.fit(events, attributes=names, zones=32, dimension="cyclic")
    assert tree_of(paths_of(fitted), names) == fitted


def test_a_tree_that_is_no_network_is_refused() -> None:
    tree = KdTree(["a", "b"])
    tree.split(0, attribute="b", cut=0.5)
    with pytest.raises(SpaceError, match="in turn"):
        paths_of(tree)
