"""One conversation between two participants, always the same: the source of our own golden datagrams.

Run as a program it writes them again: `python tests/participant/conversation.py > tests/cases/rtps/rookery.json`.
"""

from __future__ import annotations

import json
import sys

from rookery.rtps import Address, Durability, Guid, QualityOfService, Reliability, SampleKind
from rookery.rtps.parameters import Parameter
from rookery.rtps.qos import Liveliness
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant

QOS = QualityOfService(
    reliability=Reliability.RELIABLE,
    durability=Durability.TRANSIENT_LOCAL,
    history_depth=4,
    liveliness=Liveliness.MANUAL_BY_PARTICIPANT,
    liveliness_lease=1_000_000,
)
#: 2026-01-01, so that the timestamps of samples are plausible.
EPOCH = 1_767_225_600_000_000


class Tap(SimulatedNetwork):
    """A network that writes down everything, and loses what it shall."""

    def __init__(self) -> None:
        super().__init__(seed=7)
        self.seen: list[tuple[int, Address, Address, bytes]] = []
        self.lose: set[int] = set()
        self.on_datagram = self._see

    def _see(self, sender: SimulatedParticipant, datagram: bytes, to: Address) -> None:
        # What is to be lost is sent into a cut, which ends with the next datagram.
        (self.world.cut if len(self.seen) in self.lose else self.world.mend)(sender.address, to)
        self.seen.append((self.calendar.now, sender.address, to, datagram))


def converse() -> list[tuple[int, Address, Address, bytes]]:
    """Discover, write (with loss, in fragments, with the end of an instance), delete, leave."""
    network = Tap()
    one = network.join(epoch=EPOCH, name="one", vendor_parameters=(Parameter(0x8F01, b"summary!"),))
    other = network.join(epoch=EPOCH)
    create = {"type_name": "test::Quote", "qos": QOS, "keyed": True}
    writer = one.participant.create_writer("quotes", **create, now=one.now)
    reader = other.participant.create_reader("quotes", **create, now=other.now)
    for member in (one, other):
        member.flush()
    network.run(400_000)
    assert one.participant.matched(writer) == (reader,)

    def write(payload: bytes, kind: SampleKind = SampleKind.ALIVE, *, lost: bool = False) -> None:
        if lost:
            network.lose.add(len(network.seen))
        one.participant.write(writer, payload, now=one.now, kind=kind, key_hash=bytes(16))
        one.flush()
        network.run(300_000)

    write(b"\0\1\0\0" + b"first...")
    write(b"\0\1\0\0" + b"second..", lost=True)
    write(b"\0\1\0\0" + bytes(range(256)) * 12, lost=True)
    write(b"\0\1\0\0" + b"key.", SampleKind.DISPOSED)
    one.participant.assert_liveliness(one.now, writer=writer)
    one.flush()
    network.run(300_000)
    late = other.participant.create_reader("quotes", **create, now=other.now)
    other.flush()
    network.run(300_000)
    for guid in (reader, late):
        delete(other, guid)
    delete(one, writer)
    network.run(300_000)
    one.leave()
    network.run(100_000)
    return network.seen


def delete(member: SimulatedParticipant, guid: Guid) -> None:
    member.participant.delete_endpoint(guid, member.now)
    member.flush()


def main() -> None:
    """Write the golden file."""
    origin = "two Rookery participants on the simulated network, tests/participant/conversation.py"
    lines = [
        json.dumps({"at": at, "from": str(sender), "to": str(to), "octets": datagram.hex()})
        for at, sender, to, datagram in converse()
    ]
    sys.stdout.write(f'{{"origin": "{origin}",\n "cases": [\n  ' + ",\n  ".join(lines) + "\n]}\n")


if __name__ == "__main__":
    main()
