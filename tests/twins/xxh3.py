"""XXH3-64 in plain Python, straight from its public description: the twin of the hashing kernels, one key at a time.

The library `xxhash` offers no secret, so this is the only other voice on keyed hashing. Rule: no cleverness here.
"""

from __future__ import annotations

from rookery.filters.hashing.plain import DEFAULT_SECRET

__all__ = ["xxh3_64"]

_ALL = (1 << 64) - 1

_P32_1, _P32_2, _P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D


_P64_1, _P64_2, _P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9


_P64_4, _P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def _word(data: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _rotate(value: int, by: int) -> int:
    return (value << by | value >> (64 - by)) & _ALL


def _avalanche(value: int) -> int:
    value ^= value >> 37
    value = value * 0x165667919E3779F9 & _ALL
    return value ^ value >> 32


def _avalanche_short(value: int) -> int:
    value ^= value >> 33
    value = value * _P64_2 & _ALL
    value ^= value >> 29
    value = value * _P64_3 & _ALL
    return value ^ value >> 32


def _fold(left: int, right: int) -> int:
    product = left * right
    return product & _ALL ^ product >> 64


def _mix16(data: bytes, at: int, secret: bytes, within: int) -> int:
    return _fold(_word(data, at) ^ _word(secret, within), _word(data, at + 8) ^ _word(secret, within + 8))


def _up_to_16(data: bytes, secret: bytes) -> int:
    size = len(data)
    if size > 8:
        low = _word(data, 0) ^ _word(secret, 24) ^ _word(secret, 32)
        high = _word(data, size - 8) ^ _word(secret, 40) ^ _word(secret, 48)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche(size + swapped + high + _fold(low, high) & _ALL)
    if size >= 4:
        value = _word(data, size - 4, 4) + (_word(data, 0, 4) << 32) ^ _word(secret, 8) ^ _word(secret, 16)
        value ^= _rotate(value, 49) ^ _rotate(value, 24)
        value = value * 0x9FB21C651E98DF25 & _ALL
        value ^= (value >> 35) + size
        value = value * 0x9FB21C651E98DF25 & _ALL
        return value ^ value >> 28
    if size:
        combined = data[0] << 16 | data[size >> 1] << 24 | data[-1] | size << 8
        return _avalanche_short(combined ^ _word(secret, 0, 4) ^ _word(secret, 4, 4))
    return _avalanche_short(_word(secret, 56) ^ _word(secret, 64))


def _up_to_240(data: bytes, secret: bytes) -> int:
    size = len(data)
    total = size * _P64_1
    if size <= 128:
        for step in range((size - 1) // 32 + 1):
            total += _mix16(data, 16 * step, secret, 32 * step)
            total += _mix16(data, size - 16 * (step + 1), secret, 32 * step + 16)
        return _avalanche(total & _ALL)
    total = _avalanche((total + sum(_mix16(data, 16 * step, secret, 16 * step) for step in range(8))) & _ALL)
    for step in range(8, size // 16):
        total += _mix16(data, 16 * step, secret, 16 * (step - 8) + 3)
    return _avalanche((total + _mix16(data, size - 16, secret, 119)) & _ALL)


def _accumulate(lanes: list[int], data: bytes, at: int, secret: bytes, within: int) -> None:
    for lane in range(8):
        value = _word(data, at + 8 * lane)
        keyed = value ^ _word(secret, within + 8 * lane)
        lanes[lane ^ 1] = lanes[lane ^ 1] + value & _ALL
        lanes[lane] = lanes[lane] + (keyed & 0xFFFFFFFF) * (keyed >> 32) & _ALL


def _over_240(data: bytes, secret: bytes) -> int:
    size, within = len(data), len(secret)
    lanes = [_P32_3, _P64_1, _P64_2, _P64_3, _P64_4, _P32_2, _P64_5, _P32_1]
    stripes = (within - 64) // 8
    for stripe in range((size - 1) // 64):
        _accumulate(lanes, data, 64 * stripe, secret, 8 * (stripe % stripes))
        if stripe % stripes == stripes - 1:
            for lane, value in enumerate(lanes):
                lanes[lane] = (value ^ value >> 47 ^ _word(secret, within - 64 + 8 * lane)) * _P32_1 & _ALL
    _accumulate(lanes, data, size - 64, secret, within - 71)
    total = size * _P64_1
    for pair in range(4):
        left = lanes[2 * pair] ^ _word(secret, 11 + 16 * pair)
        total += _fold(left, lanes[2 * pair + 1] ^ _word(secret, 19 + 16 * pair))
    return _avalanche(total & _ALL)


def xxh3_64(data: bytes, secret: bytes = DEFAULT_SECRET) -> int:
    """Return XXH3-64 of `data` with seed 0 under a secret of 192 bytes."""
    if len(data) <= 16:
        return _up_to_16(data, secret)
    if len(data) <= 240:
        return _up_to_240(data, secret)
    return _over_240(data, secret)
