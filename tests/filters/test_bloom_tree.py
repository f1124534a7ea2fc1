"""The dynamic Bloom counting tree: golden vectors, Algorithms 1 and 2, both modes, and its wire."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.errors import FilterError, UnknownKeyError
from rookery.filters.equations import intersection_estimate
from rookery.filters.hashing import DomainKey
from rookery.filters.tree import BloomTree, SubNode
from rookery.filters.tree.geometry import TreeGeometry, levels_for
from rookery.filters.tree.matrix import RowMatrix


def rows_hex(tree: BloomTree) -> dict[str, list[str]]:
    return {str(node): [bits.tobytes().hex() for bits in tree.matrix(node).bits()] for node in tree.created_nodes}


def counters(tree: BloomTree) -> dict[str, list[list[int]]]:
    return {str(node): [row.counters.tolist() for row in tree.matrix(node).rows] for node in tree.created_nodes}


def figure_one(case) -> BloomTree:
    return BloomTree(
        namespace_size=case["N"],
        node_size=case["N_perp"],
        bit_count=case["m"],
        hash_count=case["k"],
        row_capacity=0,
        namespace=case["ordinals"],
    )


def test_vectors_of_figure_one(golden):
    case = golden("08_dbct")["fig1_like"]
    tree = figure_one(case)
    assert tree.geometry.levels == case["L"]
    for key in case["used"]:
        tree.add(key)
    assert {key: tree._place(key, 0).top for key in case["ordinals"]} == case["owner_node"]
    assert tree.created_nodes == case["created_nodes"]
    assert rows_hex(tree) == case["bits"]
    assert counters(tree) == case["counters"]
    for name in ("query1", "query2"):
        result = tree.query(case[name]["S"])
        assert sorted(result.found) == sorted(case[name]["found"])
        assert list(result.visited) == case[name]["visited"]
    tree.remove("C6")
    after = case["after_remove_C6"]
    assert (tree.created_nodes, rows_hex(tree), counters(tree)) == (
        after["created_nodes"],
        after["bits"],
        after["counters"],
    )


def test_vectors_of_dynamic_rows(golden):
    case = golden("08_dbct")["dynamic_rows"]
    namespace = {f"n{ordinal}": ordinal for ordinal in range(case["N"])}
    tree = BloomTree(
        namespace_size=case["N"],
        node_size=case["N_perp"],
        bit_count=case["m"],
        hash_count=case["k"],
        namespace=namespace,
        mode="paper",  # which counts the covering rows that the vectors show
    )
    assert (tree.geometry.levels, tree.geometry.row_capacity) == (case["L"], case["cap"])
    for ordinal in case["insert_order"]:
        tree.add(f"n{ordinal}")
    assert {str(node): len(tree.matrix(node).rows) for node in tree.created_nodes} == case["rows_per_node"]
    result = tree.query([f"n{ordinal}" for ordinal in case["query"]], mode="sound")
    assert sorted(int(key[1:]) for key in result.found) == case["found"]
    assert list(result.visited) == case["visited"]
    assert set(case["true"]) <= set(case["found"])


def test_vectors_of_equation_six(golden):
    for row in golden("07_eq6")["rows"]:
        estimate = intersection_estimate(t1=row["t1"], t2=row["t2"], t_and=row["t_and"], m=row["m"], k=row["k"])
        assert estimate == pytest.approx(float(row["estimate"]), rel=1e-12, abs=1e-12)


def test_algorithm_one_builds_what_additions_build(golden):
    case = golden("08_dbct")["fig1_like"]
    added = figure_one(case)
    for key in case["used"]:
        added.add(key)
    built = BloomTree.build(
        case["used"], namespace=case["ordinals"], node_size=2, bit_count=10, hash_count=2, row_capacity=0
    )
    assert built.created_nodes == added.created_nodes
    assert counters(built) == counters(added)
    assert built.to_bytes() == added.to_bytes()
    built.remove("C6")
    added.remove("C6")
    assert counters(built) == counters(added)


NAMES = [f"n{ordinal}" for ordinal in range(60)]
NAMESPACE = {name: ordinal for ordinal, name in enumerate(NAMES)}


def closed_tree(**changes) -> BloomTree:
    shape = {"namespace_size": 60, "node_size": 4, "bit_count": 30, "hash_count": 3, "namespace": NAMESPACE}
    return BloomTree(**{**shape, **changes})


@given(st.lists(st.sampled_from(NAMES), unique=True), st.lists(st.sampled_from(NAMES), unique=True))
def test_algorithm_one_with_several_rows(used, asked):
    built = BloomTree.build(used, namespace=NAMESPACE, node_size=4, bit_count=30, hash_count=3)
    added = closed_tree()
    for key in used:
        added.add(key)
    assert counters(built) == counters(added)
    assert built.query(asked) == added.query(asked)


@given(st.lists(st.sampled_from(NAMES), unique=True), st.lists(st.sampled_from(NAMES)), st.sampled_from([0, 3, None]))
def test_sound_search_never_misses(used, asked, row_capacity):
    tree = closed_tree(bit_count=64, row_capacity=row_capacity)
    for key in used:
        tree.add(key)
    members = set(used) & set(asked)
    assert members <= set(tree.query(asked).found)
    received = BloomTree.from_bytes(tree.to_bytes(), namespace=NAMESPACE)
    assert members <= set(received.query(asked).found)
    assert all(key in received for key in used)


def test_paper_search_misses_members_and_sound_does_not():
    """Equation 6 against true members: the printed rule (= 0) and the code of its ancestor (≤ 0) both lose some."""
    lost = {"printed": 0, "clamped": 0, "sound": 0}
    total = 0
    for trial in range(300):
        names = [f"t{trial}/{i}" for i in range(16 * 3)]
        namespace = {name: ordinal for ordinal, name in enumerate(names)}
        tree = BloomTree(
            namespace_size=48, node_size=16, bit_count=117, hash_count=5, row_capacity=0, namespace=namespace
        )
        for name in names[16:]:  # two full leaves
            tree.add(name)
        asked = [names[16 + trial % 32], *(f"absent{trial}/{i}" for i in range(9))]
        total += 1
        lost["printed"] += asked[0] not in tree.query(asked, mode="paper").found
        lost["clamped"] += asked[0] not in tree.query(asked, mode="paper", threshold=0.0).found
        lost["sound"] += asked[0] not in tree.query(asked).found
    assert lost["sound"] == 0
    assert lost["clamped"] > total / 10
    assert lost["printed"] <= lost["clamped"]


def test_paper_search_of_figure_one_loses_an_element_by_the_printed_rule():
    """m = 10, k = 2, |S| = 3 as in Figure 1: an estimate of exactly 0 at a node that holds an asked element."""
    lost = 0
    for trial in range(400):
        names = [f"f{trial}/{i}" for i in range(14)]
        namespace = {name: ordinal for ordinal, name in enumerate(names)}
        tree = BloomTree(
            namespace_size=14, node_size=2, bit_count=10, hash_count=2, row_capacity=0, namespace=namespace
        )
        for name in names:
            tree.add(name)
        asked = [names[6], f"x{trial}", f"y{trial}"]
        lost += names[6] not in tree.query(asked, mode="paper").found
        assert names[6] in tree.query(asked).found
    assert lost > 0


def test_levels_and_geometry():
    assert levels_for(namespace_size=14, node_size=2) == 3
    assert levels_for(namespace_size=240, node_size=16) == 4
    assert levels_for(namespace_size=1, node_size=16) == 1
    assert levels_for(namespace_size=17, node_size=16) == 2
    geometry = TreeGeometry(levels=3, bit_count=10, hash_count=2, node_size=2, row_capacity=0)
    assert list(geometry.path(5)) == [5, 2, 0]
    assert geometry.children(1) == (3, 4)
    assert geometry.children(3) == ()
    with pytest.raises(FilterError):
        levels_for(namespace_size=10**9, node_size=1)


def test_nodes_exist_only_while_used():
    tree = closed_tree()
    tree.add("n50")
    assert tree.created_nodes == sorted(tree.geometry.path(50 // 4))
    tree.add("n50")
    tree.remove("n50")
    assert "n50" in tree
    tree.remove("n50")
    assert tree.created_nodes == []
    with pytest.raises(UnknownKeyError):
        tree.remove("n50")
    with pytest.raises(FilterError, match="namespace"):
        tree.add("elsewhere")
    assert "elsewhere" not in tree


def test_paper_wire_carries_every_node():
    sound, paper = closed_tree(), closed_tree(mode="paper")
    for key in NAMES[::3]:
        sound.add(key)
        paper.add(key)
    assert paper.size_in_bits > sound.size_in_bits
    received = BloomTree.from_bytes(paper.to_bytes(), namespace=NAMESPACE)
    assert received.mode == "paper"
    assert received.created_nodes == paper.created_nodes
    assert all(key in received for key in NAMES[::3])
    assert received.query(NAMES, mode="sound") == paper.query(NAMES, mode="sound")


def test_counters_travel_for_a_hand_over():
    tree = BloomTree.sized_for(40)
    tree.add_many([f"k{i}" for i in range(40)])
    wire = tree.to_bytes(counters=True)
    received = BloomTree.from_bytes(wire)
    assert received.to_bytes() == wire
    assert len(wire) > len(tree.to_bytes())
    assert received.contains_many([f"k{i}" for i in range(40)]).all()


@settings(max_examples=30)
@given(st.integers(0, 120), st.booleans(), st.sampled_from(["sound", "paper"]))
def test_open_tree_batches_agree_with_single_questions(count, keyed, mode):
    domain_key = DomainKey.derive(bytes(range(16))) if keyed else None
    tree = BloomTree(namespace_size=400, bit_count=80, hash_count=3, mode=mode, domain_key=domain_key, seed=3)
    keys = [f"k{i}" for i in range(count)]
    tree.add_many(keys)
    asked = [f"k{i}" for i in range(300)]
    singles = [key in tree for key in asked]
    assert tree.contains_many(asked).tolist() == singles
    assert all(singles[:count])
    received = BloomTree.from_bytes(tree.to_bytes(), domain_key=domain_key)
    assert received.contains_many(asked).tolist() == singles
    assert [received.contains_hash(received.hasher(key)) for key in asked] == singles
    assert received.expected_false_positive_rate == pytest.approx(tree.expected_false_positive_rate)


def test_a_closed_tree_can_be_asked_without_its_namespace():
    tree = closed_tree(bit_count=64)
    tree.add("n1")
    tree.add("n50")
    blind = BloomTree.from_bytes(tree.to_bytes())
    assert blind.contains_many(["n1", "n50", "elsewhere"]).tolist() == [True, True, False]
    answer = blind.query(["n1", "n50", "elsewhere"])
    assert dict(zip(answer.found, answer.nodes, strict=True)) == {"n1": 0, "n50": 12}
    assert blind.sub_node(12) == SubNode(layer=4, column=6)
    assert tree.contains_hash(tree.hasher("n50"))
    seeing = BloomTree.from_bytes(tree.to_bytes(), namespace=NAMESPACE)
    assert seeing.contains_many(["n1", "n2", "unknown"]).tolist() == [True, "n2" in seeing, False]
    with pytest.raises(FilterError, match="read only"):
        seeing.add("n2")


def row_matrix(bit_count: int, hash_count: int, capacity: int) -> RowMatrix:
    return RowMatrix(TreeGeometry(1, bit_count, hash_count, 0, capacity))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=80), st.integers(0, 5))
def test_matrix_has_the_rows_and_counters_of_its_elements(steps, capacity):
    matrix = row_matrix(12, 2, capacity)
    present: list[int] = []
    for is_add, number in steps:
        value = number * 0x9E3779B97F4A7C15 & (1 << 64) - 1
        if is_add:
            matrix.add(value)
            present.append(value)
        elif value in present:
            matrix.remove(value)
            present.remove(value)
        assert all(matrix.contains_hash(held) for held in present)
        assert len(matrix) == len(present)
        assert len(matrix.rows) == (-(-len(present) // capacity) if capacity else bool(present))
        if not any(row.stuck for row in matrix.rows):
            counted = sum(len(matrix.rows[0].positions(held)) for held in present)
            assert matrix.counters().sum() == counted
    for value in present:
        matrix.remove(value)
    assert matrix.rows == []


@pytest.mark.parametrize("capacity", [0, 25])
def test_stuck_counters_are_counted_anew_on_removal(capacity):
    matrix = row_matrix(4, 2, capacity)
    for number in range(40):
        matrix.add(number)
    assert matrix.rows[0].stuck
    for number in range(39):
        matrix.remove(number)
    assert matrix.rows[0].counters.sum() == len(matrix.rows[0].positions(39))


def test_impossible_trees_are_refused():
    for changes in ({"bit_count": 1}, {"bit_count": 70000}, {"hash_count": 0}, {"mode": "other"}):
        with pytest.raises(FilterError):
            closed_tree(**changes)
