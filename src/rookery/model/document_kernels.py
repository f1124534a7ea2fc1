"""Kernels that find the wanted values of documents in their JSON. Plain twin: `documents.py` over `msgspec`.

A document is read in one pass over its bytes, with a stack of the objects and arrays that are open. A key is looked up
in the table of `document_paths.py`; a value at a wanted path becomes an entry: its row, its slot, its kind and where it
stands. Nothing is copied and nothing is decoded.

What is not plain is not decided here: a document that is no JSON, or JSON whose meaning needs more (a key that stands
twice or is escaped, a path that is reached in two ways, a surrogate, arrays in arrays that are chosen from, a number
past any double) is marked, and the twin reads it, or says what is wrong with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.kernels import kernel
from rookery.model.json_kernels import (
    ESCAPED,
    NESTED,
    NULL,
    TEXT,
    blank_end,
    number_end,
    string_end,
    word_end,
)

__all__ = ["key_hash", "read_documents"]

#: Levels of one document, arrays that are chosen from (two groups each), items of one, rows, keys of an object that are
#: kept apart, bytes, of the documents that are read here.
_DEPTH, _GROUPS, _ITEMS, _ROWS, _KEYS, _BYTES = 32, 16, 64, 1024, 256, 1 << 20
_KEY_OR_END, _KEY, _VALUE_OR_END, _VALUE, _AFTER = 0, 1, 2, 3, 4
_QUOTE, _BACKSLASH, _COMMA, _COLON = 34, 92, 44, 58
_OPEN, _CLOSE, _OPEN_ARRAY, _CLOSE_ARRAY = 123, 125, 91, 93
_PRIME = 0x01000193


@kernel
def key_hash(state: Any, key: Any) -> Any:
    """Return the hash of a key in an object of this state."""
    found = np.uint32(np.uint32(state + 2) * np.uint32(0x9E3779B1))
    for byte in key:
        found = np.uint32(np.uint32(found ^ np.uint32(byte)) * np.uint32(_PRIME))
    return found


@kernel
def _find(data: Any, first: Any, last: Any, state: Any, spread: Any, index: Any, cells: Any, keys: Any) -> Any:
    """Return the cell of a key in a state, -1 where there is none."""
    mask = np.uint32(index.shape[0] - 1)
    place = spread & mask
    while index[place] >= 0:
        cell = index[place]
        if cells[cell, 0] == state and cells[cell, 2] == last - first:
            at = 0
            while at < last - first and data[first + at] == keys[cells[cell, 1] + at]:
                at += 1
            if at == last - first:
                return cell
        place = (place + np.uint32(1)) & mask
    return -1


@kernel
def _same_item(data: Any, entries: Any, one: Any, other: Any) -> Any:
    """Say whether two items, of which is given where their entries begin and end, have the same in the same order."""
    if one[1] - one[0] != other[1] - other[0]:
        return False
    for place in range(one[1] - one[0]):
        left, right = entries[one[0] + place], entries[other[0] + place]
        length = left[4] - left[3]
        if left[1] != right[1] or left[2] != right[2] or right[4] - right[3] != length:
            return False
        for at in range(length):
            if data[left[3] + at] != data[right[3] + at]:
                return False
    return True


@kernel
def _add(entries: Any, count: Any, doc: Any, slot: Any, kind: Any, first: Any, last: Any, group: Any, item: Any) -> Any:
    """Append an entry; there is room, since `_document` sees to it."""
    entries[count, 0], entries[count, 1], entries[count, 2] = doc, slot, kind
    entries[count, 3], entries[count, 4] = first, last
    entries[count, 5], entries[count, 6] = group, item


@kernel
def _claim(seen: Any, slot: Any, scope: Any, group: Any, item: Any) -> Any:
    """Note a value of a slot; False where this document has one already that is not another item of this array's."""
    if seen[slot, 0] == scope and (seen[slot, 1] != group or seen[slot, 2] == item):
        return False
    seen[slot, 0], seen[slot, 1], seen[slot, 2] = scope, group, item
    return True


@kernel
def _document(
    data: Any, at: Any, stop: Any, row: Any, entries: Any, count: Any, table: Any, work: Any, scopes: Any
) -> Any:
    """Read one document; return how many entries there are then, or -1 where the twin must read it.

    `table`: the index of the cells, the cells, their keys, the state that every key of a state leads to, and the slot
    of all values. `work`: the stack, what was seen of cells and slots, the sizes of groups, where their items begin and
    end, and the keys of the objects that are open.
    """
    index, cells, keys, others, keywords = table
    stack, cell_seen, slot_seen, sizes, items, names = work
    scopes[0] += 1
    scope = own = scopes[0]
    at = blank_end(data, at, stop)
    if at >= stop or data[at] != _OPEN:
        return -1
    groups, group, item = 0, 0, 0
    depth, phase, cell, key_first = 0, _KEY_OR_END, -1, 0
    # of each level: is it an array; its state (an array: its cell); are plain values wanted; is an array chosen from
    # (its group), an object an item; the entries that wait for its end; its keys
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], stack[0, 4], stack[0, 5] = 0, 0, 1, 0, 0, 0
    stack[0, 6] = 0
    at += 1
    known = 0
    while True:
        at = blank_end(data, at, stop)
        if at >= stop or count + 4 > entries.shape[0]:
            return -1
        byte = data[at]
        array = stack[depth, 0] == 1
        if phase == _AFTER and byte == _COMMA:
            phase = _VALUE if array else _KEY
            at += 1
            continue
        if (byte == _CLOSE_ARRAY and array and phase in (_AFTER, _VALUE_OR_END)) or (
            byte == _CLOSE and not array and phase in (_AFTER, _KEY_OR_END)
        ):
            at += 1
            for place in range(stack[depth, 4], stack[depth, 5]):
                entries[place, 4] = at
            if not array:
                known = stack[depth, 6]
                if stack[depth, 3]:  # an item of an array that is chosen from
                    begin = items[group, item, 0]
                    items[group, item, 1] = count
                    sizes[group] += 1
                    for other in range(item):
                        if _same_item(data, entries, items[group, other], items[group, item]):
                            sizes[group] -= 1
                            count = begin
                            break
                    group, item, scope = 0, 0, own
            depth -= 1
            if depth < 0:
                break
            phase = _AFTER
            continue
        if phase == _AFTER:
            return -1
        if phase in (_KEY, _KEY_OR_END):
            if byte != _QUOTE:
                return -1
            state = stack[depth, 1]
            key_first = at + 1
            spread = np.uint32(np.uint32(state + 2) * np.uint32(0x9E3779B1))
            at += 1
            while at < stop and data[at] != _QUOTE:
                byte = data[at]
                if byte < 32 or byte == _BACKSLASH:
                    return -1
                spread = np.uint32(np.uint32(spread ^ np.uint32(byte)) * np.uint32(_PRIME))
                at += 1
            if at >= stop:
                return -1
            cell = _find(data, key_first, at, state, spread, index, cells, keys) if state >= 0 else -1
            if cell >= 0:
                if cell_seen[cell] == scope:
                    return -1
                cell_seen[cell] = scope
            if keywords >= 0 and stack[depth, 2]:  # all values are wanted, so a key that stands twice matters anywhere
                if known == _KEYS:
                    return -1
                for place in range(stack[depth, 6], known):
                    if names[place] == spread:
                        return -1
                names[known] = spread
                known += 1
            at = blank_end(data, at + 1, stop)
            if at >= stop or data[at] != _COLON:
                return -1
            at += 1
            phase = _VALUE
            continue
        # a value: of the cell of its key, or in an array of the array's
        plain = stack[depth, 2] == 1 and not array
        chosen = 0
        if array:
            cell, chosen = stack[depth, 1], stack[depth, 3]
        if byte == _OPEN:
            state = -1
            waiting = count
            is_item = 0
            if array:
                if chosen and cells[cell, 8]:
                    group, state, is_item = chosen, cells[cell, 6], 1
                    item = sizes[group]
                    if item >= _ITEMS:
                        return -1
                    items[group, item, 0] = count
                    scopes[0] += 1
                    scope = scopes[0]
            else:
                state = cells[cell, 6] if cell >= 0 else -1
                if state < 0 and stack[depth, 1] >= 0:
                    state = others[stack[depth, 1]]
                    if state >= 0:
                        if cell_seen[cells.shape[0] + state] == scope:
                            return -1
                        cell_seen[cells.shape[0] + state] = scope
                if plain and cell >= 0:
                    for which in range(3, 5):
                        slot = cells[cell, which]
                        if slot >= 0 and (which == 3 or cells[cell, 5]):
                            if not _claim(slot_seen, slot, own, 0, 0):
                                return -1
                            _add(entries, count, row, slot, NESTED, at, 0, 0, 0)
                            count += 1
            depth += 1
            if depth >= _DEPTH:
                return -1
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = 0, state, 1 if plain else 0
            stack[depth, 3], stack[depth, 4], stack[depth, 5], stack[depth, 6] = is_item, waiting, count, known
            phase = _KEY_OR_END
            at += 1
            continue
        if byte == _OPEN_ARRAY:
            waiting = count
            choose = 0
            if array:
                if chosen:
                    return -1
            else:
                if plain:
                    for which in range(3, 6):
                        slot = keywords if which == 5 else cells[cell, which] if cell >= 0 else -1
                        if slot >= 0:
                            if which < 5 and not _claim(slot_seen, slot, own, 0, 0):
                                return -1
                            _add(entries, count, row, slot, NESTED, at, 0, 0, 0)
                            count += 1
                if cell >= 0 and (cells[cell, 7] >= 0 or cells[cell, 8]):
                    if group or groups + 2 >= _GROUPS:
                        return -1
                    choose = groups + 1
                    groups += 2
                    sizes[choose] = sizes[choose + 1] = 0
            depth += 1
            if depth >= _DEPTH:
                return -1
            stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = 1, cell, 0, choose
            stack[depth, 4], stack[depth, 5] = waiting, count
            phase = _VALUE_OR_END
            at += 1
            continue
        first = at
        if byte == _QUOTE:
            first = at + 1
            last, escaped = string_end(data, first, stop)
            if last < 0:
                return -1
            kind = ESCAPED if escaped else TEXT
            at = last + 1
        else:
            last, kind = number_end(data, at, stop) if byte == 45 or 48 <= byte <= 57 else word_end(data, at, stop)
            if last < 0:
                return -1
            at = last
        phase = _AFTER
        if array:
            if chosen and cells[cell, 7] >= 0:
                own_group = chosen + 1
                place = sizes[own_group]
                scopes[0] += 1
                if place >= _ITEMS or not _claim(slot_seen, cells[cell, 7], own, own_group, scopes[0]):
                    return -1
                _add(entries, count, row, cells[cell, 7], kind, first, last, own_group, place)
                items[own_group, place, 0], items[own_group, place, 1] = count, count + 1
                new = True
                for other in range(place):
                    if _same_item(data, entries, items[own_group, other], items[own_group, place]):
                        new = False
                        break
                if new:
                    count += 1
                    sizes[own_group] += 1
            continue
        if plain and kind != NULL:
            for which in range(3, 6):
                slot = keywords if which == 5 else cells[cell, which] if cell >= 0 else -1
                if slot >= 0:
                    if which < 5 and not _claim(slot_seen, slot, own, 0, 0):
                        return -1
                    _add(entries, count, row, slot, kind, first, last, 0, 0)
                    count += 1
        if cell >= 0 and cells[cell, 7] >= 0:
            if not _claim(slot_seen, cells[cell, 7], own, group, scope):
                return -1
            _add(entries, count, row, cells[cell, 7], kind, first, last, group, item)
            count += 1
    if blank_end(data, at, stop) < stop:
        return -1
    sizes[0] = groups
    return count


@kernel
def _chosen(entries: Any, begin: Any, count: Any, row: Any, sizes: Any) -> Any:
    """Return the entries with those of a document repeated for each choice of items, their number, and the rows."""
    rows = 1
    for group in range(1, sizes[0] + 1):
        rows *= max(1, sizes[group])
        if rows > _ROWS:
            return entries, -1, 0
    if rows == 1:
        return entries, count, 1
    own = entries[begin:count].copy()
    while begin + rows * own.shape[0] > entries.shape[0]:
        entries = np.concatenate((entries, np.empty_like(entries)))
    count = begin
    for choice in range(rows):
        for place in range(own.shape[0]):
            rest = choice
            for group in range(1, own[place, 5]):
                rest //= max(1, sizes[group])
            if own[place, 5] == 0 or rest % max(1, sizes[own[place, 5]]) == own[place, 6]:
                entries[count] = own[place]
                entries[count, 0] = row + choice
                count += 1
    return entries, count, rows


@kernel
def read_documents(data: Any, starts: Any, stops: Any, table: Any, slots: Any) -> Any:
    """Return the entries of all documents, by row, and the number of rows of each: 0 where the twin must read it."""
    cells = table[1]
    work = (
        np.empty((_DEPTH + 1, 7), np.int64),
        np.zeros(cells.shape[0] + table[3].shape[0], np.int64),
        np.zeros((slots, 3), np.int64),
        np.zeros(_GROUPS + 2, np.int64),
        np.zeros((_GROUPS + 2, _ITEMS + 1, 2), np.int64),
        np.empty(_KEYS, np.uint32),
    )
    scopes = np.zeros(1, np.int64)
    entries = np.empty((1024 + 16 * starts.shape[0], 7), np.int32)
    rows = np.zeros(starts.shape[0], np.int32)
    count, row = 0, 0
    for document in range(starts.shape[0]):
        if stops[document] - starts[document] > _BYTES:
            continue
        # a value has two bytes at least, five in an object, where it makes four entries at most
        while entries.shape[0] < count + 4 + 2 * (stops[document] - starts[document]):
            entries = np.concatenate((entries, np.empty_like(entries)))
        found = _document(data, starts[document], stops[document], row, entries, count, table, work, scopes)
        if found >= 0:
            entries, found, rows[document] = _chosen(entries, count, found, row, work[3])
        if found >= 0:
            count = found
            row += rows[document]
    return entries[:count], rows
