"""Case folding: Unicode's simple folding, one character to one character.

Two texts are equal but for case when their foldings are equal. Simple folding never changes a text's length in
characters, so `_` in a pattern keeps its meaning: `ß` folds to itself and not to `ss`, `İ` to itself; the Kelvin sign
is a `k` and the long s an `s`. Spark's `lower` differs: it maps `İ` to two characters, a final `Σ` to `ς`, and leaves
the Kelvin sign's relatives `ſ` and `ς` as they are.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["folded", "folded_column"]


class _Folding(dict[int, str]):
    """The folding of each character that was asked for."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        for one in (character.casefold(), character.lower(), character):
            if len(one) == 1:
                self[code] = one
                break
        return self[code]


#: Three pairs are equal but for case, and `casefold` makes each of them several characters.
_FOLDING = _Folding({0x1FD3: "\u0390", 0x1FE3: "\u03b0", 0xFB05: "\ufb06"})
#: What no code point is: the table's entry of one that was not asked for yet.
_UNKNOWN = 1 << 31


def folded(text: str) -> str:
    """Return a text with every character folded."""
    return text.lower() if text.isascii() else text.translate(_FOLDING)


def folded_column(texts: pa.Array) -> pa.Array:
    """Return an array of strings folded; what is not ASCII goes by a table of code points, all texts as one."""
    plain = pc.ascii_lower(texts)
    strange = pc.fill_null(pc.invert(pc.string_is_ascii(texts)), False)
    if not pc.any(strange).as_py():
        return plain
    others = texts.filter(strange).to_pylist()
    joined = _fold_codes(np.frombuffer("".join(others).encode("utf-32-le"), np.uint32)).tobytes().decode("utf-32-le")
    stops = np.cumsum([len(one) for one in others]).tolist()  # folding keeps the number of characters
    parts = [joined[start:stop] for start, stop in zip([0, *stops], stops, strict=False)]
    return pc.replace_with_mask(plain, strange, pa.array(parts, texts.type))


@cache
def _table() -> np.ndarray[Any, Any]:
    """Return the folding by code point, filled where it was asked for."""
    return np.full(0x110000, _UNKNOWN, np.uint32)


def _fold_codes(codes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    table = _table()
    found: np.ndarray[Any, Any] = table[codes]
    unknown = found == _UNKNOWN
    if unknown.any():
        for code in np.unique(codes[unknown]).tolist():
            table[code] = ord(_FOLDING[code])
        found = table[codes]
    return found
