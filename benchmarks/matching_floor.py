"""The floor under a bitmap match: how fast one core reads memory, and how much the kernel has to read.

A flat index of lines must be read once per event, so bytes per event ÷ read bandwidth is a time no kernel goes below.
`read_bandwidth` measures one core with the plainest loop; `walk` follows the index as the kernel does and counts what
it reads; `split` times the parts of a batch match around the kernel.
"""

from __future__ import annotations

import time
from typing import Any

import numba
import numpy as np

from rookery.matching.bitmap.kernels import BLOCK_ROWS, BUCKETS, WORDS, bucket_of, hash_key, place_of_key

__all__ = ["read_bandwidth", "split", "walk"]

Array = np.ndarray[Any, Any]

#: Bytes read repeatedly to measure each level; well inside the second-level cache, the third, and far outside both.
LEVELS = {"L2": 384 << 10, "L3": 8 << 20, "DRAM": 512 << 20}


@numba.njit(nogil=True, cache=True)
def _total(words: Any, repeats: int) -> Any:
    total = np.uint64(0)
    for repeat in range(repeats):
        for place in range(words.shape[0]):
            total += words[place] ^ np.uint64(repeat)  # the repeats differ, so that none is left out
    return total


def read_bandwidth() -> dict[str, float]:
    """Return the GB/s that one core reads from each level: the best of five sums of an array of uint64."""
    found = {}
    for level, size in LEVELS.items():
        words = np.ones(size // 8, np.uint64)
        repeats = max(1, (512 << 20) // size)
        _total(words, 1)
        best = float("inf")
        for _ in range(5):
            began = time.process_time()
            _total(words, repeats)
            best = min(best, time.process_time() - began)
        found[level] = size * repeats / best / 1e9
    return found


@numba.njit(nogil=True, cache=True)
def _walk(
    codes: Any, cuts: Any, signature_first: Any, signature_numbers: Any, key_low: Any, key_span: Any, table_first: Any,
    table: Any, seed: int, partition_key: Any, partition_first: Any, blocked_rows: int, partition_group: Any,
    block_first: Any, block_numbers: Any, lines: Any, group_partition: Any, group_block: Any, group_first: Any,
    group_numbers: Any, group_lines: Any,
) -> Any:  # fmt: skip
    """Return blocks visited, lines read, summary lines read, rows checked exactly."""
    counts = np.zeros(4, np.int64)
    line = np.empty(WORDS, np.uint64)
    summary = np.empty(WORDS, np.uint64)
    full = np.uint64(0xFFFFFFFFFFFFFFFF)
    one = np.uint64(1)
    for event in range(codes.shape[0]):
        for signature in range(signature_first.shape[0] - 1):
            first, last = signature_first[signature], signature_first[signature + 1]
            base, mask = table_first[signature], np.uint64(table_first[signature + 1] - table_first[signature] - 1)
            own = first < last and key_span[first] > 0
            place_of = place_of_key(codes, event, signature_numbers, first, last, key_low, key_span) if own else 0
            if place_of < 0:
                continue
            place = hash_key(signature, codes, event, signature_numbers, first, last, seed) & mask
            if own:
                place = np.uint64(place_of)
            while True:
                partition = table[base + np.int64(place)]
                if partition < 0 or own:
                    break
                same = True
                for key in range(last - first):
                    same &= partition_key[partition, key] == codes[event, signature_numbers[first + key]]
                if same:
                    break
                place = (place + one) & mask
            if partition < 0:
                continue
            first_row, last_row = partition_first[partition], partition_first[partition + 1]
            if first_row >= blocked_rows:
                counts[3] += last_row - first_row
                continue
            group = np.int64(partition_group[partition])
            begin = first_row // BLOCK_ROWS
            for block in range(begin, (last_row + BLOCK_ROWS - 1) // BLOCK_ROWS):
                if group >= 0:
                    if block == begin or block >= group_block[group, 1]:
                        group += block != begin
                        summary[:] = np.uint64(0)
                        for at in range(group_first[group], group_first[group + 1]):
                            number = group_numbers[at]
                            bucket = bucket_of(cuts, number, codes[event, number])
                            for word in range(WORDS):
                                summary[word] |= group_lines[(at * BUCKETS + bucket) * WORDS + word]
                            counts[2] += 1
                    position = block - group_block[group, 0]
                    if (summary[position >> 6] >> np.uint64(position & 63)) & one:
                        continue
                counts[0] += 1
                for word in range(WORDS):
                    line[word] = np.uint64(0)
                    for bit in range(64):
                        row = block * BLOCK_ROWS + 64 * word + bit
                        if row < first_row or row >= last_row:
                            line[word] |= one << np.uint64(bit)
                for at in range(block_first[block], block_first[block + 1]):
                    number = block_numbers[at]
                    bucket = bucket_of(cuts, number, codes[event, number])
                    for word in range(WORDS):
                        line[word] |= lines[(at * BUCKETS + bucket) * WORDS + word]
                    counts[1] += 1
                    if (
                        at - block_first[block]
                    ) % 4 == 3:  # the kernel looks at every fourth line whether any row is left
                        left = False
                        for word in range(WORDS):
                            left |= line[word] != full
                        if not left:
                            break
                for word in range(WORDS):
                    alive = ~line[word]
                    while alive:
                        alive &= alive - one
                        counts[3] += 1
    return counts


def walk(compiled: Any, events: Any) -> dict[str, float]:
    """Return what the kernel reads per event, on average: blocks, lines, rows checked, bytes of lines."""
    index = compiled._view.engine.index
    codes = compiled._view.space.encode(events, {}, missing="error")
    blocks, lines, summaries, rows = _walk(
        codes, index.cuts, index.signature_first, index.signature_numbers, index.key_low, index.key_span,
        index.table_first, index.table, index.seed,
        index.partition_key, index.partition_first, index.blocked_rows, index.partition_group, index.block_first,
        index.block_numbers, index.lines, index.group_partition, index.group_block, index.group_first,
        index.group_numbers, index.group_lines,
    )  # fmt: skip
    count = len(codes)
    return {
        "blocks": blocks / count,
        "lines": lines / count,
        "summary_lines": summaries / count,
        "rows_checked": rows / count,
        "line_bytes": (lines + summaries) * WORDS * 8 / count,
        "index_bytes": index.nbytes,
    }


def split(compiled: Any, events: Any, *, passes: int = 3) -> dict[str, float]:
    """Return the µs per event of each part of a batch: columns to codes, the kernel, pairs in order, names."""
    view = compiled._view
    best = dict.fromkeys(("encode", "kernel", "order", "names"), float("inf"))
    for _ in range(passes):
        marks = [time.process_time()]
        codes = view.space.encode(events, {}, missing="error")
        marks.append(time.process_time())
        view.engine.probe(codes, view.alive)
        marks.append(time.process_time())
        compiled.match_indices(events)
        marks.append(time.process_time())
        compiled.match_many(events, event_id="id")
        marks.append(time.process_time())
        encode, kernel, indices, whole = np.diff(marks)
        for name, took in (
            ("encode", encode),
            ("kernel", kernel),
            ("order", indices - encode - kernel),
            ("names", whole - indices),
        ):
            best[name] = min(best[name], max(0.0, took))
    return {name: took / events.num_rows * 1e6 for name, took in best.items()}
