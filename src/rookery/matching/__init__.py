"""Which subscriptions want these events? Five engines behind one interface, and the compiled set.

`matcher(schema)` makes a set that may be edited; `engine=` chooses how it is matched:

- `bitmap` (default): composite keys and 512-bit lines; the fast one.
- `matrix`: seed 004's predicate matrix with covering; `counting` and `index`: the baselines of its paper.
- `scan`: the oracle.
"""

from __future__ import annotations

from collections.abc import Callable

from rookery.matching.baselines import Counting, PackedEngine, PredicateIndex, PredicateMatrix
from rookery.matching.bitmap.engine import BitmapEngine
from rookery.matching.compiled import CompiledSet
from rookery.matching.explain import Explanation
from rookery.matching.matcher import Matcher
from rookery.matching.other_engine import OtherEngine
from rookery.matching.scan import ScanMatcher
from rookery.matching.view import Engine
from rookery.model.schema import Schema

__all__ = ["ENGINES", "INDEXES", "CompiledSet", "Explanation", "Matcher", "ScanMatcher", "matched_by", "matcher"]

_ENGINES: dict[str, Callable[[], Engine]] = {
    "bitmap": BitmapEngine,
    "matrix": lambda: PackedEngine("matrix", PredicateMatrix),
    "index": lambda: PackedEngine("index", PredicateIndex),
    "counting": lambda: PackedEngine("counting", Counting),
}
#: The engines that match batches by an index, by name, the default first; and all, the oracle last.
INDEXES = tuple(_ENGINES)
ENGINES = (*INDEXES, "scan")


def matcher(
    schema: Schema | CompiledSet, *, engine: str = "bitmap", on_error: str = "raise", wall_time: bool = True
) -> Matcher | ScanMatcher:
    """Make a set of subscriptions over a schema, or go on editing a compiled set.

    With `wall_time=False` a condition that asks for `now()` is refused, as on a network.

    >>> from rookery import Schema, matcher
    >>> quotes = matcher(Schema(symbol=str, price=float, volume=int))
    >>> quotes.add("cheap acme", "symbol = 'ACME' AND price < 10")
    >>> quotes.match({"symbol": "ACME", "price": 9.5, "volume": 100})
    ['cheap acme']
    """
    if engine not in ENGINES:
        raise ValueError(f"no engine {engine!r}; there are {', '.join(ENGINES)}")
    if engine == "scan":
        if isinstance(schema, CompiledSet):
            twin = ScanMatcher(schema.schema, on_error=on_error)
            twin.add_many(schema.subscriptions)
            return twin
        return ScanMatcher(schema, on_error=on_error, wall_time=wall_time)
    make = _ENGINES[engine]
    if isinstance(schema, CompiledSet):
        return Matcher.resume(schema, make, on_error=on_error)
    return Matcher(schema, make, on_error=on_error, wall_time=wall_time)


def matched_by(compiled: CompiledSet, engine: str) -> CompiledSet:
    """Return a compiled set that an engine of `INDEXES` matches, its structure built here from the set's rows."""
    if engine not in INDEXES:
        raise ValueError(f"a compiled set is matched by {', '.join(INDEXES)}, not by {engine!r}")
    return compiled if engine == "bitmap" else OtherEngine(compiled, _ENGINES[engine]())
