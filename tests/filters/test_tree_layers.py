"""Layers of names in the tree, its search against flat probe and plain twin, and how it grows and shrinks."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.twins.tree import search_sound

from rookery.errors import FilterError
from rookery.filters import BloomTree, DomainKey, SubNode, endpoint_key, from_bytes
from rookery.filters.tree import kernels
from rookery.filters.tree.geometry import ANYWHERE, TreeGeometry, depth_of
from rookery.filters.tree.layers import NAMED_LAYERS, layered_place, names_basis
from rookery.filters.tree.query import deepest
from rookery.filters.tree.questions import Questions
from rookery.filters.tree.wire import HEADER_BYTES

RATE = 2.0**-11
KEY = DomainKey.derive(bytes(range(16)))


def topic(name: str, kind: str = "W") -> str:
    return endpoint_key(kind=kind, topic=name, type_name="T")


def layered(names, **changes) -> BloomTree:
    tree = BloomTree.layered(RATE, **changes)
    tree.add_many([topic(name) for name in names])
    return tree


def rows_on_the_wire(wire: bytes) -> dict[int, int]:
    """Return s of each node, read from the octets alone."""
    levels, bits = wire[2], int.from_bytes(wire[4:6], "little")
    count, at = (1 << levels) - 1, HEADER_BYTES
    present = np.unpackbits(np.frombuffer(wire[at : at + (count + 7) // 8], dtype=np.uint8))[:count]
    at, rows = at + (count + 7) // 8, {}
    for node in np.flatnonzero(present).tolist():
        rows[node] = wire[at]
        at += 1 + (wire[at] * bits + 7) // 8
    assert at == len(wire)
    return rows


def test_the_directories_of_a_name_are_its_layers() -> None:
    tree = layered(["scan", "robot1/scan", "robot1/arm/joints", "robot1/arm/state", "/robot1/arm/x", "a/b/c/d/e/f/g"])
    received = BloomTree.from_bytes(tree.to_bytes())
    answer = received.query([topic(name) for name in ("scan", "robot1/scan", "robot1/arm/joints", "robot1/arm/state")])
    nodes = dict(zip(answer.found, answer.nodes, strict=True))
    layers = {key.split("\x1f")[1]: received.sub_node(node).layer for key, node in nodes.items()}
    assert layers == {"scan": 1, "robot1/scan": 2, "robot1/arm/joints": 3, "robot1/arm/state": 3}
    assert nodes[topic("robot1/arm/joints")] == nodes[topic("robot1/arm/state")]
    arm, robot = nodes[topic("robot1/arm/joints")], nodes[topic("robot1/scan")]
    assert robot in received.geometry.path(arm)  # what is below a directory is below its node
    assert received.geometry.levels == NAMED_LAYERS  # and what is deeper than that is in the last layer
    assert "nothing" not in received
    assert received.query([topic("robot1/arm/joint")]).found == ()


@pytest.mark.parametrize(
    ("node", "sub_node"), [(0, (1, 1)), (1, (2, 1)), (2, (2, 2)), (3, (3, 1)), (6, (3, 4)), (30, (5, 16))]
)
def test_nodes_are_named_by_layer_and_column(node: int, sub_node: tuple[int, int]) -> None:
    assert BloomTree.layered().sub_node(node) == SubNode(*sub_node)


def test_seed_and_domain_key_turn_the_layers() -> None:
    names = [f"area{number}/device/topic" for number in range(60)]
    shapes = set()
    for options in ({}, {"seed": 1}, {"domain_key": KEY}):
        tree = layered(names, **options)
        basis = names_basis(tree.hasher)
        shapes.add(tuple(layered_place(topic(name), 0, basis=basis, levels=5).top for name in names))
    assert len(shapes) == 3


NAMES = st.lists(st.sampled_from(["", "a", "b", "arm", "é"]), min_size=1, max_size=7).map("/".join)


@settings(max_examples=200)
@given(st.lists(st.one_of(NAMES.map(topic), NAMES, st.text(max_size=8)), min_size=1), st.integers(1, 12), st.booleans())
def test_kernels_place_keys_as_the_plain_twin_does(keys: list[str], levels: int, keyed: bool) -> None:
    tree = BloomTree.layered(domain_key=KEY if keyed else None, seed=7)
    geometry = TreeGeometry(levels, 184, 16, 0, 8, layered=True)
    try:
        asked = Questions.of(keys, geometry=geometry, hasher=tree.hasher, namespace=None)
    except FilterError:
        return  # a text that UTF-8 cannot write
    basis = names_basis(tree.hasher)
    for index, key in enumerate(keys):
        value = tree.hasher(key)
        place = layered_place(key, value, basis=basis, levels=levels)
        assert asked.deep[index] == place.deep
        assert asked.top[index] == place.top or place.deep == -2
        assert list(dict.fromkeys(asked.positions[index].tolist())) == geometry.positions(value)


def asked_plainly(tree: BloomTree, keys: list[str]) -> tuple[list[tuple[str, int]], list[int]]:
    hashes = {key: tree.hasher(key) for key in keys}
    places = {key: tree._place(key, value) for key, value in hashes.items()}
    pairs, visited = search_sound(tree.geometry, tree._laid_out(), hashes=hashes, places=places)
    return (deepest(pairs) if tree.mode == "paper" else pairs), visited


KINDS = ["layered", "open", "closed", "closed, unknown", "one row"]


@settings(max_examples=150)
@given(
    st.sampled_from(KINDS),
    st.sampled_from(["sound", "paper"]),
    st.integers(0, 90),
    st.integers(0, 1 << 32),
    st.booleans(),
)
def test_the_search_finds_what_the_flat_probe_finds_in_any_tree(
    kind: str, mode: str, count: int, seed: int, keyed: bool
) -> None:
    """Compiled search, plain twin and flat probe, at the owner and at whoever got the octets; small rows lie often."""
    dice = random.Random(seed)
    names = [topic("/".join(dice.choice("abcde") for _ in range(dice.randrange(1, 6)))) for _ in range(150)]
    names = list(dict.fromkeys(names))
    namespace = {key: place for place, key in enumerate(names)} if kind.startswith("closed") else None
    shape = {"bit_count": 60, "hash_count": 3, "row_capacity": 6, "mode": mode, "seed": seed & 0xFFFF}
    shape |= {"node_rows": 2} if kind == "layered" else {"namespace_size": 150, "node_size": 12}
    if kind == "one row":
        shape |= {"row_capacity": 0, "bit_count": 400}
    tree = BloomTree(**shape, namespace=namespace, domain_key=KEY if keyed else None)
    members = names[:count]
    tree.add_many(members)
    for key in members[::3]:
        tree.remove(key)
    members = [key for number, key in enumerate(members) if number % 3]
    known = None if kind == "closed, unknown" else namespace
    received = BloomTree.from_bytes(tree.to_bytes(), namespace=known, domain_key=KEY if keyed else None)
    asked = pa.array(names)
    for one in (tree, received):
        answer = one.query(asked, mode="sound")
        pairs, visited = asked_plainly(one, names)
        assert (list(zip(answer.found, answer.nodes, strict=True)), list(answer.visited)) == (pairs, visited)
        probed = one.contains_many(asked)
        assert [key in one for key in names] == probed.tolist()
        found = {key for key, hit in zip(names, probed.tolist(), strict=True) if hit}
        assert set(members) <= set(answer.found) <= found
        if mode == "sound":
            assert set(answer.found) == found  # own rows: an ancestor has them all
        for key in members:  # and the node that the owner has it in is among those learned
            place = next(node for (value, _), node in tree._elements.held.items() if value == tree.hasher(key))
            nodes = [node for other, node in pairs if other == key]
            assert place in nodes or mode == "paper"


@settings(max_examples=40)
@given(st.integers(0, 1 << 32), st.integers(1, 60), st.sampled_from(["sound", "paper"]))
def test_a_tree_has_the_nodes_that_its_elements_need_after_any_history(seed: int, most: int, mode: str) -> None:
    """Nodes of four elements, so that most are full: what leaves one is replaced from below."""
    dice, tree = random.Random(seed), BloomTree(bit_count=64, hash_count=4, row_capacity=2, node_rows=2, mode=mode)
    present: dict[str, None] = {}
    for step in range(2 * most):
        key = topic("dir/" * dice.randrange(3) + str(dice.randrange(most)))
        if key in present and dice.random() < 0.7:
            del present[key]
            tree.remove(key)
        elif key not in present:
            present[key] = None
            tree.add(key)
        if step % 7 and step < 2 * most - 1:
            continue
        held, elements = tree._elements.held, tree._elements
        assert len(held) == len(present)
        for (_, home), node in held.items():
            above = [one for one in tree.geometry.path(node) if one != node and depth_of(one) >= depth_of(home)]
            assert all(len(elements.own[one]) == 4 for one in above)  # all that it passed are full
        assert tree.geometry.levels == max((depth_of(node) + 1 for node in held.values()), default=1)
        for node, matrix in elements.own.items():
            assert len(matrix) == sum(place == node for place in held.values())
            assert len(matrix.rows) == -(-len(matrix) // 2)
        if mode == "paper":
            for node, matrix in elements.cover.items():
                under = elements.under(node)
                assert len(matrix) == len(under)
                assert (matrix.counters().sum(axis=0) == under.counters().sum(axis=0)).all()
        received = BloomTree.from_bytes(tree.to_bytes())
        assert not present or received.contains_many(list(present)).all()


def test_what_is_left_moves_up() -> None:
    """200 topics of one directory; the first 195 end, so that the five of the deepest nodes are left."""
    tree = layered([f"topic{number}" for number in range(200)])
    assert tree.geometry.levels > 2
    for number in range(195):
        tree.remove(topic(f"topic{number}"))
        assert len(tree._elements.own[0]) == min(30, 199 - number)
    assert tree.geometry.levels == 1
    assert tree.row_counts == {0: 1}
    assert tree.contains_many([topic(f"topic{number}") for number in range(195, 200)]).all()


def test_bits_behind_the_rows_of_a_node_are_refused() -> None:
    tree = BloomTree(namespace_size=4, bit_count=61, hash_count=3)
    tree.add("a")
    wire = tree.to_bytes()
    assert BloomTree.from_bytes(wire).contains_many(["a"]).all()
    for bit in range(3):
        with pytest.raises(FilterError, match="padding"):
            BloomTree.from_bytes(wire[:-1] + bytes([wire[-1] | 1 << bit]))


@pytest.mark.parametrize("directory", ["", "rt/", "plant/line4/"])
def test_rows_come_one_by_one_and_a_thousand_endpoints_leave_no_trace(directory: str) -> None:
    tree = BloomTree.layered(RATE)
    names = [topic(f"{directory}topic{number}") for number in range(1_000)]
    fresh = layered([f"{directory}topic{number}" for number in range(5)]).to_bytes()
    geometry, home = (tree.geometry.bit_count, tree.geometry.hash_count), None
    seen = []
    for count, key in enumerate(names, start=1):
        tree.add(key)
        if count <= 40:
            rows = rows_on_the_wire(tree.to_bytes())
            home = min(rows) if home is None else home
            seen.append(rows[home])
            if count <= 30:
                assert set(rows) == {home}  # no other node until this one is full
    # A row more for five endpoints, and its children after six rows.
    assert seen == [1 + count // 5 for count in range(30)] + [6] * 10
    large = tree.to_bytes()
    assert sum(rows_on_the_wire(large).values()) <= 1.1 * 1_000 / 5
    assert max(rows_on_the_wire(large).values()) == 6
    for key in names[5:]:
        tree.remove(key)
    assert len(tree.to_bytes()) == len(fresh)
    assert rows_on_the_wire(tree.to_bytes()) == rows_on_the_wire(fresh)
    assert (tree.geometry.bit_count, tree.geometry.hash_count) == geometry
    assert tree.contains_many(names[:5]).all()


@pytest.mark.parametrize("directory", ["", "rt/", "a/b/"])
@pytest.mark.parametrize("count", [8, 32, 100, 1_000])
def test_a_layered_tree_keeps_its_rate(count: int, directory: str) -> None:
    tree = layered([f"{directory}topic{number}" for number in range(count)])
    absent = pa.array([topic(f"{directory}other{number}") for number in range(200_000)])
    measured = float(tree.contains_many(absent).mean())
    assert measured <= 1.3 * RATE
    if not directory:  # every path begins at the root: what the tree computes of itself is the rate
        assert abs(measured - tree.expected_false_positive_rate) <= 4 * (tree.expected_false_positive_rate / 2e5) ** 0.5


def test_a_tree_of_all_nodes_that_hides_its_members_is_refused() -> None:
    tree = layered(["a/b/x", "a/y", "z"], mode="paper")
    wire = tree.to_bytes()
    assert BloomTree.from_bytes(wire).query([topic("a/b/x")]).found == (topic("a/b/x"),)
    levels = wire[2]
    bitmap = HEADER_BYTES + ((1 << levels) - 1 + 7) // 8
    cleared = bytearray(wire)
    cleared[bitmap + 1 : bitmap + 16] = bytes(15)  # the bits of the root
    with pytest.raises(FilterError, match="is not covered by the one above it"):
        from_bytes(bytes(cleared))
    headless = bytearray(wire)
    headless[HEADER_BYTES] &= 0x7F  # no root at all
    del headless[bitmap : bitmap + 16]
    with pytest.raises(FilterError, match="is not covered by the one above it"):
        from_bytes(bytes(headless))
    closed_and_layered = bytearray(layered(["x"]).to_bytes())
    closed_and_layered[6] = 1  # N⊥
    with pytest.raises(FilterError, match="exclude each other"):
        from_bytes(bytes(closed_and_layered))


@pytest.mark.parametrize("levels", [8, 14])
def test_a_hostile_tree_makes_no_long_answer(levels: int) -> None:
    """Closed, of all that a summary may weigh, every second bit set and k = 1: half of all nodes say yes to all."""
    nodes = (1 << levels) - 1
    head = b"\xdb\x01" + bytes([levels, 1]) + (2).to_bytes(2, "little") + (1).to_bytes(2, "little") + bytes(10)
    wire = head + np.packbits(np.ones(nodes, dtype=np.uint8)).tobytes() + b"\x01\x80" * nodes
    tree = BloomTree.from_bytes(wire)
    keys = [topic(str(number)) for number in range(8)]
    answer = tree.query(keys)
    assert len(answer.found) <= 16 * len(keys)
    assert set(answer.found) == {key for key in keys if key in tree}
    if levels == 8:
        assert asked_plainly(tree, keys) == (list(zip(answer.found, answer.nodes, strict=True)), list(answer.visited))
    assert tree._place(keys[0], 0) == ANYWHERE


def test_every_way_through_the_search_kernel_is_taken_by_the_plain_code_too() -> None:
    """The Python under the decorator, so that a fault in it is not the compiler's alone to show."""
    tree = layered([f"a/topic{number}" for number in range(40)] + ["b/c/x", "y"])
    keys = [topic(f"a/topic{number}") for number in range(0, 80, 7)] + [topic("b/c/x"), topic("b/c/z"), topic("y")]
    index, asked = tree._laid_out(), tree._questions(keys)
    found, visited = np.empty((16 * len(keys), 2), np.int64), np.empty(index.nodes.size, np.int32)
    plain = kernels.search.py_func(
        asked.positions, asked.top, asked.deep, index.nodes, index.child, index.own, index.cover, index.slices,
        tree.geometry.levels, 16, found, visited,
    )  # fmt: skip
    answer = tree.query(keys)
    assert [keys[key] for key in found[: plain[0], 0]] == list(answer.found)
    assert tuple(visited[: plain[1]].tolist()) == answer.visited
