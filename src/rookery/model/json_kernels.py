"""Kernels that read JSON: blanks, strings, numbers and words, as strictly as `msgspec`, which is their plain twin.

Each returns the place behind what it read, or -1 of what is no JSON, and of what is left to the twin: surrogates in
escapes, numbers that are very long or may be past any double.
"""

from __future__ import annotations

from typing import Any

from rookery.kernels import kernel

__all__ = [
    "ESCAPED", "FALSE", "NESTED", "NULL", "NUMBER", "TEXT", "TRUE", "WHOLE", "blank_end", "number_end", "string_end",
    "word_end",
]  # fmt: skip

#: What a value is: a text, one with escapes; a whole number as JSON writes it again, another number; `true`, `false`,
#: `null`; an object or array.
TEXT, ESCAPED, WHOLE, NUMBER, TRUE, FALSE, NULL, NESTED = 0, 1, 2, 3, 4, 5, 6, 7
_QUOTE, _BACKSLASH = 34, 92


@kernel
def blank_end(data: Any, at: Any, stop: Any) -> Any:
    while at < stop and (data[at] == 32 or data[at] == 10 or data[at] == 13 or data[at] == 9):
        at += 1
    return at


@kernel
def _hexadecimal(byte: Any) -> Any:
    return 48 <= byte <= 57 or 65 <= byte <= 70 or 97 <= byte <= 102


@kernel
def _escape(data: Any, at: Any, stop: Any) -> Any:
    """Return the place behind an escape; -1 of what is none, or a surrogate."""
    if at + 1 >= stop:
        return -1
    byte = data[at + 1]
    if byte != 117:
        # one of "\/bfnrt
        known = byte in (34, 92, 47, 98, 102, 110, 114, 116)
        return at + 2 if known else -1
    if at + 6 > stop:
        return -1
    for place in range(at + 2, at + 6):
        if not _hexadecimal(data[place]):
            return -1
    surrogate = (data[at + 2] == 68 or data[at + 2] == 100) and not 48 <= data[at + 3] <= 55
    return -1 if surrogate else at + 6


@kernel
def string_end(data: Any, at: Any, stop: Any) -> Any:
    """Return where a string ends, whose first byte is at `at`, and whether it has escapes; -1 of what is none."""
    escaped = False
    while at < stop:
        byte = data[at]
        if byte == _QUOTE:
            return at, escaped
        if byte == _BACKSLASH:
            escaped = True
            at = _escape(data, at, stop)
            if at < 0:
                return -1, escaped
        elif byte < 32:
            return -1, escaped
        else:
            at += 1
    return -1, escaped


@kernel
def _digits(data: Any, at: Any, stop: Any) -> Any:
    while at < stop and 48 <= data[at] <= 57:
        at += 1
    return at


@kernel
def number_end(data: Any, first: Any, stop: Any) -> Any:
    """Return the place behind a number and its kind; -1 of what is none, and of one that is very long or large."""
    at = first + 1 if data[first] == 45 else first
    begin = at
    at = at + 1 if at < stop and data[at] == 48 else _digits(data, at, stop)
    if at == begin:
        return -1, NUMBER
    kind = NUMBER if at - begin > 18 or (begin > first and data[begin] == 48) else WHOLE
    if at < stop and data[at] == 46:
        begin, kind = at + 1, NUMBER
        at = _digits(data, begin, stop)
        if at == begin:
            return -1, NUMBER
    if at < stop and (data[at] == 101 or data[at] == 69):
        begin, kind = at + 1, NUMBER
        if begin < stop and (data[begin] == 43 or data[begin] == 45):
            begin += 1
        at = _digits(data, begin, stop)
        if at == begin or at - begin > 2:
            return -1, NUMBER
    return (-1 if at - first > 40 else at), kind


@kernel
def word_end(data: Any, at: Any, stop: Any) -> Any:
    """Return the place behind `true`, `false` or `null`, and which it is."""
    first = data[at]
    if first == 116 and at + 4 <= stop and data[at + 1] == 114 and data[at + 2] == 117 and data[at + 3] == 101:
        return at + 4, TRUE
    if first == 110 and at + 4 <= stop and data[at + 1] == 117 and data[at + 2] == 108 and data[at + 3] == 108:
        return at + 4, NULL
    if first == 102 and at + 5 <= stop and data[at + 1] == 97 and data[at + 2] == 108 and data[at + 3] == 115:
        return (at + 5 if data[at + 4] == 101 else -1), FALSE
    return -1, NULL
