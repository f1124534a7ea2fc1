"""LIKE patterns: `%` is any run of characters, `_` is one character, and only ESCAPE takes that meaning away."""

from __future__ import annotations

import re
from functools import lru_cache

from rookery.model.folding import folded

__all__ = ["folded_pattern", "like_pieces", "like_prefix", "like_regex"]


def like_pieces(pattern: str, escape: str | None) -> list[tuple[bool, str]]:
    """Cut a pattern into (is a wildcard, character)."""
    pieces: list[tuple[bool, str]] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            pieces.append((False, next(characters, "")))
        else:
            pieces.append((character in "%_", character))
    return pieces


def like_regex(pattern: str, escape: str | None) -> str:
    """Return a regular expression that a whole string must match.

    What stands between two `%` is taken where it first occurs, and never sought again (an atomic group): the first
    place is as good as any, and a backtracking search would take time exponential in the number of `%`.
    """
    segments = [""]
    for wild, character in like_pieces(pattern, escape):
        if wild and character == "%":
            segments.append("")
        else:
            segments[-1] += "." if wild else re.escape(character)
    first, *rest = segments
    if not rest:
        return first
    inner = "".join(f"(?>.*?{segment})" for segment in rest[:-1] if segment)
    return f"{first}{inner}.*{rest[-1]}"


@lru_cache(maxsize=4096)
def like_matcher(pattern: str, escape: str | None) -> re.Pattern[str]:
    """Return the compiled pattern; a dot is any character, a line's end included."""
    return re.compile(like_regex(pattern, escape), re.DOTALL)


def folded_pattern(pattern: str, escape: str | None) -> tuple[str, str]:
    """Return a pattern with its characters folded, and the backslash as its escape."""
    return "".join(
        character if wild else "\\" + folded(character) for wild, character in like_pieces(pattern, escape)
    ), "\\"


def like_prefix(pattern: str, escape: str | None) -> tuple[str, str]:
    """Return the text before the first wildcard, and what kind of pattern it is.

    The kind is "equal" (no wildcard), "prefix" (only `%` at the end) or "other" (the prefix is necessary, not enough).
    """
    prefix: list[str] = []
    pieces = like_pieces(pattern, escape)
    for index, (wild, character) in enumerate(pieces):
        if wild:
            rest = pieces[index:]
            return "".join(prefix), "prefix" if all(piece == (True, "%") for piece in rest) else "other"
        prefix.append(character)
    return "".join(prefix), "equal"
