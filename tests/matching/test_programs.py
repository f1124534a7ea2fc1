"""Programs: what AND, OR and NOT come to, in the kernel, in its twin, and as the tree reads."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from tests.twins import rows as twins

from rookery.matching.kernels import NULL_CODE
from rookery.matching.program_kernels import decide_pairs
from rookery.matching.programs import Programs, ProgramsBuilder
from rookery.matching.texts.index import Truths

TEXT = 3
#: A set that tests texts alone has no other attribute: what always holds is then a range of `$text`.
ALWAYS = (TEXT, [(NULL_CODE, (1 << 63) - 1)])


def random_tree(random: Random, depth: int) -> Any:
    shape = random.random()
    if depth == 0 or shape < 0.2:
        number = random.randrange(TEXT + 1)
        low = random.randint(0, 6)
        if number == TEXT:
            return number, [(low, low)]
        return number, [(low, low + 1), (low + 3, low + 4)] if shape < 0.1 else [(low, low + 2)]
    if shape < 0.35:
        return "not", (random_tree(random, depth - 1),)
    return random.choice(["and", "or"]), [random_tree(random, depth - 1) for _ in range(random.randrange(4))]


def holds(tree: Any, codes: list[int], truths: set[int]) -> bool:
    kind, parts = tree
    if kind == "not":
        return not holds(parts[0], codes, truths)
    if kind in ("and", "or"):
        return (all if kind == "and" else any)(holds(part, codes, truths) for part in parts)
    return parts[0][0] in truths if kind == TEXT else any(low <= codes[kind] <= high for low, high in parts)


def test_a_program_decides_as_its_tree_reads() -> None:
    random = Random(5)
    for _ in range(40):
        trees = [random_tree(random, 4) for _ in range(12)]
        programs = Programs()
        for slot, tree in enumerate(trees):  # one at a time, so that parts of every size come to be
            builder = ProgramsBuilder()
            builder.add(2 * slot, tree, ALWAYS)
            programs = programs.extended(builder.build())
        codes = np.array([[random.randint(0, 9) for _ in range(TEXT)] + [99] for _ in range(6)], np.int64)
        said = [sorted(random.sample(range(8), random.randint(0, 4))) for _ in range(6)]
        first = np.cumsum([0, *map(len, said)], dtype=np.int64)
        truths = Truths(first, np.array([label for one in said for label in one], np.int64))
        events, slots = (part.ravel() for part in np.meshgrid(np.arange(6), np.arange(12)))
        wanted = [
            holds(trees[slot], codes[event].tolist(), set(said[event]))
            for event, slot in zip(events.tolist(), slots.tolist(), strict=True)
        ]
        assert programs.decide(events, 2 * slots, codes, TEXT, truths).tolist() == wanted
        rows, jumps = programs.whole()
        given = (events, slots, codes, TEXT, first, truths.labels, rows.start, rows.attribute, rows.bounds, rows.pool)
        assert decide_pairs(*given, jumps).tolist() == twins.decide_pairs(*given, jumps).tolist() == wanted
        kept = np.full(24, -1, np.int64)
        kept[[2, 8, 20]] = [1, 0, 2]
        some = programs.kept(kept)
        chosen = np.isin(2 * slots, [2, 8, 20])
        assert (
            some.decide(events[chosen], kept[2 * slots[chosen]], codes, TEXT, truths).tolist()
            == np.array(wanted)[chosen].tolist()
        )
        assert len(programs.parts) < 5
