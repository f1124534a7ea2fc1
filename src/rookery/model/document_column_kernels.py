"""Kernels that make columns of the values that `document_kernels.py` found. Plain twin: `documents.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.kernels import kernel
from rookery.model.json_kernels import ESCAPED, FALSE, NULL, NUMBER, TRUE, WHOLE

__all__ = ["ANY_TEXT", "EVERYTHING", "LEAF_KIND", "ONLY_TEXT", "entries_by_slot", "number_columns", "text_columns"]

#: What a column of texts takes: any value as a text, texts alone, the kind of each value, all values.
ANY_TEXT, ONLY_TEXT, LEAF_KIND, EVERYTHING = 0, 1, 2, 3
_BACKSLASH = 92
#: What stands between all values of a document: `SEPARATOR` of `documents.py`.
_SEPARATOR = 0x1E


@kernel
def entries_by_slot(entries: Any, slots: Any) -> Any:
    """Return the entries ordered by slot, in each by row, and where those of each slot begin."""
    first = np.zeros(slots + 1, np.int64)
    for place in range(entries.shape[0]):
        first[entries[place, 1] + 1] += 1
    for slot in range(slots):
        first[slot + 1] += first[slot]
    behind = first.copy()
    order = np.empty(entries.shape[0], np.int64)
    for place in range(entries.shape[0]):
        slot = entries[place, 1]
        order[behind[slot]] = place
        behind[slot] += 1
    return entries[order], first


@kernel
def _digit(byte: Any) -> Any:
    return byte - 48 if byte <= 57 else (byte | 32) - 87


@kernel
def _unescaped(data: Any, first: Any, last: Any, out: Any, at: Any) -> Any:
    """Write a string without its escapes, as UTF-8; return the place behind it."""
    place = first
    while place < last:
        byte = data[place]
        if byte != _BACKSLASH:
            out[at] = byte
            at, place = at + 1, place + 1
            continue
        byte = data[place + 1]
        place += 2
        if byte != 117:
            if byte == 98:
                byte = 8
            elif byte == 102:
                byte = 12
            elif byte == 110:
                byte = 10
            elif byte == 114:
                byte = 13
            elif byte == 116:
                byte = 9
            out[at] = byte
            at += 1
            continue
        code = np.int64(0)
        for digit in range(4):
            code = code * 16 + _digit(np.int64(data[place + digit]))
        place += 4
        if code < 0x80:
            out[at] = code
            at += 1
        elif code < 0x800:
            out[at], out[at + 1] = 0xC0 | (code >> 6), 0x80 | (code & 63)
            at += 2
        else:
            out[at], out[at + 1], out[at + 2] = 0xE0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63)
            at += 3
    return at


@kernel
def _constant(kind: Any, constants: Any) -> Any:
    """Return where the name of a value's kind stands: text, number, true, false, null."""
    which = 0 if kind <= ESCAPED else 1 if kind <= NUMBER else kind - TRUE + 2
    return constants[which], constants[which + 1]


@kernel
def text_columns(data: Any, entries: Any, first: Any, wanted: Any, constants: Any, rows: Any) -> Any:
    """Return the offsets, the bytes and the validity of columns of texts: `wanted` has the slot and the way of each.

    A number that JSON would write otherwise, an object or an array is given as a text by the caller. The bytes are of
    all columns, one behind the other.
    """
    size = 0
    for column in range(wanted.shape[0]):
        for place in range(first[wanted[column, 0]], first[wanted[column, 0] + 1]):
            size += entries[place, 4] - entries[place, 3] + 8
    out = np.empty(size, np.uint8)
    offsets = np.empty((wanted.shape[0], rows + 1), np.int32)
    valid = np.zeros((wanted.shape[0], (rows + 7) // 8), np.uint8)
    at = 0
    for column in range(wanted.shape[0]):
        slot, way = wanted[column, 0], wanted[column, 1]
        place, behind = first[slot], first[slot + 1]
        for row in range(rows):
            offsets[column, row] = at
            parts = 0
            while place < behind and entries[place, 0] == row:
                kind, start, stop = entries[place, 2], np.int64(entries[place, 3]), np.int64(entries[place, 4])
                place += 1
                if way == ONLY_TEXT and kind > ESCAPED:
                    continue
                if way == LEAF_KIND or kind in (TRUE, FALSE):
                    start, stop = _constant(kind, constants)
                elif kind == NULL:
                    continue
                if parts:
                    out[at] = _SEPARATOR
                    at += 1
                parts += 1
                if kind == ESCAPED and way != LEAF_KIND:
                    at = _unescaped(data, start, stop, out, at)
                else:
                    for one in range(start, stop):
                        out[at] = data[one]
                        at += 1
            if parts or way == EVERYTHING:
                valid[column, row >> 3] |= np.uint8(1 << (row & 7))
        offsets[column, rows] = at
    return offsets, out[:at], valid


@kernel
def _double(data: Any, first: Any, last: Any, powers: Any) -> Any:
    """Return a number as the nearest double, and whether it was found here.

    Digits below 2^53 and a power of ten up to 22 are doubles both, so that one product or quotient is rounded once.
    """
    at = first + 1 if data[first] == 45 else first
    value, places, power, after = np.int64(0), np.int64(0), np.int64(0), False
    for place in range(at, last):
        byte = data[place]
        if byte == 46:
            after = True
        elif 48 <= byte <= 57:
            if value > 900_719_925_474_098:
                return 0.0, False
            value = value * 10 + (byte - 48)
            places += after
        else:
            sign = 1
            place += 1
            if data[place] in (45, 43):
                sign = -1 if data[place] == 45 else 1
                place += 1
            while place < last:
                power = power * 10 + (data[place] - 48)
                place += 1
            power *= sign
            break
    power -= places
    if not -22 <= power <= 22 or (value == 0 and at > first):  # of -0 it matters how it is written
        return 0.0, False
    found = np.float64(value)
    found = found * powers[power] if power >= 0 else found / powers[-power]
    return (-found if data[first] == 45 else found), True


@kernel
def number_columns(data: Any, entries: Any, first: Any, wanted: Any, powers: Any, rows: Any) -> Any:
    """Return columns of doubles, where they are valid, and the entries that the caller must read, with their columns.

    `wanted` has the slot of each, and whether texts that are numbers count too.
    """
    values = np.zeros((wanted.shape[0], rows), np.float64)
    valid = np.zeros((wanted.shape[0], rows), np.bool_)
    left = np.empty((64, 2), np.int64)
    count = 0
    for column in range(wanted.shape[0]):
        for place in range(first[wanted[column, 0]], first[wanted[column, 0] + 1]):
            row, kind = entries[place, 0], entries[place, 2]
            read = kind in (WHOLE, NUMBER)
            if read:
                value, found = _double(data, np.int64(entries[place, 3]), np.int64(entries[place, 4]), powers)
                if found:
                    values[column, row], valid[column, row] = value, True
                    continue
            if read or (wanted[column, 1] and kind <= ESCAPED):
                if count == left.shape[0]:
                    left = np.concatenate((left, np.empty_like(left)))
                left[count, 0], left[count, 1] = column, place
                count += 1
    return values, valid, left[:count]
