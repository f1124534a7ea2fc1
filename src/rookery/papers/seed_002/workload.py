"""The seed's workload: stock quotes (stock, price) on a grid of stocks × price buckets (seed 002, IV; spec 2.1).

A subscription is (stock, low price, high price); prices count buckets, so price 3.7 lies in bucket 3. `uniform` draws
each subscription and each quote evenly. `pareto` draws subscriptions from a catalog by popularity: the rank follows a
Pareto law of index α, so with a higher α more peers hold the very same subscriptions; quotes fall inside subscriptions
drawn by the same law, since what is popular is traded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from rookery.machine.randomness import RandomNumbers

__all__ = ["Quote", "StockBox", "StockInterests", "StockMarket"]

#: Stock and price.
Quote: TypeAlias = tuple[int, float]
#: Stock, lowest and highest price.
StockBox: TypeAlias = tuple[int, float, float]
#: How many ranks of the catalog share the head of the Pareto law: the law's unit of rank.
RANK_SCALE = 4


@dataclass(frozen=True, slots=True)
class StockInterests:
    """What one peer wants: boxes of one stock and a range of prices, closed at both ends."""

    market: StockMarket
    boxes: tuple[StockBox, ...]
    cells: frozenset[int]

    def cell(self, payload: Quote) -> int:
        """Return the cell of a quote."""
        return self.market.cell(payload)

    def matching(self, payload: Quote) -> list[int]:
        """Return the places of the subscriptions that a quote satisfies."""
        stock, price = payload
        return [place for place, (one, low, high) in enumerate(self.boxes) if stock == one and low <= price <= high]


@dataclass(frozen=True, slots=True)
class StockMarket:
    """The grid of stocks and price buckets, and the law by which interests and quotes are drawn."""

    stocks: int = 64
    buckets: int = 16
    alpha: float | None = None
    """Index of the Pareto law; None draws evenly."""
    catalog: tuple[StockBox, ...] = ()
    """The subscriptions in order of popularity; needed by the Pareto law alone."""

    @classmethod
    def pareto(cls, alpha: float, random: RandomNumbers, *, size: int = 1024) -> StockMarket:
        """Return a market where interests follow a Pareto law over a catalog of so many subscriptions."""
        even = cls()
        boxes = [even.draw_box(random) for _ in range(size)]
        stocks = [_rank(random, alpha, even.stocks) for _ in range(size)]  # a popular stock has many subscriptions
        return cls(
            alpha=alpha, catalog=tuple((stock, low, high) for stock, (_, low, high) in zip(stocks, boxes, strict=True))
        )

    @property
    def cell_count(self) -> int:
        """The cells of the grid."""
        return self.stocks * self.buckets

    def cell(self, quote: Quote) -> int:
        """Return the cell of a quote."""
        stock, price = quote
        return stock * self.buckets + min(self.buckets - 1, max(0, int(price)))

    def interests(self, boxes: Iterable[StockBox]) -> StockInterests:
        """Return the interests of a peer with these subscriptions."""
        held = tuple(boxes)
        cells = {
            stock * self.buckets + bucket
            for stock, low, high in held
            for bucket in range(self.cell((0, low)), self.cell((0, high)) + 1)
        }
        return StockInterests(self, held, frozenset(cells))

    def draw_interests(self, random: RandomNumbers) -> StockInterests:
        """Draw 1 to 3 subscriptions."""
        return self.interests(self.draw_box(random) for _ in range(1 + random.randrange(3)))

    def draw_box(self, random: RandomNumbers) -> StockBox:
        """Draw one subscription of 0.5 to 6 buckets."""
        if self.alpha is not None:
            return self.catalog[_rank(random, self.alpha, len(self.catalog))]
        width = random.uniform(0.5, 6.0)
        low = random.uniform(0.0, self.buckets - width)
        return random.randrange(self.stocks), low, low + width

    def draw_quote(self, random: RandomNumbers) -> Quote:
        """Draw an event."""
        if self.alpha is None:
            return random.randrange(self.stocks), random.uniform(0.0, self.buckets)
        stock, low, high = self.draw_box(random)
        return stock, random.uniform(low, high)


def _rank(random: RandomNumbers, alpha: float, count: int) -> int:
    """Draw a rank by the Pareto law: 0 is the most popular; what falls beyond the last is drawn evenly."""
    rank = int(RANK_SCALE * (random.paretovariate(alpha) - 1))
    return rank if rank < count else random.randrange(count)
