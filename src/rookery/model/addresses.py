"""Internet addresses: what a text names, in a form whose order is that of the addresses.

The address of a text is `4` and eight hexadecimal digits, or `6` and thirty-two. A network is then a range of such
texts, so that any number of networks on one field are ranges of one computed attribute.

Rule 1: a text that is no address has none, so a network says nothing of it: UNKNOWN, in and not in. Leading zeros
(`010.0.0.1`), spaces, ports, zones (`fe80::1%eth0`) and networks are none.
Rule 2: IPv4 and IPv6 are two families; `::ffff:10.0.0.1` is an IPv6 address and lies in no IPv4 network.
Rule 3: a network has no host bits (`10.0.0.1/8` is refused); an address alone is the network of it.
"""

from __future__ import annotations

import ipaddress

import numpy as np
import pyarrow as pa

__all__ = ["address_column", "address_of", "network_range"]


def address_of(text: str) -> str | None:
    """Return the address that a text names, None if it names none."""
    try:
        address = ipaddress.ip_address(text) if "%" not in text else None
    except ValueError:
        return None
    return None if address is None else f"{address.version}{address.packed.hex()}"


def network_range(text: str) -> tuple[str, str]:
    """Return the first and the last address of a network; ValueError says what is wrong, or which network it is."""
    try:
        network = ipaddress.ip_network(text, strict=False) if "%" not in text else None
    except ValueError:
        network = None
    if network is None:
        raise ValueError(f"{text!r} is no network")
    if str(text).partition("/")[0] != str(network.network_address) and (
        address_of(text.partition("/")[0]) != f"{network.version}{network.network_address.packed.hex()}"
    ):
        raise ValueError(f"{text!r} has host bits; the network is {str(network)!r}")
    return tuple(  # type: ignore[return-value]
        f"{network.version}{one.packed.hex()}" for one in (network.network_address, network.broadcast_address)
    )


def address_column(texts: pa.Array) -> pa.Array:
    """Return the addresses of an array of large strings, NULL where a text names none."""
    # Spark asks a process of its own for each plan, offset and commit of a source or sink: those need no compiler.
    from rookery.model.address_kernels import WIDTH, write_addresses

    valid = np.ones(len(texts), np.bool_)
    if texts.null_count:
        valid = texts.is_valid().to_numpy(zero_copy_only=False)
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2] or b"\0", np.uint8)
    found = np.zeros((len(texts), WIDTH), np.uint8)
    lengths = np.zeros(len(texts), np.int32)
    write_addresses(data, offsets, valid, found, lengths)
    starts = np.concatenate([np.zeros(1, np.int32), np.cumsum(lengths, dtype=np.int32)])
    letters = found[np.arange(WIDTH) < lengths[:, None]]
    bitmap = np.packbits(lengths > 0, bitorder="little")
    return pa.StringArray.from_buffers(
        len(texts), pa.py_buffer(starts), pa.py_buffer(letters), pa.py_buffer(bitmap), int((lengths == 0).sum())
    )
