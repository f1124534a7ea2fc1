"""How a key becomes 64 bits, and who can compute them.

Rule 1: a key is a string; it is hashed as UTF-8 with XXH3-64 to H, and h = H for seed 0, else fmix64(H ^ fmix64(seed))
(spec 2.1). The expensive hash of a topic is taken once; re-salting it for another seed is one multiplication chain.
Rule 2: without a key, anyone on the wire can guess topic names and test the guesses against a summary. With a
pre-shared key the secret of XXH3 is derived from it with BLAKE2b, one secret per domain (spec 2.8); the seed in a
header stays public and only re-salts. XXH3 is no message authentication code: a domain key hides names from outsiders
who see summaries, it does not stop a member of the domain.
Rule 3: batches arrive as Arrow string arrays and are read from their buffers; nothing here makes a Python object for
each key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
import xxhash
from numpy.typing import NDArray

from rookery.errors import FilterError
from rookery.filters.hashing.kernels import hash_strings
from rookery.filters.hashing.plain import DEFAULT_SECRET, fmix64

__all__ = ["DomainKey", "KeyHasher", "Keys", "endpoint_key", "fmix64", "string_buffers"]

#: A batch of keys: an Arrow string array (fast), or any sequence of `str`.
Keys: TypeAlias = Any

_SEED_LIMIT = 1 << 32
_CAST_ROWS = 1 << 16


def endpoint_key(*, kind: str, topic: str, type_name: str) -> str:
    """Return the key of one endpoint: kind `W` (writer) or `R` (reader), topic and type, parted by U+001F."""
    if kind not in ("W", "R"):
        raise FilterError(f"kind is {kind!r}; write 'W' for a writer or 'R' for a reader")
    return f"{kind}\x1f{topic}\x1f{type_name}"


@dataclass(frozen=True, slots=True)
class DomainKey:
    """The secret of one domain, derived from a pre-shared key; its `repr` shows no secret."""

    secret: bytes = field(repr=False)

    @classmethod
    def derive(cls, pre_shared_key: bytes, *, domain: int = 0) -> DomainKey:
        """Derive the 192-byte secret of `domain`: three keyed BLAKE2b digests over (domain, counter)."""
        if len(pre_shared_key) < 16:
            raise FilterError("a pre-shared key has at least 16 bytes; give a random one")
        key = blake2b(pre_shared_key, digest_size=64).digest()
        parts = (
            blake2b(domain.to_bytes(8, "little") + bytes([part]), key=key, person=b"rookery-summary")
            for part in range(3)
        )
        return cls(b"".join(part.digest() for part in parts))


class KeyHasher:
    """The hash function of one filter: public seed, optional domain key."""

    __slots__ = ("_salt", "_secret", "domain_key", "salt", "secret", "seed")

    def __init__(self, *, seed: int = 0, domain_key: DomainKey | None = None) -> None:
        if not 0 <= seed < _SEED_LIMIT:
            raise FilterError(f"seed is {seed}; it is an unsigned 32-bit number")
        self.seed = seed
        self.domain_key = domain_key
        self._salt = fmix64(seed)
        self._secret = DEFAULT_SECRET if domain_key is None else domain_key.secret
        self.salt = np.uint64(self._salt)
        self.secret: NDArray[np.uint8] = np.frombuffer(self._secret, dtype=np.uint8)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyHasher) and (self.seed, self._secret) == (other.seed, other._secret)

    def __hash__(self) -> int:
        return hash((self.seed, self._secret))

    def __call__(self, key: str) -> int:
        """Return the 64-bit hash of one key."""
        data = _utf8(key)
        if self.domain_key is None:
            value = int(xxhash.xxh3_64_intdigest(data))
            return fmix64(value ^ self._salt) if self._salt else value
        hashes = np.empty(1, dtype=np.uint64)
        offsets = np.array([0, len(data)], dtype=np.int32)
        hash_strings(offsets, np.frombuffer(data or b"\0", dtype=np.uint8), self.secret, self.salt, hashes)
        return int(hashes[0])

    def many(self, keys: Keys) -> NDArray[np.uint64]:
        """Return the hashes of a batch, in order."""
        parts = []
        for offsets, data in string_buffers(keys):
            hashes = np.empty(offsets.size - 1, dtype=np.uint64)
            hash_strings(offsets, data, self.secret, self.salt, hashes)
            parts.append(hashes)
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint64)


def _utf8(key: str) -> bytes:
    try:
        return key.encode()
    except (AttributeError, UnicodeEncodeError) as fault:
        raise FilterError(f"a key is a string that UTF-8 can write, not {key!r}") from fault


def string_buffers(keys: Keys) -> Iterator[tuple[NDArray[np.int32], NDArray[np.uint8]]]:
    """Yield (offsets, bytes) for each contiguous run of `keys`, without copying an Arrow string array."""
    import pyarrow

    if isinstance(keys, pyarrow.ChunkedArray):
        chunks: Iterable[Any] = keys.chunks
    elif isinstance(keys, pyarrow.Array):
        chunks = [keys]
    else:
        chunks = [_arrow_strings(keys)]
    for chunk in chunks:
        for part in _plain_strings(chunk):
            if part.null_count:
                raise FilterError(f"{part.null_count} of {len(part)} keys are null; drop them first")
            _, offsets, data = part.buffers()
            if len(part) == 0:
                continue
            window = np.frombuffer(offsets, dtype=np.int32)[part.offset : part.offset + len(part) + 1]
            if data is None or data.size == 0:
                yield window, np.zeros(1, dtype=np.uint8)
            else:
                yield window, np.frombuffer(data, dtype=np.uint8)


def _arrow_strings(keys: Iterable[str]) -> Any:
    import pyarrow

    listed: Sequence[str] = keys if isinstance(keys, (list, tuple)) else list(keys)
    try:
        made = pyarrow.array(listed)  # inferred, so that bytes are seen and refused instead of taken for strings
    except (pyarrow.ArrowException, UnicodeEncodeError) as fault:
        raise FilterError(f"keys are strings: {fault}") from fault
    return made if listed else made.cast(pyarrow.string())


def _plain_strings(chunk: Any) -> Iterator[Any]:
    """Yield `chunk` as arrays with 32-bit offsets; large, viewed and dictionary strings are cast by slices."""
    import pyarrow

    if chunk.type == pyarrow.string():
        yield chunk
        return
    kinds = pyarrow.types
    value_type = chunk.type.value_type if kinds.is_dictionary(chunk.type) else chunk.type
    if not (kinds.is_string(value_type) or kinds.is_large_string(value_type) or kinds.is_string_view(value_type)):
        raise FilterError(f"keys are strings, not {chunk.type}; cast the column first")
    for start in range(0, len(chunk), _CAST_ROWS):
        yield chunk.slice(start, _CAST_ROWS).cast(pyarrow.string())
