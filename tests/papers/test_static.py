"""Routes over whole trees: the hops that theory promises, no loops, even loads, and the plain twin of the kernel."""

from __future__ import annotations

import numpy as np
import pytest

from rookery.brokers.ownership import ZoneOwnership
from rookery.brokers.spanhop import next_hop
from rookery.errors import SpaceError
from rookery.papers.seed_003.kernels import mix
from rookery.papers.seed_003.printed import printed_hops
from rookery.papers.seed_003.static import Routes, StaticBrokers
from rookery.papers.seed_003.tables import ExactTable, exact_tables
from rookery.space.zones import Path, box_of, contains


def routes(brokers: StaticBrokers, count: int, seed: int = 1, **options: object) -> Routes:
    generator = np.random.default_rng(seed)
    sources = generator.integers(len(brokers), size=count).astype(np.int32)
    return brokers.route(sources, generator.random((count, brokers.dimensions)), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("dimensions", "depth"), [(2, 10), (3, 10), (5, 10), (2, 14), (3, 15)])
def test_hops_are_half_the_binary_logarithm_on_balanced_trees(dimensions: int, depth: int) -> None:
    found = routes(StaticBrokers.balanced(dimensions, depth), 40_000, span=2**dimensions)
    assert found.loops == 0
    assert found.mean == pytest.approx(depth / 2, rel=0.02)
    assert found.hops.max() <= depth  # at most one hop a cut


@pytest.mark.parametrize("dimensions", [2, 3, 5])
def test_hops_of_a_million_brokers(dimensions: int) -> None:
    brokers = StaticBrokers.balanced(dimensions, 20)
    found = routes(brokers, 8_000, span=2**dimensions)
    assert found.loops == 0
    assert found.mean == pytest.approx(10, rel=0.02)
    if dimensions == 2:  # (d/3)(n - 1/n) with n = 1024 is 682.7
        assert routes(brokers, 1_000, span=1).mean == pytest.approx(682.7, rel=0.05)


def grown(dimensions: int, count: int = 1024, seed: int = 1) -> StaticBrokers:
    return StaticBrokers.grown(count, dimensions=dimensions, generator=np.random.default_rng(seed), choices=1)


@pytest.mark.parametrize(("dimensions", "span"), [(2, 4), (2, 8), (3, 8)])
def test_the_repaired_router_does_not_loop_on_irregular_trees(dimensions: int, span: int) -> None:
    assert routes(grown(dimensions), 50_000, span=span, limit=500).loops == 0


@pytest.mark.slow
@pytest.mark.parametrize(("dimensions", "span"), [(2, 4), (2, 8), (3, 8), (5, 32)])
def test_a_million_routes_do_not_loop(dimensions: int, span: int) -> None:
    assert routes(grown(dimensions), 1_000_000, span=span, limit=500).loops == 0


def test_hops_that_leave_the_domain_loop() -> None:
    """Algorithm 1 with whole neighbor tables in AQ, as printed, and every other repair made."""
    assert routes(grown(2), 50_000, span=8, limit=500, in_domain=False).loops > 0


def test_inherited_residents_make_a_hot_spot_and_random_ones_do_not() -> None:
    brokers = StaticBrokers.balanced(2, 14)
    uneven = {
        residents: (loads := routes(brokers, 300_000, span=4, residents=residents).forwarded).max() / loads.mean()
        for residents in ("random", "inherited")
    }
    assert uneven["random"] <= 6
    assert uneven["inherited"] > 100


def skewed(generator: np.random.Generator, count: int) -> np.ndarray:
    heavy = generator.pareto(1.5, count)
    return np.stack([heavy / (1 + heavy), generator.beta(2, 8, count)], axis=1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_joins_at_data_points_share_a_skewed_load(seed: int) -> None:
    generator = np.random.default_rng(seed)
    history, fresh = skewed(generator, 100_000), skewed(generator, 200_000)
    brokers = StaticBrokers.grown(1024, dimensions=2, generator=generator, events=history)
    anywhere = StaticBrokers.grown(
        1024, dimensions=2, generator=generator, events=history, joins=generator.random((2048, 2)), choices=1
    )
    loads = np.bincount(brokers.owners(fresh), minlength=len(brokers))
    assert loads.max() / loads.mean() <= 5
    elsewhere = np.bincount(anywhere.owners(fresh), minlength=len(anywhere))
    assert elsewhere.max() / elsewhere.mean() > 8


def test_paths_and_owners_agree_with_the_zones() -> None:
    brokers = grown(3, 200, seed=5)
    paths = brokers.paths()
    assert sum(np.prod(np.subtract(*reversed(box_of(path, 3)))) for path in paths) == pytest.approx(1)
    points = np.random.default_rng(2).random((100, 3))
    for point, owner in zip(points.tolist(), brokers.owners(points), strict=True):
        assert [number for number, path in enumerate(paths) if contains(box_of(path, 3), tuple(point))] == [owner]
    again = StaticBrokers.from_paths(paths[::-1], dimensions=3)
    assert again.paths() == paths


def test_zones_that_do_not_tile_are_refused() -> None:
    paths = grown(2, 10).paths()
    with pytest.raises(SpaceError, match="do not tile"):
        StaticBrokers.from_paths(paths[1:], dimensions=2)
    with pytest.raises(SpaceError, match="power of two"):
        routes(grown(2, 10), 5, span=3)


def walk(tables: list[ExactTable], source: int, point: tuple[float, ...], limit: int) -> int:
    broker, hops = source, 0
    while (hop := next_hop(tables[broker], point)) is not None:
        broker, hops = hop.owner, hops + 1
        if hops >= limit:
            return -1
    return hops


@pytest.mark.parametrize(("dimensions", "bits", "seed"), [(2, 2, 1), (2, 3, 2), (3, 3, 3), (1, 1, 4), (3, 1, 5)])
@pytest.mark.parametrize("residents", ["random", "inherited"])
def test_the_kernel_agrees_with_the_plain_router(dimensions: int, bits: int, seed: int, residents: str) -> None:
    brokers = grown(dimensions, 60, seed)
    paths = brokers.paths()
    numbers = {path: node for node, path in node_paths(brokers).items()}

    def resident(broker: int, zone: Path, within: list[int]) -> int:
        if residents == "inherited" or len(within) == 1:
            return within[0]
        return within[int(mix(broker, numbers[zone], 7)) % len(within)]

    tables = exact_tables(paths, dimensions=dimensions, bits=bits, resident=resident)
    generator = np.random.default_rng(seed)
    sources = generator.integers(60, size=300).astype(np.int32)
    points = generator.random((300, dimensions))
    points[::3] = [box_of(paths[number], dimensions).lower for number in generator.integers(60, size=100)]
    found = brokers.route(sources, points, span=2**bits, residents=residents, seed=7, limit=200)
    plain = [walk(tables, int(source), tuple(p), 200) for source, p in zip(sources, points.tolist(), strict=True)]
    assert found.hops.tolist() == plain
    assert found.loops == 0


def node_paths(brokers: StaticBrokers) -> dict[int, Path]:
    found: dict[int, Path] = {}
    for number, path in enumerate(brokers.paths()):
        node = 0
        for depth in range(len(path) + 1):
            found[node] = path[:depth]
            if depth < len(path):
                node = int(brokers.high[node] if number >= brokers.first[brokers.high[node]] else brokers.low[node])
    return found


def sixteen() -> tuple[list[Path], dict[int, int]]:
    """The layout of the seed's figures 3 to 5: four domains of four, in each of which the brokers go round."""
    brokers = StaticBrokers.balanced(2, 4)
    clockwise = (0, 1, 3, 2)
    number_of = {
        domain * 4 + place: domain * 4 + turn + 1 for domain in range(4) for turn, place in enumerate(clockwise)
    }
    return brokers.paths(), number_of


@pytest.mark.parametrize(("failed", "route"), [(None, [1, 9, 13, 16]), (9, [1, 5, 13, 16])])
def test_the_routes_of_the_seed(failed: int | None, route: list[int]) -> None:
    paths, number_of = sixteen()
    tables = exact_tables(paths, dimensions=2, bits=2, resident=lambda broker, zone, within: within[0])
    place_of = {number: place for place, number in number_of.items()}
    target = box_of(paths[place_of[16]], 2)
    point = tuple((low + high) / 2 for low, high in zip(*target, strict=True))
    taken = [1]
    while (
        hop := next_hop(
            tables[place_of[taken[-1]]], point, usable=lambda ownership: number_of[ownership.owner] != failed
        )
    ) is not None:
        taken.append(number_of[hop.owner])
    assert taken == route


def test_algorithm_1_as_printed_receives_wrongly_and_sends_too_often() -> None:
    paths, number_of = sixteen()
    tables = exact_tables(paths, dimensions=2, bits=2, resident=lambda broker, zone, within: within[0], in_domain=False)
    point = (0.9, 0.1)
    owner = next(number for number, path in enumerate(paths) if contains(box_of(path, 2), point))
    received = [number for number, table in enumerate(tables) if printed_hops(table, point)[0]]
    assert owner in received
    assert len(received) == 7  # the row and the column of the event, not its zone
    copies = [len(printed_hops(table, point)[1]) for table in tables]
    assert max(copies) == 3  # one per level, and one more
    assert copies[owner] == 1  # even the owner passes it on
    assert isinstance(printed_hops(tables[0], point)[1][0], ZoneOwnership)
    assert len(number_of) == 16
