r"""Conditions on texts that no box holds, in one canonical form: equal forms are equal conditions.

A leaf is an attribute, a kind of pattern and the pattern:

- `like`: a LIKE pattern; a backslash takes the meaning of `%`, `_` and itself away, and of a run of wildcards the `_`
  stand first and one `%` last, so `%_%` and `_%%` are one pattern.
- `fold`: the same of folded texts (`folding.py`), for ILIKE; the pattern is folded.
- `regex`: a regular expression, sought anywhere in the text, in RE2's syntax.

A text condition is one leaf or several of which any may hold; its key is that as JSON, leaves in order. It is TRUE or
it is not: where a filter asks for FALSE, it also asks that the attributes are not NULL.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

__all__ = ["TextLeaf", "like_pattern", "pattern_tokens", "text_key", "text_leaves"]

_encode = msgspec.json.Encoder().encode


class TextLeaf(NamedTuple):
    """One pattern on one attribute."""

    path: tuple[str | int, ...]
    kind: str
    pattern: str


_decoder = msgspec.json.Decoder(list[tuple[list[str | int], str, str]])
KINDS = ("like", "fold", "regex")


def like_pattern(pieces: Iterable[tuple[bool, str]]) -> str:
    """Return the pieces of a pattern, as (is a wildcard, character), in canonical form."""
    found: list[str] = []
    single, many = 0, False
    for wild, character in pieces:
        if wild:
            single, many = (single, True) if character == "%" else (single + 1, many)
            continue
        found.append("_" * single + "%" * many)
        single, many = 0, False
        found.append("\\" + character if character in "\\%_" else character)
    found.append("_" * single + "%" * many)
    return "".join(found)


def pattern_tokens(pattern: str) -> list[tuple[bool, str]]:
    """Cut a canonical pattern into its pieces again."""
    pieces: list[tuple[bool, str]] = []
    characters = iter(pattern)
    for character in characters:
        if character == "\\":
            pieces.append((False, next(characters, "\\")))
        else:
            pieces.append((character in "%_", character))
    return pieces


def text_key(leaves: Iterable[TextLeaf]) -> str:
    """Return the key of the condition that any of some leaves holds."""
    ordered = sorted({(tuple(map(str, leaf.path)), leaf) for leaf in leaves}, key=lambda one: (one[0], one[1][1:]))
    return _encode([leaf for _, leaf in ordered]).decode()


def text_leaves(key: str) -> list[TextLeaf]:
    """Return the leaves of a key; ValueError where it is none."""
    try:
        found: Any = _decoder.decode(key)
    except msgspec.DecodeError as error:
        raise ValueError(f"{key!r:.60} is no condition on texts: {error}") from None
    if not found or any(not path or kind not in KINDS for path, kind, _ in found):
        raise ValueError(f"{key!r:.60} is no condition on texts")
    return [TextLeaf(tuple(path), kind, pattern) for path, kind, pattern in found]
