"""What joining costs here and what relaying costs in Mirinae, by the formulas of the seed (002, section V; spec 2.10).

An identity of d bits of which m are set is missed by a `*` of an event's identity cover with (1 - 1/d)^(d-m), so a peer
gets an event it does not want with p_m = 1 - (1 - 1/d)^(d-m); with every bit set with probability ½,
p = Σ p_m · C(d, m) / 2^d, which tends to 1 - e^(-½). `join_fanout` is the seed's k: join messages sent at each round.
"""

from __future__ import annotations

from math import exp, lgamma, log

__all__ = ["crossover", "join_overhead", "relay_overhead", "unwanted_probability"]


def unwanted_probability(bit_count: int) -> float:
    """Return p of equations 3 to 6: the chance that a Mirinae peer gets an event it does not want."""
    total = 0.0
    for ones in range(bit_count + 1):
        # C(d, m) / 2^d by logarithms: the integers themselves have thousands of digits
        share = exp(lgamma(bit_count + 1) - lgamma(ones + 1) - lgamma(bit_count - ones + 1) - bit_count * log(2))
        total += share * (1 - (1 - 1 / bit_count) ** (bit_count - ones))
    return total


def join_overhead(*, bit_count: int, peer_count: int, join_rate: float, join_fanout: float = 1.0) -> float:
    """Return messages per second that the overlay spends on joins: k · d/2 · ln n · λjoin (proposition 2)."""
    return join_fanout * bit_count / 2 * log(peer_count) * join_rate


def relay_overhead(*, bit_count: int, peer_count: int, publish_rate: float) -> float:
    """Return messages per second that Mirinae spends on unwanted events: p · ln n · λpub (proposition 3)."""
    return unwanted_probability(bit_count) * log(peer_count) * publish_rate


def crossover(*, bit_count: int, join_fanout: float = 1.0) -> float:
    """Return λpub/λjoin at which the two are equal: k·d / (2p)."""
    return join_fanout * bit_count / (2 * unwanted_probability(bit_count))
