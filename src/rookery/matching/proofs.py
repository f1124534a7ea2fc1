"""What is proved of a compiled set with `verify=True`: it answers exactly as its own rows and records say.

An index could be safe to follow and still lose a match: a line that excludes a row which its bounds accept, a key in
the wrong place of its hash table, a summary that leaves a block out, a set of intervals out of order. None of that can
be seen in an answer. So each structure that makes matching fast is compared with the rows it was made from, once, in
time linear in the set. With `verify="texts"` the rows themselves are compared with what the texts say: every text is
parsed and lowered again, which takes as long as compiling them did.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rookery.matching.bitmap.build import BitmapIndex
from rookery.matching.bitmap.build_kernels import fill_groups
from rookery.matching.bitmap.check_kernels import first_false_block, first_lost_partition
from rookery.matching.bitmap.engine import index_rows
from rookery.matching.bitmap.kernels import BLOCK_ROWS
from rookery.matching.bitmap.lists import list_table
from rookery.matching.bitmap.positions import coded_rows
from rookery.matching.checks import require
from rookery.matching.codes import HIGHEST_CODE, LOWEST_CODE, TIME, TOPIC, CodeSpace
from rookery.matching.kernels import ATTRIBUTE_MASK, NULL_CODE, SET_FLAG
from rookery.matching.programs import Programs
from rookery.matching.rows import Rows
from rookery.matching.staging import Stage, lower_record
from rookery.matching.view import View
from rookery.model.shapes import Shapes

__all__ = ["prove_index", "prove_records", "prove_texts"]

Array = np.ndarray[Any, Any]


def prove_index(index: BitmapIndex, space: CodeSpace) -> None:
    """Raise CompiledSetError unless the checked index finds exactly the rows that hold for an event."""
    i = index
    rows = index.stored()
    _prove_sets(rows)
    again = coded_rows(rows, index.grid())
    same = np.array_equal(again.bounds, i.bounds) and np.array_equal(again.pool, i.pool)
    require(same, "a bound is no point of its grid")
    lost = first_lost_partition(
        i.signature_first,
        i.key_low,
        i.key_span,
        i.table_first,
        i.table,
        i.seed,
        i.partition_key,
        i.partition_signature(),
    )
    require(lost < 0, f"the key of partition {lost} does not lead to it")
    false = first_false_block(
        i.blocked_rows,
        i.block_first,
        i.block_numbers,
        rows.start,
        rows.attribute,
        rows.bounds,
        rows.pool,
        i.cuts,
        i.lines,
    )
    require(false < 0, f"the lines of block {false} are not those of its rows")
    _prove_groups(index)
    table = list_table(i.list_numbers, i.list_keys, i.list_code)
    require(np.array_equal(table, i.list_table), "a value of a list does not lead to its rows")
    for number in space.labels:
        _prove_strings(index, rows, space, number)


def _prove_sets(index: Rows) -> None:
    """Sets of intervals ascend without touching, NULL stands alone, and no two predicates share one."""
    ranges = index.bounds[(index.attribute & SET_FLAG) != 0]
    pool = index.pool
    begins, ends = (np.bincount(ranges[:, side], minlength=len(pool) + 1) for side in (0, 1))
    used = np.cumsum(begins - ends)
    require(used.max() <= 1, "two sets of intervals overlap")
    held = used[:-1] > 0
    require(bool((pool[held, 0] <= pool[held, 1]).all()), "an interval ends before it begins")
    null = held & (pool[:, 0] == NULL_CODE)
    require(bool((pool[null, 1] == NULL_CODE).all()), "an interval holds NULL and values")
    inner = held[1:].copy()
    inner[ranges[ranges[:, 0] > 0, 0] - 1] = False  # a set's first interval follows none
    require(bool((pool[1:, 0] > pool[:-1, 1])[inner].all()), "the intervals of a set are out of order")


def _prove_groups(index: BitmapIndex) -> None:
    """The summaries of a partition cover its blocks in order, and say of each what its lines say."""
    group = 0
    for partition in np.flatnonzero(index.partition_group >= 0).tolist():
        first, last = (int(row) for row in index.partition_first[partition : partition + 2])
        block, final = first // BLOCK_ROWS, (last + BLOCK_ROWS - 1) // BLOCK_ROWS
        require(last <= index.blocked_rows, f"partition {partition} has a summary and no lines")
        require(index.partition_group[partition] == group, f"partition {partition} has another's summary")
        while block < final:
            mine = group < len(index.group_block) and index.group_partition[group] == partition
            require(mine and index.group_block[group, 0] == block, f"the summary of partition {partition} has a hole")
            block = int(index.group_block[group, 1])
            group += 1
        require(block == final, f"the summary of partition {partition} goes too far")
    require(group == len(index.group_block), "a summary belongs to no partition")
    wanted = np.zeros_like(index.group_lines)
    if group:
        fill_groups(
            index.group_block, index.group_first, index.group_numbers, index.block_first, index.block_numbers,
            index.lines, index.blocked_rows, wanted,
        )  # fmt: skip
    require(np.array_equal(wanted, index.group_lines), "a summary is not that of its blocks")


def _codes_of(index: BitmapIndex, rows: Rows, number: int) -> Array:
    """Return all intervals that rows test one attribute for, keys included."""
    flagged = rows.bounds[rows.attribute == (number | SET_FLAG)]
    sizes = flagged[:, 1] - flagged[:, 0]
    places = np.repeat(flagged[:, 1] - np.cumsum(sizes), sizes) + np.arange(sizes.sum())
    found = [rows.bounds[rows.attribute == number], rows.pool[places]]
    owners = index.partition_signature()
    for signature in range(len(index.signature_first) - 1):
        first, last = index.signature_first[signature : signature + 2]
        for place in np.flatnonzero(index.signature_numbers[first:last] == number):
            keys = index.partition_key[owners == signature, place]
            found.append(np.stack([keys, keys], axis=1))
    for place in np.flatnonzero(index.list_numbers == number):
        values = index.list_code[index.list_keys[place] : index.list_keys[place + 1]]
        found.append(np.stack([values, values], axis=1))
    return np.concatenate(found)


def _prove_strings(index: BitmapIndex, rows: Rows, space: CodeSpace, number: int) -> None:
    """The bounds of a string attribute are its labels or beside them, and ranges are marked as such."""
    labels = space.labels[number]
    text = space.attributes[number].text
    codes = _codes_of(index, rows, number)
    values = np.array(labels.values, np.int64)
    # A range begins at a text or just after one, and ends at a text or just before one: so it stays what it is when
    # new texts are given labels in the gaps.
    for side, beside, end in ((0, 1, LOWEST_CODE), (1, -1, HIGHEST_CODE)):
        fits = _among(codes[:, side], np.concatenate([values, values + beside, np.array([NULL_CODE, end], np.int64)]))
        require(fits, f"a bound of {text} is no text's")
    if not labels.ordered:
        codes = codes[(codes[:, 0] != LOWEST_CODE) | (codes[:, 1] != HIGHEST_CODE)]  # all texts: that needs no order
        fits = _among(codes[:, 0], np.append(values, NULL_CODE)) and bool((codes[:, 0] == codes[:, 1]).all())
        require(fits, f"{text} is ordered, and not said to be")


def _among(codes: Array, allowed: Array) -> bool:
    """Say whether all codes are among those allowed."""
    allowed = np.sort(allowed)
    return bool((allowed[np.searchsorted(allowed, codes).clip(max=len(allowed) - 1)] == codes).all())


def prove_records(index: BitmapIndex, space: CodeSpace, table: pa.Table) -> None:
    """Raise CompiledSetError unless no record stands twice, and every row has the topic of its record."""
    names = table.schema.names
    keys = [name for name in ("subscription_id", "version") if name in names]
    distinct = table.select(keys).group_by(keys, use_threads=False).aggregate([]).num_rows
    require(distinct == table.num_rows, "a version of a subscription stands twice")
    wanted = np.full(table.num_rows, HIGHEST_CODE, np.int64)  # no topic
    number = space.known(TOPIC.path)
    if "topic" in names:
        column = table["topic"].combine_chunks()
        wanted[column.is_valid().to_numpy(zero_copy_only=False)] = LOWEST_CODE  # one that no row can have
        if number is not None:
            labels = space.labels[number]
            place = pc.index_in(column, value_set=pa.array(labels.texts, pa.string()))
            known = place.is_valid().to_numpy(zero_copy_only=False)
            wanted[known] = np.array(labels.values, np.int64)[place.drop_null().to_numpy()]
    found = _topics_of(index, number)
    require(np.array_equal(found, wanted[index.slot]), "a row has another topic than its record")


def _topics_of(index: BitmapIndex, number: int | None) -> Array:
    """Return the code of the topic that each row tests, the highest code where it tests none."""
    found = np.full(len(index.slot), HIGHEST_CODE, np.int64)
    if number is None:
        return found
    several = (index.attribute == (number | SET_FLAG)).any() or (index.list_numbers == number).any()
    require(not several, "a row has several topics")
    rows = index.stored()
    places = np.flatnonzero(rows.attribute == number)
    require(bool((rows.bounds[places, 0] == rows.bounds[places, 1]).all()), "a row has several topics")
    found[rows.owners(places)] = rows.bounds[places, 0]
    owners = index.partition_signature()
    sizes = np.diff(index.partition_first)
    for signature in range(len(index.signature_first) - 1):
        first, last = index.signature_first[signature : signature + 2]
        for place in np.flatnonzero(index.signature_numbers[first:last] == number):
            mine = owners == signature
            found[: index.listed_from][np.repeat(mine, sizes)] = np.repeat(
                index.partition_key[mine, place], sizes[mine]
            )
    return found


def prove_texts(view: View, index: BitmapIndex) -> None:
    """Raise CompiledSetError unless the rows are what the texts of the records say.

    Boxes have no text. The times at which a version decides are left aside: they follow from the other versions of its
    subscription, which a part of a set need not hold.
    """
    shapes = Shapes(view.space.schema)
    stage = Stage(view.space)
    boxes = set()
    for slot in range(len(view.records)):
        record = view.records[slot]
        if record.where is None:
            boxes.add(slot)
        else:
            stage.add([(record, lower_record(record, shapes), None)], [slot])
    # One that is verified without need (its dates begin with time itself) costs time, never a match.
    verified = set(view.inexact_slots())
    require(stage.inexact <= verified, "a subscription that its rows do not hold exactly is not verified")
    number = view.space.known(TIME.path)
    rows, programs = index_rows(index), view.programs
    for moves in stage.moves:  # a condition that nothing satisfies has no rows, and its texts need no label in the set
        rows, programs = rows.relabeled(moves), programs.relabeled(moves)
    said, held = _tests(stage.take_rows(), number), _tests(rows, number)
    dated = view.dated > 0 or "version" in view.records.slim_table().schema.names
    for slot in range(len(view.records)):
        mine = held.get(slot, set())
        same = slot in boxes or mine == said.get(slot, set()) or (dated and not mine)  # a version that never decides
        require(same, f"the rows of {view.records[slot].subscription_id!r} are not those of its text")
    versions = Counter(view.records[slot].subscription_id for slot in range(len(view.records))) if dated else {}
    given, wanted = _steps(programs), _steps(stage.programs)
    for slot in given.keys() | wanted.keys():
        record = view.records[slot]
        if record.dated or versions.get(record.subscription_id, 1) > 1:
            continue  # a program holds the times at which its version decides
        if slot in verified:
            continue  # its condition is asked itself
        require(given.get(slot) == wanted.get(slot), f"the program of {record.subscription_id!r} is not its text's")


def _steps(programs: Programs) -> dict[int, Any]:
    """Return programs as plain data, by slot: the steps in order, with where they go."""
    rows, jumps = programs.whole()
    numbers, bounds, pool, goes = (one.tolist() for one in (rows.attribute, rows.bounds, rows.pool, jumps))
    found = {}
    for slot, first, last in zip(rows.slot.tolist(), rows.start[:-1].tolist(), rows.start[1:].tolist(), strict=True):
        steps = [
            (numbers[at], pool[slice(*bounds[at])] if numbers[at] & SET_FLAG else bounds[at], goes[at])
            for at in range(first, last)
        ]
        found[slot] = steps
    return found


def _tests(rows: Rows, ignored: int | None) -> dict[int, set[frozenset[Any]]]:
    """Return what the rows of each slot test, as plain data without order."""
    found: dict[int, set[frozenset[Any]]] = {}
    numbers, bounds, pool = rows.attribute.tolist(), rows.bounds.tolist(), rows.pool.tolist()
    start = rows.start.tolist()
    for row, slot in enumerate(rows.slot.tolist()):
        tests = []
        for place in range(start[row], start[row + 1]):
            number, (low, high) = numbers[place], bounds[place]
            if number & ATTRIBUTE_MASK != ignored:
                pieces = pool[low:high] if number & SET_FLAG else [(low, high)]
                tests.append((number & ATTRIBUTE_MASK, tuple((one, other) for one, other in pieces)))
        found.setdefault(slot, set()).add(frozenset(tests))
    return found
