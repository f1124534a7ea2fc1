"""How a summary travels: vendor parameters of DATA(p), and the seal that says who made it.

| parameter | value |
|---|---|
| 0x8F01, summary | a container of `rookery.filters`, padded to a multiple of four; the last octet counts the padding |
| 0x8F02, seal | sixteen octets, the last parameter of the list |

Participants of other vendors leave both out, as parameter lists demand (RTPS 2.5, 9.4.2.11). The epoch inside the
container is the sequence number of the DATA(p) that carries it; a container under another number is not believed.

An *observer* says with a flag and no filter that it wants to hear of everything. A *reference* (magic 0xD0) stands for
a summary that is too large to be repeated: `<B 0xD0, B version, B 0, B magic of the structure, I epoch, I size,
8 octets of BLAKE2b>`; who does not have that summary asks for it (`rookery.participant.retrieval`).

With a pre-shared key the payload is sealed: keyed BLAKE2b over the domain, the sequence number and everything before
the seal, so that neither the summary nor an address or lease can be changed, and an old announcement is old by its own
number. The seal proves a member of the domain, not which one.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from rookery.errors import FilterError
from rookery.rtps.parameters import Parameter, ParameterId

if TYPE_CHECKING:
    from rookery.filters import DomainKey

__all__ = [
    "REFERENCE",
    "SEAL",
    "SUMMARY",
    "Reference",
    "Seal",
    "carried_container",
    "container_digest",
    "decode_reference",
    "decode_summary",
    "is_observer",
    "observer_container",
    "summary_name",
    "summary_parameter",
]

SUMMARY = 0x8F01
SEAL = 0x8F02
REFERENCE = 0xD0
_VERSION = 1
_RIBBON, _GOLOMB, _BLOOM = 0xD1, 0xD2, 0xD3
_NAMES = {0xCF: "cuckoo", 0xDB: "tree", _RIBBON: "ribbon", _GOLOMB: "golomb", _BLOOM: "bloom", 0xD4: "hashes"}
_OBSERVER, _KEYED = 0x01, 0x02
_OBSERVER_HEADER = struct.Struct("<BBBBII8x")
_REFERENCE = struct.Struct("<BBBBII8s")
_TAG_OCTETS = 16
_END = struct.pack("<HH", ParameterId.SENTINEL, 0)
_SEAL_HEAD = struct.pack("<HH", SEAL, _TAG_OCTETS)
_SHARED_OCTETS = 1_400


def summary_parameter(container: bytes) -> Parameter:
    """Return the parameter that carries a container."""
    padding = 4 - len(container) % 4
    return Parameter(SUMMARY, container + bytes(padding - 1) + bytes((padding,)))


def carried_container(parameters: Iterable[Parameter]) -> bytes | None:
    """Return the container among some parameters; None where there is none, empty where it is none."""
    for parameter in parameters:
        if parameter.id == SUMMARY:
            padding = parameter.value[-1] if parameter.value else 0
            return parameter.value[:-padding] if 1 <= padding <= 4 else b""
    return None


def observer_container(*, epoch: int, keyed: bool = False) -> bytes:
    """Return the container of a participant that wants to hear of everything."""
    flags = _OBSERVER | (_KEYED if keyed else 0)
    return _OBSERVER_HEADER.pack(_RIBBON, _VERSION, flags, 0, epoch & 0xFFFFFFFF, 0)


def is_observer(container: bytes) -> bool:
    """Say whether a container has the observer flag."""
    return len(container) > 2 and container[0] in (_RIBBON, _GOLOMB, _BLOOM) and bool(container[2] & _OBSERVER)


def summary_name(container: bytes) -> str:
    """Return the protocol whose summary a container is, `observer`, or `unknown`."""
    if is_observer(container):
        return "observer"
    magic = container[3] if len(container) > 3 and container[0] == REFERENCE else (container or b"\0")[0]
    return _NAMES.get(magic, "unknown")


def decode_summary(container: bytes, domain_key: DomainKey | None = None) -> Any:
    """Read a container, whatever the structure; raise `FilterError` where it is none.

    Several participants in one process, as in the simulator, read the same one: it is kept, unless it is large.
    """
    return (_decode_shared if len(container) <= _SHARED_OCTETS else _decode)(container, domain_key)


def _decode(container: bytes, domain_key: DomainKey | None) -> Any:
    from rookery.discovery.hashes import HASHES, HashList
    from rookery.filters import from_bytes

    if container[:1] == bytes((HASHES,)):
        return HashList.from_bytes(container, domain_key=domain_key)
    return from_bytes(container, domain_key=domain_key)


_decode_shared = lru_cache(maxsize=1_024)(_decode)


class Reference(NamedTuple):
    """What stands for a summary that is to be asked for."""

    structure: int
    epoch: int
    size: int
    digest: bytes

    def encode(self) -> bytes:
        """Return the container."""
        return _REFERENCE.pack(REFERENCE, _VERSION, 0, self.structure, self.epoch & 0xFFFFFFFF, self.size, self.digest)


def container_digest(container: bytes) -> bytes:
    """Return the eight octets that a reference names a container by."""
    return blake2b(container, digest_size=8).digest()


def decode_reference(container: bytes) -> Reference | None:
    """Read a reference; None where the container is a summary itself."""
    if container[:1] != bytes((REFERENCE,)):
        return None
    if len(container) != _REFERENCE.size:
        raise FilterError(f"a reference of {len(container)} octets")
    _, version, reserved, structure, epoch, size, digest = _REFERENCE.unpack(container)
    if version != _VERSION or reserved:
        raise FilterError("bad header: no such reference")
    return Reference(structure, epoch, size, digest)


@dataclass(frozen=True, slots=True)
class Seal:
    """Seals announcements and knows its own; its `repr` shows no secret."""

    key: bytes = field(repr=False)
    domain_id: int

    @classmethod
    def derive(cls, pre_shared_key: bytes, *, domain_id: int) -> Seal:
        """Make the seal of a domain."""
        if len(pre_shared_key) < 16:
            raise FilterError("a pre-shared key has at least 16 octets; give a random one")
        return cls(blake2b(pre_shared_key, digest_size=32, person=b"rookery-seal").digest(), domain_id)

    def close(self, payload: bytes, *, sequence: int) -> bytes:
        """Return a parameter list with the seal in its last place."""
        body = payload[: -len(_END)]
        return body + _SEAL_HEAD + self._tag(body, sequence) + _END

    def is_whole(self, payload: bytes, *, sequence: int) -> bool:
        """Say whether a payload was sealed with this key under this number and not changed since."""
        head = len(payload) - len(_END) - _TAG_OCTETS - len(_SEAL_HEAD)
        if head < 4 or payload[head : head + 4] != _SEAL_HEAD or payload[-4:] != _END:
            return False
        return hmac.compare_digest(payload[head + 4 : -4], self._tag(payload[:head], sequence))

    def _tag(self, body: bytes, sequence: int) -> bytes:
        signed = struct.pack("<IQ", self.domain_id, sequence) + body
        return blake2b(signed, key=self.key, digest_size=_TAG_OCTETS).digest()
