"""XXH3-64 over the buffers of an Arrow string array: one pass, no Python object per key.

Rule: a block of keys is hashed into a small array, and the caller then prefetches and probes that block (hash →
prefetch → probe). The plain twin is `tests.twins.xxh3`; the default secret must also agree with the
`xxhash` library, which is tested.

The function follows the public description of XXH3 with seed 0 and a 192-byte secret; another secret makes it the
keyed hash of a domain (spec 2.8). Every load is unaligned and stays inside the key's own bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as _numba_intrinsic
from numba.extending import overload
from numpy.typing import NDArray

from rookery.kernels import kernel

__all__ = ["BLOCK", "fmix64", "hash_block", "hash_strings", "intrinsic", "load64", "mulhi64", "prefetch"]

#: The length of every secret: XXH3's own, and those derived for a domain.
SECRET_BYTES = 192

#: Keys hashed before the first of them is probed: 8 KiB of hashes stay in L1, and the loops end too rarely to matter.
BLOCK = 1024


def intrinsic(function: Callable[..., Any]) -> Any:
    """Make a function that writes LLVM instructions callable from kernels."""
    return _numba_intrinsic(function)


def _unaligned_load(builder: Any, address: Any, bits: int) -> Any:
    value = builder.load(builder.inttoptr(address, ir.IntType(bits).as_pointer()))
    value.align = 1
    return value if bits == 64 else builder.zext(value, ir.IntType(64))


@intrinsic
def load64(typing_context: Any, address: Any) -> Any:
    """Load eight little-endian bytes at `address`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _unaligned_load(builder, arguments[0], 64)

    return types.uint64(types.int64), generate


@intrinsic
def load32(typing_context: Any, address: Any) -> Any:
    """Load four little-endian bytes at `address`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _unaligned_load(builder, arguments[0], 32)

    return types.uint64(types.int64), generate


@intrinsic
def load8(typing_context: Any, address: Any) -> Any:
    """Load the byte at `address`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _unaligned_load(builder, arguments[0], 8)

    return types.uint64(types.int64), generate


@intrinsic
def mulhi64(typing_context: Any, left: Any, right: Any) -> Any:
    """Return the upper half of the 128-bit product."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def swap64(typing_context: Any, value: Any) -> Any:
    """Reverse the bytes of a 64-bit word."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def _ask_for(typing_context: Any, array: Any, index: Any) -> Any:

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        owner = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.bitcast(builder.gep(owner.data, [arguments[1]]), cgutils.voidptr_t)
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [pointer, ir.Constant(word, 0), ir.Constant(word, 3), ir.Constant(word, 1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


def prefetch(array: Any, index: Any) -> None:
    """Ask for the cache line that holds item `index` of a flat array; nothing waits for it. Uncompiled: nothing."""


@overload(prefetch)  # type: ignore[untyped-decorator]
def _prefetch(array: Any, index: Any) -> Any:
    def ask(array: Any, index: Any) -> None:
        _ask_for(array, index)

    return ask


_P32_1 = np.uint64(0x9E3779B1)
_P32_2 = np.uint64(0x85EBCA77)
_P32_3 = np.uint64(0xC2B2AE3D)
_P64_1 = np.uint64(0x9E3779B185EBCA87)
_P64_2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P64_3 = np.uint64(0x165667B19E3779F9)
_P64_4 = np.uint64(0x85EBCA77C2B2AE63)
_P64_5 = np.uint64(0x27D4EB2F165667C5)
_MIX_SHORT = np.uint64(0x9FB21C651E98DF25)
_MIX_LAST = np.uint64(0x165667919E3779F9)
_FMIX_1 = np.uint64(0xFF51AFD7ED558CCD)
_FMIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
_LOW32 = np.uint64(0xFFFFFFFF)
_1, _8, _15, _16, _24, _28, _29 = (np.uint64(n) for n in (1, 8, 15, 16, 24, 28, 29))
_32, _33, _35, _37, _40, _47, _49 = (np.uint64(n) for n in (32, 33, 35, 37, 40, 47, 49))


@kernel
def fmix64(value: np.uint64) -> np.uint64:
    """Mix 64 bits one to one (the finalizer of MurmurHash3)."""
    value = np.uint64(value)
    value ^= value >> _33
    value *= _FMIX_1
    value ^= value >> _33
    value *= _FMIX_2
    value ^= value >> _33
    return value


@kernel
def _avalanche(value: np.uint64) -> np.uint64:
    value ^= value >> _37
    value *= _MIX_LAST
    value ^= value >> _32
    return value


@kernel
def _avalanche_short(value: np.uint64) -> np.uint64:
    value ^= value >> _33
    value *= _P64_2
    value ^= value >> _29
    value *= _P64_3
    value ^= value >> _32
    return value


@kernel
def _fold(left: np.uint64, right: np.uint64) -> np.uint64:
    folded: np.uint64 = (left * right) ^ mulhi64(left, right)
    return folded


@kernel
def _mix16(at: int, secret: int) -> np.uint64:
    return _fold(load64(at) ^ load64(secret), load64(at + 8) ^ load64(secret + 8))


@kernel
def _hash_16(at: int, length: int, secret: int) -> np.uint64:
    """Hash at most 16 bytes."""
    size = np.uint64(length)
    if length > 8:
        low = load64(at) ^ (load64(secret + 24) ^ load64(secret + 32))
        high = load64(at + length - 8) ^ (load64(secret + 40) ^ load64(secret + 48))
        return _avalanche(size + swap64(low) + high + _fold(low, high))
    if length >= 4:
        value = load32(at + length - 4) + (load32(at) << _32)
        value ^= load64(secret + 8) ^ load64(secret + 16)
        value ^= ((value << _49) | (value >> _15)) ^ ((value << _24) | (value >> _40))
        value *= _MIX_SHORT
        value ^= (value >> _35) + size
        value *= _MIX_SHORT
        value ^= value >> _28
        return np.uint64(value)
    if length > 0:
        first, middle, last = load8(at), load8(at + (length >> 1)), load8(at + length - 1)
        combined = (first << _16) | (middle << _24) | last | (size << _8)
        return _avalanche_short(combined ^ (load32(secret + 0) ^ load32(secret + 4)))
    return _avalanche_short(load64(secret + 56) ^ load64(secret + 64))


@kernel
def _hash_128(at: int, length: int, secret: int) -> np.uint64:
    """Hash 17 to 128 bytes: pairs of 16 from both ends towards the middle."""
    total = np.uint64(length) * _P64_1
    end = at + length
    if length > 32:
        if length > 64:
            if length > 96:
                total += _mix16(at + 48, secret + 96) + _mix16(end - 64, secret + 112)
            total += _mix16(at + 32, secret + 64) + _mix16(end - 48, secret + 80)
        total += _mix16(at + 16, secret + 32) + _mix16(end - 32, secret + 48)
    total += _mix16(at, secret + 0) + _mix16(end - 16, secret + 16)
    return _avalanche(total)


@kernel
def _hash_240(at: int, length: int, secret: int) -> np.uint64:
    """Hash 129 to 240 bytes."""
    total = np.uint64(length) * _P64_1
    for step in range(8):
        total += _mix16(at + 16 * step, secret + 16 * step)
    total = _avalanche(total)
    for step in range(8, length // 16):
        total += _mix16(at + 16 * step, secret + 16 * (step - 8) + 3)
    return _avalanche(total + _mix16(at + length - 16, secret + 119))


@kernel
def _accumulate(lanes: NDArray[np.uint64], at: int, secret: int) -> None:
    for lane in range(8):
        value = load64(at + 8 * lane)
        keyed = value ^ load64(secret + 8 * lane)
        lanes[lane ^ 1] += value
        lanes[lane] += (keyed & _LOW32) * (keyed >> _32)


@kernel
def _hash_long(at: int, length: int, secret: int) -> np.uint64:
    """Hash more than 240 bytes: eight lanes over stripes of 64."""
    lanes = np.empty(8, dtype=np.uint64)
    lanes[0], lanes[1], lanes[2], lanes[3] = _P32_3, _P64_1, _P64_2, _P64_3
    lanes[4], lanes[5], lanes[6], lanes[7] = _P64_4, _P32_2, _P64_5, _P32_1
    size = SECRET_BYTES
    stripes = (size - 64) // 8
    blocks = (length - 1) // (64 * stripes)
    for block in range(blocks):
        for stripe in range(stripes):
            _accumulate(lanes, at + 64 * (block * stripes + stripe), secret + 8 * stripe)
        for lane in range(8):
            value = lanes[lane]
            lanes[lane] = ((value ^ (value >> _47)) ^ load64(secret + size - 64 + 8 * lane)) * _P32_1
    done = blocks * stripes
    for stripe in range((length - 1 - 64 * done) // 64):
        _accumulate(lanes, at + 64 * (done + stripe), secret + 8 * stripe)
    _accumulate(lanes, at + length - 64, secret + size - 64 - 7)
    total = np.uint64(length) * _P64_1
    for pair in range(4):
        left = lanes[2 * pair] ^ load64(secret + 11 + 16 * pair)
        total += _fold(left, lanes[2 * pair + 1] ^ load64(secret + 19 + 16 * pair))
    return _avalanche(total)


@kernel
def hash_block(
    offsets: NDArray[np.int32],
    data: NDArray[np.uint8],
    first: int,
    last: int,
    secret: NDArray[np.uint8],
    salt: np.uint64,
    hashes: NDArray[np.uint64],
) -> None:
    """Write the hashes of keys `first` … `last` − 1 into `hashes`; `salt` is fmix64(seed), 0 for seed 0."""
    base, key = data.ctypes.data, secret.ctypes.data
    for index in range(np.uint64(last - first)):
        start = int(offsets[np.uint64(first) + index])
        length = int(offsets[np.uint64(first) + index + _1]) - start
        at = base + start
        if length <= 16:
            value = _hash_16(at, length, key)
        elif length <= 32:  # the length of most topics, kept short: two products
            value = _avalanche(np.uint64(length) * _P64_1 + _mix16(at, key) + _mix16(at + length - 16, key + 16))
        elif length <= 128:
            value = _hash_128(at, length, key)
        elif length <= 240:
            value = _hash_240(at, length, key)
        else:
            value = _hash_long(at, length, key)
        if salt != np.uint64(0):
            value = fmix64(value ^ salt)
        hashes[index] = value


@kernel
def hash_strings(
    offsets: NDArray[np.int32],
    data: NDArray[np.uint8],
    secret: NDArray[np.uint8],
    salt: np.uint64,
    hashes: NDArray[np.uint64],
) -> None:
    """Hash every key of an Arrow string array into `hashes`."""
    hash_block(offsets, data, 0, offsets.size - 1, secret, salt, hashes)
