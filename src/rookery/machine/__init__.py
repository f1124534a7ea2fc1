"""What every machine is: a class without I/O that is told what happened and says what is to be done."""

from rookery.machine.protocol import (
    ClientId,
    Close,
    Compute,
    ComputeFailed,
    Effect,
    Emit,
    Machine,
    Multicast,
    Node,
    Read,
    Send,
    Write,
)

__all__ = [
    "ClientId",
    "Close",
    "Compute",
    "ComputeFailed",
    "Effect",
    "Emit",
    "Machine",
    "Multicast",
    "Node",
    "Read",
    "Send",
    "Write",
]
