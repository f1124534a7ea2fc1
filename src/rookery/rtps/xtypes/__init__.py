"""Types on the wire (DDS-XTypes 1.3): what an endpoint says of its type, and whether two types fit each other.

- `identifiers`: the short name of a type; whole for primitives, strings and collections, a hash for structs and enums;
- `objects`: the description behind a hash, made of a type here and read from others;
- `information`: what an announcement carries: the hashes of a type and of those that it is made of;
- `lookup`: the questions and answers of the type lookup service, by which descriptions are asked for;
- `assignability`: whether a reader can take what a writer sends, and why not.
"""

from __future__ import annotations

__all__: list[str] = []
