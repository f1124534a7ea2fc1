"""The run-length code in plain Python, on strings of 0 and 1, as seed 001 says it.

A non-empty entry is its slot bits and one bit for the number of copies; a run of empty ones is a zero and three bits.
"""

from __future__ import annotations

from rookery.errors import FilterError

__all__ = ["decode_runs", "encode_runs"]


def encode_runs(slots: list[int], width: int) -> str:
    """Return the run-length code as a string of 0 and 1."""
    parts, slot = [], 0
    while slot < len(slots):
        run = 1
        longest = 2 if slots[slot] else 8
        while run < longest and slot + run < len(slots) and slots[slot + run] == slots[slot]:
            run += 1
        parts.append(f"{slots[slot]:0{width}b}{run - 1}" if slots[slot] else f"0{run - 1:03b}")
        slot += run
    return "".join(parts)


def decode_runs(code: str, width: int, slot_count: int) -> list[int]:
    """Return the slots behind a string of 0 and 1."""
    slots: list[int] = []
    while len(slots) < slot_count:
        length = width + 1 if code[:1] == "1" else 4
        if len(code) < length:
            raise FilterError("truncated")
        if code[0] == "1":
            slots += [int(code[:width], 2)] * (1 + int(code[width]))
        else:
            slots += [0] * (1 + int(code[1:4], 2))
        if len(slots) > slot_count:
            raise FilterError("run passes end of table")
        code = code[length:]
    if code:
        raise FilterError("trailing bits")
    return slots
