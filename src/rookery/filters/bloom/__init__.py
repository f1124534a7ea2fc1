"""Bloom filters, plain and counting: the two sizes everything else is compared with.

    `BloomFilter`          m bits, k positions per key; no removal
    `CountingBloomFilter`  m counters of four bits; the owner removes; the wire carries bits only

Container (magic 0xD3): the shared twelve bytes with k as the small parameter and flag bit 2 = counters, then
`<I m>`, then m bits, MSB first, zero padding; with the counters flag, m nibbles, high nibble first, instead.
"""

from __future__ import annotations

from rookery.filters.bloom.counting import CountingBloomFilter
from rookery.filters.bloom.filter import BloomFilter

__all__ = ["BloomFilter", "CountingBloomFilter"]
