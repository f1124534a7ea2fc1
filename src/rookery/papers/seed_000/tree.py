"""Seed 000, sections 1.2 and 2: the tree of filters, how it is built, and how it is searched."""

from __future__ import annotations

import math
import random
from collections import deque

import numpy as np

from rookery.filters import BloomFilter, BloomTree, equations
from rookery.papers.endpoints import absent_keys, endpoint_keys
from rookery.papers.experiments import Experiment, Parameters, grid
from rookery.papers.figures import Bars, Formula, Lines, chart
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict, judge

__all__ = ["CLAIMS"]

CLAIMS: dict[str, Experiment] = {}
QUERY = ("A1", "B3", "C6")


def names_of(levels: int, node_size: int) -> list[str]:
    """Return names as in Figure 1: A1, A2 on the first level, B1 … B4 on the second."""
    return [f"{chr(ord('A') + level)}{number + 1}" for level in range(levels) for number in range(node_size << level)]


def tree_levels(parameters: Parameters, seed: int) -> Row:
    """Build a full tree and ask it for Figure 1's set."""
    size, node_size = parameters["namespace_size"], parameters["node_size"]
    stated = math.log2(size / node_size + 1)
    names = names_of(math.ceil(stated), node_size)[:size]
    tree = BloomTree(
        namespace_size=size, node_size=node_size, namespace={name: place for place, name in enumerate(names)}, seed=seed
    )
    tree.add_many(names)
    asked = [name for name in QUERY if name in names]
    return {
        "levels": tree.geometry.levels,
        "nodes": len(tree.created_nodes),
        "stated": stated,
        "asked": len(asked),
        "found": sum(name in tree.query(asked).found for name in asked),
    }


def check_tree_levels(table: Table) -> Judgment:
    """Levels are the stated number rounded up; the example has three levels, and its query finds all three names."""
    example = table.where(namespace_size=14).rows[0]
    rounded = all(row["levels"] == math.ceil(row["stated"]) for row in table)
    holds = rounded and example["levels"] == 3 and table.total("found") == table.total("asked")
    return judge(
        holds,
        f"N = 14, N⊥ = 2: {example['levels']} levels, {example['nodes']} nodes",
        "The tree has log2(N/N⊥ + 1) levels, rounded up where that is no whole number; N = 14 gives 3 levels and 7 "
        "nodes, as Figure 1 shows, and the query {A1, B3, C6} finds all three. Definition 1 lets a level i have 2^i "
        "nodes, which would make two roots; with N⊥ elements in each node it is 2^(i−1).",
    )


CLAIMS["tree-levels"] = Experiment(
    rows=tree_levels,
    full=grid(namespace_size=[2, 6, 14, 30, 62, 126, 254, 510, 1022, 4094, 10, 100, 1000, 4000], node_size=2),
    quick=grid(namespace_size=[2, 6, 14, 30, 62, 10, 100], node_size=2),
    check=check_tree_levels,
    figure=chart(
        "N, names (N⊥ = 2 in a node)",
        "levels of the tree",
        Lines("namespace_size", "levels", "built"),
        Formula("namespace_size", "stated", "log2(N/N⊥ + 1)"),
        x_log=10,
    ),
)


def built_once(parameters: Parameters, seed: int) -> Row:
    """Let elements come and go in one tree; compare it with a tree that is built from what is there at the end."""
    dice, keys = random.Random(seed), endpoint_keys(parameters["keys"], seed=seed)
    used, fresh = (
        BloomTree(namespace_size=4 * len(keys), node_size=16, bit_count=512, hash_count=4, row_capacity=0)
        for _ in range(2)
    )
    held: set[str] = set()
    for _ in range(parameters["changes"]):
        key = dice.choice(keys)
        (used.remove if key in held else used.add)(key)
        held ^= {key}
    members = [key for key in keys if key in held]
    fresh.add_many(members)
    asked = members + absent_keys(parameters["asked"], seed=seed)
    first, again = used.contains_many(asked), used.contains_many(asked)
    nodes = used.created_nodes
    same = nodes == fresh.created_nodes and all(
        np.array_equal(one, other)
        for node in nodes
        for one, other in zip(used.matrix(node).bits(), fresh.matrix(node).bits(), strict=True)
    )
    return {
        "held": len(members),
        "missed": int((~first[: len(members)]).sum()),
        "changed_answers": int((first != again).sum() + (first != fresh.contains_many(asked)).sum()),
        "same_bits": same,
    }


def check_built_once(table: Table) -> Judgment:
    """Nothing missed, no answer changed, the same bits."""
    missed, changed = table.total("missed"), table.total("changed_answers")
    same = sum(row["same_bits"] for row in table)
    return judge(
        not missed + changed and same == len(table),
        f"after {table.least('changes'):,} changes the same bits as a new tree in {same} of {len(table)} runs",
        f"After {table.least('changes'):,} elements have come and gone a tree has bit for bit what a tree has that is "
        f"built from the remaining ones, in {same} of {len(table)} runs; {missed} members were missed and {changed} "
        "answers differed. It is the counters that make this so.",
    )


def _kept(table: Table) -> dict[str, float]:
    runs = len(table)
    return {
        "every member is found": sum(row["missed"] == 0 for row in table) / runs,
        "answers as of a tree built anew": sum(row["changed_answers"] == 0 for row in table) / runs,
        "the same bits in every node": sum(row["same_bits"] for row in table) / runs,
    }


CLAIMS["built-once"] = Experiment(
    rows=built_once,
    full=grid(keys=200, changes=5000, asked=500, runs=10),
    quick=grid(keys=60, changes=400, asked=100, runs=3),
    check=check_built_once,
    figure=chart("share of the runs", "", Bars(_kept, "{:.0%}")),
)


def construction_printed(parameters: Parameters, seed: int) -> Row:
    """Follow the printed loop with every name in use, so that no node's part of the namespace is empty."""
    names, node_size = parameters["names"], parameters["node_size"]
    levels = math.log2(names / node_size + 1)
    queue, made, steps = deque([(levels, 1)]), set(), 0
    while queue and steps < parameters["steps"]:
        row, column = queue.popleft()
        steps += 1
        made.add((row, column))
        if column < math.log2(names):
            queue.append((row, column))
            queue.append((row, column + 1))
    tree = BloomTree(namespace_size=names, node_size=node_size, namespace={str(n): n for n in range(names)}, seed=seed)
    tree.add_many([str(n) for n in range(names)])
    return {
        "ended": not queue,
        "followed": steps,
        "waiting": len(queue),
        "printed_nodes": len(made),
        "nodes": len(tree.created_nodes),
        "stated_nodes": (1 << math.ceil(levels)) - 1,
    }


def check_construction_printed(table: Table) -> Judgment:
    """It must end, with the nodes of a full tree."""
    last = table.where(names=table.most("names"))
    ended = all(table.list("ended"))
    same = all(row["printed_nodes"] == row["stated_nodes"] for row in table)
    repaired = all(row["nodes"] == row["stated_nodes"] for row in table)
    return judge(
        ended and same,
        f"after {last.least('followed'):,} steps {last.least('waiting'):,} wait; {last.least('printed_nodes')} nodes "
        f"of {last.least('stated_nodes'):,}",
        "As printed each node puts itself back into the queue, so the loop does not end: after "
        f"{last.least('followed'):,} steps {last.least('waiting'):,} nodes wait. It also runs along one row, to "
        f"{last.least('printed_nodes')} distinct nodes, where the tree for {table.most('names'):,} names has "
        f"{last.least('stated_nodes'):,}. With the two children enqueued instead, as the text and Figure 1 mean it, "
        f"every tree is {'complete' if repaired else 'not complete'}.",
    )


CLAIMS["construction-printed"] = Experiment(
    rows=construction_printed,
    full=grid(names=[14, 62, 254, 1022], node_size=2, steps=100_000),
    quick=grid(names=[14, 62, 254], node_size=2, steps=20_000),
    check=check_construction_printed,
    figure=chart(
        "N, names in use (N⊥ = 2 in a node)",
        "distinct nodes",
        Lines("names", "printed_nodes", "the printed loop"),
        Lines("names", "nodes", "with children enqueued instead", first=1),
        Formula("names", "stated_nodes", "a full tree"),
        x_log=10,
        y_log=10,
    ),
)

PLACES = ["scattered", "together"]


def used_nodes(parameters: Parameters, seed: int) -> Row:
    """Use some names of a namespace, anywhere or side by side; count the nodes, and again when all are gone."""
    size, node_size, used = parameters["names"], parameters["node_size"], parameters["used"]
    dice = random.Random(seed)
    if parameters["place"] == "scattered":
        ordinals = dice.sample(range(size), used)
    else:
        first = dice.randrange(size - used + 1)
        ordinals = list(range(first, first + used))
    tree = BloomTree(
        namespace_size=size, node_size=node_size, namespace={f"name {place}": place for place in range(size)}
    )
    tree.add_many([f"name {ordinal}" for ordinal in ordinals])
    needed = {node for ordinal in ordinals for node in tree.geometry.path(ordinal // node_size)}
    made = set(tree.created_nodes)
    for ordinal in ordinals:
        tree.remove(f"name {ordinal}")
    return {
        "nodes": len(made),
        "all_nodes": tree.geometry.node_count,
        "missing": len(needed - made),
        "needless": len(made - needed),
        "left": len(tree.created_nodes),
    }


def check_used_nodes(table: Table) -> Judgment:
    """Exactly the nodes above a used name exist, and none when all names are gone."""
    exact = not table.total("missing") + table.total("needless") + table.total("left")
    whole = table.least("all_nodes")
    few = table.where(used=16)
    saved = all(row["nodes"] < whole for row in few)
    shown = " and ".join(f"{part.mean('nodes'):.0f} ({place})" for place, part in few.by("place"))
    return judge(
        exact and saved,
        f"16 of {table.least('names'):,} names in use: {shown} nodes of {whole:,}",
        f"A node exists while a name of its subtree is in use, no longer: with 16 names of {table.least('names'):,} "
        f"the tree has {shown} nodes instead of {whole:,}, and none when they are gone. The saving is against the "
        "whole tree; against one filter each further node is a further filter (see wire-size).",
    )


CLAIMS["used-nodes"] = Experiment(
    rows=used_nodes,
    full=grid(used=[1, 4, 16, 64, 256, 1024, 2046], place=PLACES, names=2046, node_size=2, runs=5),
    quick=grid(used=[1, 16, 256, 510], place=PLACES, names=510, node_size=2, runs=2),
    check=check_used_nodes,
    figure=chart(
        lambda table: f"names in use, of {table.least('names'):,}",
        "nodes of the tree",
        Lines("used", "nodes", by="place"),
        Formula("used", "all_nodes", "the whole tree"),
        x_log=10,
        y_log=10,
    ),
)


def intersection_estimate(parameters: Parameters, seed: int) -> Row:
    """Compare queries with nodes that hold nothing of them, and with nodes that hold one key of them."""
    asked, n, m, k, pairs = (parameters[name] for name in ("asked", "n", "m", "k", "pairs"))
    apart_zero = apart_exact = common_zero = common_below = 0
    for pair in range(pairs):
        held = endpoint_keys(n, seed=seed, owner=f"node{pair}-")
        others = absent_keys(asked, seed=1_000_000 * seed + pair)
        node = _filter(held, m, k)
        apart_zero += _estimate(node, _filter(others, m, k)) == 0
        apart_exact += not any(key in node for key in others)
        estimate = _estimate(node, _filter([held[0], *others[1:]], m, k))
        common_zero += estimate == 0
        common_below += estimate <= 0
    return {
        "pruned_if_zero": apart_zero / pairs,
        "pruned_by_bits": apart_exact / pairs,
        "lost_if_zero": common_zero / pairs,
        "lost_if_not_positive": common_below / pairs,
    }


def _filter(keys: list[str], m: int, k: int) -> BloomFilter:
    made = BloomFilter(bit_count=m, hash_count=k)
    made.add_many(keys)
    return made


def _estimate(one: BloomFilter, other: BloomFilter) -> float:
    first, second, both = (int(np.bitwise_count(bits).sum()) for bits in (one.bits, other.bits, one.bits & other.bits))
    return equations.intersection_estimate(t1=first, t2=second, t_and=both, m=one.bit_count, k=one.hash_count)


def check_intersection_estimate(table: Table) -> Judgment:
    """It should leave out every disjoint node and none that shares a key."""
    ten = table.where(asked=10)
    holds = table.least("pruned_if_zero") > 0.99 and table.most("lost_if_zero") == 0
    return judge(
        holds,
        f"= 0 for {ten.mean('pruned_if_zero'):.1%} of disjoint pairs, and for {ten.mean('lost_if_zero'):.1%} of pairs "
        "with a common key",
        "Equation 6 is 0 only where t∧·m = t1·t2 exactly. For ten keys it is 0 for "
        f"{ten.mean('pruned_if_zero'):.1%} of the disjoint nodes, so it prunes next to nothing, and for "
        f"{ten.mean('lost_if_zero'):.1%} of the nodes that hold a key, which are then lost. Read as “≤ 0” it loses "
        f"{ten.mean('lost_if_not_positive'):.0%} of them. Testing the bits of each key loses none and prunes "
        f"{ten.mean('pruned_by_bits'):.0%}; that is what Rookery does.",
    )


CLAIMS["intersection-estimate"] = Experiment(
    rows=intersection_estimate,
    full=grid(asked=[1, 3, 10, 50], n=16, m=117, k=5, pairs=2000, runs=10),
    quick=grid(asked=[1, 3, 10, 50], n=16, m=117, k=5, pairs=150, runs=2),
    check=check_intersection_estimate,
    figure=(
        chart(
            "keys asked for at once",
            "disjoint nodes that are left out",
            Lines("asked", "pruned_if_zero", "equation 6 = 0"),
            Lines("asked", "pruned_by_bits", "bits of each key", first=2),
            x_log=10,
        ),
        chart(
            "keys asked for at once",
            "nodes with a common key that are left out",
            Lines("asked", "lost_if_zero", "equation 6 = 0"),
            Lines("asked", "lost_if_not_positive", "equation 6 ≤ 0", first=1),
            x_log=10,
        ),
    ),
)


def printed_search(parameters: Parameters, seed: int) -> Row:
    """Ask for members and strangers at once, half and half."""
    asked, endpoints = parameters["asked"], parameters["endpoints"]
    totals = dict.fromkeys(("members", "found_printed", "found_sound", "visited_printed", "visited_sound", "nodes"), 0)
    for number in range(parameters["trees"]):
        keys = endpoint_keys(endpoints, seed=seed, owner=f"tree{number}-")
        tree = BloomTree.sized_for(endpoints, 0.03)
        tree.add_many(keys)
        members = keys[: (asked + 1) // 2]
        query = members + absent_keys(asked - len(members), seed=seed)
        printed, sound = tree.query(query, mode="paper"), tree.query(query, mode="sound")
        totals["members"] += len(members)
        totals["nodes"] += len(tree.created_nodes)
        for name, result in (("printed", printed), ("sound", sound)):
            totals[f"found_{name}"] += len(set(result.found) & set(members))
            totals[f"visited_{name}"] += len(result.visited)
    return totals


def check_printed_search(table: Table) -> Judgment:
    """The printed search must find every member and visit fewer nodes than there are."""
    members = table.total("members")
    missed = members - table.total("found_printed")
    visited = {name: table.total(f"visited_{name}") / table.total("nodes") for name in ("printed", "sound")}
    return Judgment(
        Verdict.CONTRADICTED if missed or visited["printed"] > 0.9 else Verdict.REPRODUCED,
        f"misses {missed:,} of {members:,} members and visits {visited['printed']:.0%} of the nodes",
        f"Algorithm 2 as printed misses {missed:,} of {members:,} members and visits {visited['printed']:.0%} of the "
        f"nodes, because equation 6 is hardly ever 0: it prunes nothing and yet can lose something. The search that "
        f"tests the bits of each key misses {members - table.total('found_sound')} and visits {visited['sound']:.0%}.",
    )


def _searches(table: Table) -> Table:
    return Table(
        [
            {
                "asked": row["asked"],
                "search": name,
                "recall": row[f"found_{name}"] / row["members"],
                "visited": row[f"visited_{name}"] / row["nodes"],
            }
            for row in table
            for name in ("printed", "sound")
        ]
    )


CLAIMS["printed-search"] = Experiment(
    rows=printed_search,
    full=grid(asked=[1, 3, 10, 30], endpoints=200, trees=40, runs=10),
    quick=grid(asked=[1, 10, 30], endpoints=200, trees=4, runs=2),
    check=check_printed_search,
    figure=(
        chart(
            "keys asked for at once",
            "share of the members found",
            Lines("asked", "recall", by="search", of=_searches),
            y_range=(0, 1.05),
        ),
        chart(
            "keys asked for at once",
            "share of the nodes visited",
            Lines("asked", "visited", by="search", of=_searches),
            y_range=(0, 1.05),
        ),
    ),
)


def search_steps(parameters: Parameters, seed: int) -> Row:
    """Search for keys one by one in a tree as it was received, half of them present; count what is compared."""
    layers, node_size, asked = parameters["layers"], parameters["node_size"], parameters["asked"]
    keys = endpoint_keys(((1 << layers) - 1) * node_size, seed=seed)
    places = {key: place for place, key in enumerate(keys)}
    tree = BloomTree(
        namespace_size=len(keys),
        node_size=node_size,
        namespace=places,
        bit_count=512,  # one size for every node, as the paper has it, large enough for the root of the deepest tree
        hash_count=2,
        row_capacity=0,
    )
    tree.add_many(keys)
    received = BloomTree.from_bytes(tree.to_bytes())  # nobody tells it where to look
    members = keys[:: max(1, len(keys) // (asked // 2))][: asked // 2]
    wanted = members + absent_keys(asked // 2, seed=seed)
    compared = sum(_walked(keys, key) for key in wanted)
    answers = {key: received.query([key]) for key in wanted}
    return {
        "levels": received.geometry.levels,
        "entities": len(keys),
        "members": len(members),
        "found": sum(key in answers[key].found for key in members),
        "list_steps": compared / len(wanted),
        "tree_steps": sum(len(answer.visited) for answer in answers.values()) / len(wanted),
    }


def _walked(keys: list[str], wanted: str) -> int:
    for number, key in enumerate(keys, start=1):
        if key == wanted:
            return number
    return len(keys)


def check_search_steps(table: Table) -> Judgment:
    """Every member must be found, in fewer steps from some layer on, and in ever fewer of the list's with each."""
    gain = {layer: part.mean("list_steps") / part.mean("tree_steps") for layer, part in table.by("layers")}
    layers = sorted(gain)
    crossing = next((layer for layer in layers if all(gain[one] > 1 for one in layers if one >= layer)), None)
    lost = table.total("members") - table.total("found")
    deep = [layer for layer in layers if layer >= 3]
    # Where no node is left out the gain is that of testing the records of a node at once, the same at every depth.
    widens = sorted(deep, key=gain.__getitem__) == deep and gain[deep[-1]] > 2 * gain[deep[0]]
    right = all(row["levels"] == row["layers"] for row in table)
    last = table.where(layers=layers[-1])
    return judge(
        bool(crossing) and widens and right and not lost,
        f"{layers[-1]} layers: {last.mean('list_steps'):,.0f} records of the list against "
        f"{last.mean('tree_steps'):,.1f} filters of the tree",
        f"Counted in steps the tree needs fewer than the list from layer {crossing} on, and finds all but {lost} of "
        f"{table.total('members')} members. The gain grows with every layer, from {gain[deep[0]]:.1f} times at "
        f"{deep[0]} to {gain[layers[-1]]:.0f} times at {layers[-1]} layers. A step is not a time: testing a filter "
        "costs more than comparing a record, and the tree must be built and sent first (see delay-layers). One filter "
        "needs a single step.",
    )


CLAIMS["search-steps"] = Experiment(
    rows=search_steps,
    full=grid(layers=[1, 2, 3, 4, 5, 6, 7, 8, 9], node_size=5, asked=20, runs=10),
    quick=grid(layers=[1, 2, 3, 4, 5, 6, 7], node_size=5, asked=20, runs=2),
    check=check_search_steps,
    figure=chart(
        "layers of the hierarchy (5 entities in a node)",
        "records compared, or filters tested",
        Lines("layers", "list_steps", "SDP: records of the list"),
        Lines("layers", "tree_steps", "HBF_ADA: filters of the tree", first=1),
        y_log=10,
    ),
)
