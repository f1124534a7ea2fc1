"""The layered Golomb set in plain Python: strings of 0 and 1."""

from __future__ import annotations

from rookery.errors import FilterError

__all__ = ["decode_gaps", "encode_gaps", "layer_bits"]


def encode_gaps(values: list[int], *, drop: int, rice: int) -> str:
    """Return the gaps of the sorted `values` >> `drop` in Rice code."""
    parts, before = [], 0
    for value in values:
        gap = (value >> drop) - before
        before = value >> drop
        parts.append("1" * (gap >> rice) + "0" + (f"{gap & (1 << rice) - 1:0{rice}b}" if rice else ""))
    return "".join(parts)


def decode_gaps(code: str, *, rice: int, count: int) -> tuple[list[int], str]:
    """Return `count` values and the rest of the code."""
    values, value = [], 0
    for _ in range(count):
        quotient = code.find("0")
        if quotient < 0 or len(code) < quotient + 1 + rice:
            raise FilterError("truncated")
        value += quotient << rice | int("0" + code[quotient + 1 : quotient + 1 + rice], 2)
        code = code[quotient + 1 + rice :]
        values.append(value)
    return values, code


def layer_bits(values: list[int], *, remainder_bits: int, rice: int) -> list[str]:
    """Return for each layer after the base the next bit of every value, in sorted order."""
    return ["".join(str(value >> place & 1) for value in values) for place in range(remainder_bits - rice - 1, -1, -1)]
