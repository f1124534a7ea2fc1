"""Case folding: Unicode's simple folding, one character to one character.

Two texts are equal but for case when their foldings are equal. Simple folding never changes a text's length in
characters, so `_` in a pattern keeps its meaning: `ß` folds to itself and not to `ss`, `İ` to itself; the Kelvin sign
is a `k` and the long s an `s`. Spark's `lower` differs: it maps `İ` to two characters, a final `Σ` to `ς`, and leaves
the Kelvin sign's relatives `ſ` and `ς` as they are.
"""

from __future__ import annotations

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


_FOLDING = _Folding()


def folded(text: str) -> str:
    """Return a text with every character folded."""
    return text.lower() if text.isascii() else text.translate(_FOLDING)


def folded_column(texts: pa.Array) -> pa.Array:
    """Return an array of strings folded; only what is not ASCII goes text by text."""
    plain = pc.ascii_lower(texts)
    strange = pc.fill_null(pc.invert(pc.string_is_ascii(texts)), False)
    if not pc.any(strange).as_py():
        return plain
    others = [folded(text) for text in texts.filter(strange).to_pylist()]
    return pc.replace_with_mask(plain, strange, pa.array(others, texts.type))
