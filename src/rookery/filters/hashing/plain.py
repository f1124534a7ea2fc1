"""What hashing needs of single numbers: XXH3's own secret, and a mix of 64 bits."""

from __future__ import annotations

__all__ = ["DEFAULT_SECRET", "fmix64"]

_ALL = (1 << 64) - 1

#: XXH3's own secret: without a domain key everyone hashes alike.
DEFAULT_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)


def fmix64(value: int) -> int:
    """Mix 64 bits one to one (the finalizer of MurmurHash3)."""
    value ^= value >> 33
    value = value * 0xFF51AFD7ED558CCD & _ALL
    value ^= value >> 33
    value = value * 0xC4CEB9FE1A85EC53 & _ALL
    return value ^ value >> 33
