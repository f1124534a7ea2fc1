"""Two participants and a summary, once for each discovery protocol and once sealed: what they say is a golden file.

python tests/participant/summary_conversation.py > tests/cases/rtps/summaries.json
"""

from __future__ import annotations

import json
import sys

from rookery.discovery import PROTOCOLS
from rookery.rtps import Address, QualityOfService, Reliability
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant

__all__ = ["converse"]

SECRET = b"a key of 16 octets or more"
RELIABLE = QualityOfService(reliability=Reliability.RELIABLE)


class Recorded(SimulatedNetwork):
    """A network that keeps what was said."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.seen: list[tuple[int, Address, Address, bytes]] = []
        self.on_datagram = self._see

    def _see(self, sender: SimulatedParticipant, datagram: bytes, to: Address) -> None:
        self.seen.append((self.calendar.now, sender.address, to, datagram))


def converse(protocol: str, *, sealed: bool) -> list[tuple[int, Address, Address, bytes]]:
    """Let a server with some noise and a client of it meet; then the client leaves."""
    network = Recorded(7)
    options = {"discovery": protocol, "pre_shared_key": SECRET if sealed else None}
    server, client = (network.join(**options) for _ in range(2))
    common = {"qos": RELIABLE, "keyed": False, "now": 0}
    request = {"topic": "rq/addRequest", "type_name": "example::srv::dds_::Add_Request_", **common}
    reply = {"topic": "rr/addReply", "type_name": "example::srv::dds_::Add_Response_", **common}
    server.participant.create_reader(**request)
    server.participant.create_writer(**reply)
    # So many that the summary is repeated by reference.
    for number in range(120):
        server.participant.create_writer(f"rt/noise{number}", "example::msg::dds_::Noise_", **common)
    client.participant.create_writer(**request)
    client.participant.create_reader(**reply)
    server.flush()
    client.flush()
    network.run(3_100_000)
    client.leave()
    network.run(100_000)
    return network.seen


def main() -> None:
    """Write the golden file."""
    origin = (
        "two Rookery participants with summaries on the simulated network, tests/participant/summary_conversation.py"
    )
    lines = [
        json.dumps({"protocol": protocol, "sealed": sealed, "at": at, "to": str(to), "octets": datagram.hex()})
        for protocol in PROTOCOLS[1:]
        for sealed in (False, True)
        for at, _, to, datagram in converse(protocol, sealed=sealed)
    ]
    sys.stdout.write(f'{{"origin": "{origin}",\n "cases": [\n  ' + ",\n  ".join(lines) + "\n]}\n")


if __name__ == "__main__":
    main()
