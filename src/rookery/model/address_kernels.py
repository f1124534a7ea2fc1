"""Kernels that read internet addresses. Plain twin: `address_of` in `addresses.py`, by Python's own library."""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.kernels import kernel

__all__ = ["WIDTH", "write_addresses"]

#: Bytes of the longest address: its family and 32 digits.
WIDTH = 33
_DOT, _COLON, _ZERO = 46, 58, 48


@kernel
def _read_four(data: Any, first: Any, last: Any, parts: Any, place: Any) -> Any:
    """Read `a.b.c.d` into four bytes of `parts` from `place` on."""
    at = first
    for part in range(4):
        value, digits = np.int64(0), 0
        while at < last and _ZERO <= data[at] <= 57 and digits < 4:
            value = value * 10 + (data[at] - _ZERO)
            digits += 1
            at += 1
        if digits == 0 or digits > 3 or value > 255 or (digits > 1 and data[at - digits] == _ZERO):
            return False
        parts[place + part] = value
        if part < 3:
            if at >= last or data[at] != _DOT:
                return False
            at += 1
    return at == last


@kernel
def _digit(byte: Any) -> Any:
    """Return the value of a hexadecimal digit, -1 of any other byte."""
    if _ZERO <= byte <= 57:
        return np.int64(byte) - _ZERO
    if 97 <= byte <= 102:
        return np.int64(byte) - 87
    if 65 <= byte <= 70:
        return np.int64(byte) - 55
    return np.int64(-1)


@kernel
def _read_six(data: Any, first: Any, last: Any, parts: Any) -> Any:
    """Read an IPv6 address into sixteen bytes."""
    count, gap, at = 0, -1, first  # bytes read, and where `::` stands among them
    if last - first < 2:
        return False
    if data[at] == _COLON:
        if data[at + 1] != _COLON:
            return False
        gap = 0
        at += 2
    while at < last:
        if count > 14:
            return False
        end = at
        while end < last and data[end] != _COLON:
            end += 1
        dotted = False
        for place in range(at, end):
            dotted = dotted or data[place] == _DOT
        if dotted:
            if end != last or count > 12 or not _read_four(data, at, end, parts, count):
                return False
            count += 4
            at = end
        else:
            if end == at or end - at > 4:
                return False
            value = np.int64(0)
            for place in range(at, end):
                digit = _digit(data[place])
                if digit < 0:
                    return False
                value = value * 16 + digit
            parts[count] = value >> 8
            parts[count + 1] = value & 255
            count += 2
            at = end
            if at < last:
                at += 1  # the colon
                if at == last:
                    return False
                if data[at] == _COLON:
                    if gap >= 0:
                        return False
                    gap = count
                    at += 1
    if gap < 0:
        return count == 16
    if count > 14:
        return False
    moved = count - gap
    for place in range(moved):
        parts[15 - place] = parts[count - 1 - place]
    for place in range(gap, 16 - moved):
        parts[place] = 0
    return True


@kernel
def write_addresses(data: Any, offsets: Any, valid: Any, found: Any, lengths: Any) -> None:
    """Write the address of each text into a row of `found`, and its length; none has length 0."""
    parts = np.zeros(16, np.int64)
    for row in range(valid.shape[0]):
        if not valid[row]:
            continue
        first, last = offsets[row], offsets[row + 1]
        count = 0
        if _read_four(data, first, last, parts, 0):
            count = 4
        elif _read_six(data, first, last, parts):
            count = 16
        if not count:
            continue
        found[row, 0] = 52 if count == 4 else 54
        for place in range(count):
            for half in range(2):
                digit = (parts[place] >> (4 - 4 * half)) & 15
                found[row, 1 + 2 * place + half] = _ZERO + digit if digit < 10 else 87 + digit
        lengths[row] = 1 + 2 * count
