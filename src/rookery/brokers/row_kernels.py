"""Kernels that cut rows out of columns as they travel, without an object for any value.

Columns travel as a MessagePack map of names to arrays (`batches.py`). A value is stepped over by its first byte, which
says how long it is, or how many values are in it. Their twin is `tests/twins/row_cuts.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.kernels import short_kernel

__all__ = ["find_values", "gather_rows"]


@short_kernel
def _number(data: Any, place: Any, size: Any) -> Any:
    """Return a big-endian number of so many bytes; 0 where some are missing."""
    found = 0
    if place + size <= data.shape[0]:
        for one in range(place, place + size):
            found = found << 8 | data[one]
    return found


@short_kernel
def _after(data: Any, place: Any) -> Any:
    """Return where the value at a place ends, -1 if it makes no sense or goes on past the end."""
    left = 1
    while left > 0:
        if place >= data.shape[0]:
            return -1
        tag = data[place]
        place += 1
        left -= 1
        if tag <= 0x7F or tag >= 0xE0 or tag == 0xC0 or tag == 0xC2 or tag == 0xC3:
            pass
        elif tag <= 0x8F:
            left += 2 * (tag & 0x0F)
        elif tag <= 0x9F:
            left += tag & 0x0F
        elif tag <= 0xBF:
            place += tag & 0x1F
        elif tag == 0xC1:
            return -1
        elif tag <= 0xC6:  # bytes
            size = 1 << (tag - 0xC4)
            place += size + _number(data, place, size)
        elif tag <= 0xC9:  # extensions
            size = 1 << (tag - 0xC7)
            place += size + 1 + _number(data, place, size)
        elif tag <= 0xCB:  # floats
            place += 4 << (tag - 0xCA)
        elif tag <= 0xCF:
            place += 1 << (tag - 0xCC)
        elif tag <= 0xD3:
            place += 1 << (tag - 0xD0)
        elif tag <= 0xD8:  # extensions of fixed sizes
            place += 1 + (1 << (tag - 0xD4))
        elif tag <= 0xDB:  # texts
            size = 1 << (tag - 0xD9)
            place += size + _number(data, place, size)
        else:  # arrays and maps
            size = 2 if tag == 0xDC or tag == 0xDE else 4
            left += _number(data, place, size) * (1 if tag <= 0xDD else 2)
            place += size
    return place if place <= data.shape[0] else -1


@short_kernel
def find_values(data: Any, first: Any, places: Any) -> Any:
    """Note of each column where its name begins and ends, where its values begin, and where the last ends.

    `first` is where the first name begins; say whether every column is an array of as many values as there is room for.
    """
    count = places.shape[1] - 3
    place = first
    for column in range(places.shape[0]):
        places[column, 0] = place
        place = _after(data, place)
        if place < 0 or place >= data.shape[0]:
            return False
        places[column, 1] = place
        tag = data[place]
        if tag & 0xF0 == 0x90:
            values, place = int(tag & 0x0F), place + 1
        elif tag == 0xDC:
            values, place = _number(data, place + 1, 2), place + 3
        elif tag == 0xDD:
            values, place = _number(data, place + 1, 4), place + 5
        else:
            return False
        if values != count:
            return False
        for row in range(count):
            places[column, 2 + row] = place
            place = _after(data, place)
            if place < 0:
                return False
        places[column, 2 + count] = place
    return place == data.shape[0]


@short_kernel
def gather_rows(data: Any, places: Any, rows: Any) -> Any:
    """Return the columns of some rows, in the order of these, behind the head of the map."""
    count = rows.shape[0]
    room = places[0, 0]
    for column in range(places.shape[0]):
        room += places[column, 1] - places[column, 0] + 5
        for row in rows:
            room += places[column, 3 + row] - places[column, 2 + row]
    out = np.empty(room, np.uint8)
    end = places[0, 0]
    out[:end] = data[:end]
    for column in range(places.shape[0]):
        for place in range(places[column, 0], places[column, 1]):
            out[end] = data[place]
            end += 1
        if count < 16:
            out[end] = 0x90 | count
            end += 1
        else:
            out[end] = 0xDC if count < 1 << 16 else 0xDD
            size = 2 if count < 1 << 16 else 4
            for one in range(size):
                out[end + 1 + one] = (count >> 8 * (size - 1 - one)) & 0xFF
            end += 1 + size
        for row in rows:
            for place in range(places[column, 2 + row], places[column, 3 + row]):
                out[end] = data[place]
                end += 1
    return out[:end]
