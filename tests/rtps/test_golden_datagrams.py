"""Real datagrams: what Cyclone DDS sent, read here, says what tshark says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rookery.rtps.announcements import decode_endpoint, decode_participant, read_payload
from rookery.rtps.identity import SEDP_PUBLICATIONS_WRITER, SEDP_SUBSCRIPTIONS_WRITER, SPDP_WRITER
from rookery.rtps.messages import decode_message, encode_message
from rookery.rtps.qos import INFINITE, XCDR1, XCDR2, Durability, Reliability
from rookery.rtps.submessages import (
    AckNack,
    Data,
    DataFragment,
    Gap,
    Heartbeat,
    HeartbeatFragment,
    InfoTimestamp,
    NackFragment,
    Submessage,
    ToParticipant,
)

CASES = json.loads((Path(__file__).parent.parent / "cases" / "rtps" / "cyclone.json").read_text())["cases"]
NAMES = {
    ToParticipant: "INFO_DST",
    InfoTimestamp: "INFO_TS",
    Data: "DATA",
    DataFragment: "DATA_FRAG",
    Heartbeat: "HEARTBEAT",
    HeartbeatFragment: "HEARTBEAT_FRAG",
    AckNack: "ACKNACK",
    NackFragment: "NACK_FRAG",
    Gap: "GAP",
}
DISCOVERY = (SPDP_WRITER, SEDP_PUBLICATIONS_WRITER, SEDP_SUBSCRIPTIONS_WRITER)


def numbers(submessage: Submessage) -> list[int]:
    match submessage:
        case Data() | DataFragment() | HeartbeatFragment() | NackFragment():
            return [submessage.sequence]
        case Heartbeat():
            return [submessage.first, submessage.last]
        case AckNack():
            return [submessage.missing.base]
    return []


def parameters(submessage: Submessage) -> list[str]:
    """Return the ids that tshark lists: those of inline QoS and of builtin payloads, each list with its sentinel."""
    if not isinstance(submessage, Data):
        return []
    found = [parameter.id for parameter in submessage.inline] + [1] * bool(submessage.inline)
    if submessage.writer in DISCOVERY and submessage.payload is not None:
        found += [parameter.id for parameter in read_payload(submessage.payload)[0]] + [1]
    return [f"0x{identity:04x}" for identity in found]


@pytest.mark.parametrize("case", CASES, ids=[f"{n} {case['name']}" for n, case in enumerate(CASES)])
def test_reads_what_tshark_reads(case: dict[str, Any]) -> None:
    message = decode_message(bytes.fromhex(case["octets"]))
    assert message.fault is None
    assert message.vendor == b"\x01\x10"
    assert [NAMES[type(submessage)] for submessage in message.submessages] == case["submessages"]
    entities = [s for s in message.submessages if not isinstance(s, ToParticipant | InfoTimestamp)]
    assert [f"0x{s.reader:08x}" for s in entities] == case["readers"]  # type: ignore[attr-defined]
    assert [f"0x{s.writer:08x}" for s in entities] == case["writers"]  # type: ignore[attr-defined]
    assert [number for s in entities for number in numbers(s)] == case["sequence_numbers"]
    if case["parameters"]:
        assert [identity for s in entities for identity in parameters(s)] == case["parameters"]


@pytest.mark.parametrize("little", [True, False], ids=["little", "big"])
def test_writing_again_what_was_read_changes_nothing(little: bool) -> None:
    for case in CASES:
        first = decode_message(bytes.fromhex(case["octets"]))
        again = decode_message(encode_message(first.prefix, first.submessages, little=little))
        assert again.fault is None
        assert again.submessages == first.submessages


def payload_of(name: str) -> bytes:
    octets = next(case["octets"] for case in CASES if name in case["name"])
    return next(
        s.payload for s in decode_message(bytes.fromhex(octets)).submessages if isinstance(s, Data) and s.payload
    )


def test_reads_what_cyclone_says_of_itself() -> None:
    found = decode_participant(payload_of("DATA(p)"))
    assert found.lease == 10_000_000
    assert found.domain_id == 7
    assert found.builtin_endpoints == 0xFC3F
    assert found.version == (2, 5)
    assert dict(found.properties)["__ProcessName"] == "python"
    assert [locator.octets[12:] for locator in found.metatraffic] == [b"\x7f\x00\x00\x01"]
    assert [parameter.id for parameter in found.vendor_parameters] == [0x8007, 0x8019]


def test_reads_what_cyclone_says_of_its_endpoints() -> None:
    writer, reader = decode_endpoint(payload_of("DATA(w)")), decode_endpoint(payload_of("DATA(r)"))
    assert (writer.topic, writer.type_name) == (reader.topic, reader.type_name) == ("hello", "test::Message")
    for endpoint in (writer, reader):
        assert endpoint.qos.reliability is Reliability.RELIABLE
        assert endpoint.qos.durability is Durability.TRANSIENT_LOCAL
        assert endpoint.qos.history_depth is None
        assert endpoint.qos.deadline == INFINITE
    assert writer.qos.representations == (XCDR1,)
    assert reader.qos.representations == (XCDR1, XCDR2)
    late = next(case for case in CASES if case["sequence_numbers"] == [7] and "DATA(w)" in case["name"])
    payload = next(s.payload for s in decode_message(bytes.fromhex(late["octets"])).submessages if isinstance(s, Data))
    assert payload is not None
    assert decode_endpoint(payload).qos.deadline == 2_000_000
    assert decode_endpoint(payload).qos.history_depth == 1
