"""Texts with wildcards, cut into pieces, as patterns of LIKE."""

from __future__ import annotations

from typing import TypeAlias

from rookery.model.expressions import Field, Like, Literal

__all__ = ["Pieces", "like"]

#: A text cut into (is a wildcard, character): `*` is any run of characters, `?` one.
Pieces: TypeAlias = tuple[tuple[bool, str], ...]


def like(field: Field, pieces: Pieces, *, cased: bool) -> Like:
    """Return the pattern of LIKE that means the pieces, or without case of ILIKE."""
    pattern, escape = "", None
    for wild, character in pieces:
        if wild:
            pattern += "%" if character == "*" else "_"
        elif character in "%_\\":
            pattern += "\\" + character
            escape = "\\"
        else:
            pattern += character
    return Like(field, Literal(pattern), escape=escape, word="LIKE" if cased else "ILIKE")
