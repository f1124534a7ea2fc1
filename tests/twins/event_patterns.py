"""Event patterns judged straight from their documentation, by search: the slow twin of their reader.

No schema, no conditions, no rows. The leaves of an event are listed with the items of arrays that each lies in; a
pattern holds if every field that it names can be given a fitting leaf such that no two of these leaves lie in
different items of the same array.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator
from typing import Any

__all__ = ["holds"]

Leaf = tuple[str, Any, dict[int, int]]


def holds(pattern: str, event: dict[str, Any]) -> bool:
    """Say whether a pattern, as text, holds of an event."""
    leaves: list[Leaf] = []
    _leaves(event, "", {}, leaves, [0])
    return any(_assign(list(branch.items()), leaves, {}) for branch in _branches(json.loads(pattern)))


def _leaves(value: Any, path: str, items: dict[int, int], found: list[Leaf], arrays: list[int]) -> None:
    if isinstance(value, dict):
        for name, inner in value.items():
            _leaves(inner, f"{path}.{name}" if path else name, items, found, arrays)
    elif isinstance(value, list):
        arrays[0] += 1
        own = arrays[0]
        for place, inner in enumerate(value):
            within = {**items, own: place} if isinstance(inner, dict | list) else items
            _leaves(inner, path, within, found, arrays)
    else:
        found.append((path, value, items))


def _branches(pattern: dict[str, Any], prefix: str = "") -> Iterator[dict[str, list[Any]]]:
    """Yield each way to choose a branch of every $or: the values by path."""
    ways: list[dict[str, list[Any]]] = [{}]
    for name, value in pattern.items():
        if name == "$or":
            more = [one for branch in value for one in _branches(branch, prefix)]
        elif isinstance(value, dict):
            more = list(_branches(value, f"{prefix}{name}."))
        else:
            more = [{prefix + name: value}]
        ways = [{**way, **one} for way in ways for one in more]
    yield from ways


def _assign(asked: list[tuple[str, list[Any]]], leaves: list[Leaf], items: dict[int, int]) -> bool:
    if not asked:
        return True
    (path, values), *rest = asked
    here = [leaf for leaf in leaves if leaf[0] == path]
    if not here and {"exists": False} in values and _assign(rest, leaves, items):
        return True
    for _, value, own in here:
        if any(items.get(array, place) != place for array, place in own.items()):
            continue
        if any(_fits(one, value) for one in values) and _assign(rest, leaves, {**items, **own}):
            return True
    return False


def _kind(value: Any) -> type:
    return float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)


def _fits(wanted: Any, value: Any) -> bool:
    if not isinstance(wanted, dict):
        if isinstance(wanted, str) and isinstance(value, str) and ":" in wanted and (address := _address(wanted)):
            return _address(value) == address
        return _kind(wanted) is _kind(value) and (
            wanted == value or (_kind(value) is float and float(wanted) == float(value))
        )
    ((word, inner),) = wanted.items()
    if word == "exists":
        return bool(inner)
    if word == "anything-but":
        forms = inner if isinstance(inner, list) else [inner]
        if isinstance(inner, dict):
            ((form, values),) = inner.items()
            forms = [{form: one} for one in (values if isinstance(values, list) else [values])]
        return not any(_fits(one, value) for one in forms)
    if word == "numeric":
        return _kind(value) is float and all(
            {"<": value < bound, "<=": value <= bound, "=": value == bound, ">=": value >= bound, ">": value > bound}[
                sign
            ]
            for sign, bound in zip(inner[::2], map(float, inner[1::2]), strict=True)
        )
    if not isinstance(value, str):
        return False
    if word == "cidr":
        address, network = _address(value), ipaddress.ip_network(inner, strict=False)
        return address is not None and address.version == network.version and address in network
    if isinstance(inner, dict):
        inner, value = inner["equals-ignore-case"].casefold(), value.casefold()
    if word == "prefix":
        return value[: len(inner)] == inner
    if word == "suffix":
        return not inner or value[-len(inner) :] == inner
    if word == "equals-ignore-case":
        return bool(value.casefold() == inner.casefold())
    if word == "wildcard":
        return _wild(inner, value)
    return bool(word == "exactly" and value == inner)


def _wild(pattern: str, value: str) -> bool:
    if not pattern:
        return not value
    if pattern[0] == "*":
        return any(_wild(pattern[1:], value[place:]) for place in range(len(value) + 1))
    literal, rest = (pattern[1], pattern[2:]) if pattern[0] == "\\" else (pattern[0], pattern[1:])
    return value[:1] == literal and _wild(rest, value[1:])


def _address(text: str) -> Any:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
