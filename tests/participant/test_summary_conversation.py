"""What participants with summaries say, octet for octet, and that a client and its server have met by then.

When a change is meant, write the file again: `python tests/participant/summary_conversation.py > …/summaries.json`.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from rookery.discovery import PROTOCOLS
from rookery.rtps.messages import decode_message
from rookery.rtps.submessages import Data

GOLDEN = Path(__file__).parent.parent / "cases" / "rtps" / "summaries.json"


@pytest.fixture(scope="module")
def conversation() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "summary_conversation", Path(__file__).with_name("summary_conversation.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("sealed", [False, True], ids=["open", "sealed"])
@pytest.mark.parametrize("protocol", PROTOCOLS[1:])
def test_the_conversation_is_the_golden_one(conversation: ModuleType, protocol: str, sealed: bool) -> None:
    said = [(at, str(to), octets.hex()) for at, _, to, octets in conversation.converse(protocol, sealed=sealed)]
    golden = [
        (case["at"], case["to"], case["octets"])
        for case in json.loads(GOLDEN.read_text())["cases"]
        if (case["protocol"], case["sealed"]) == (protocol, sealed)
    ]
    assert said == golden


def test_both_halves_of_a_service_are_announced_and_the_noise_is_not() -> None:
    for case in json.loads(GOLDEN.read_text())["cases"]:
        octets = bytes.fromhex(case["octets"])
        for said in decode_message(octets).submessages:
            if isinstance(said, Data) and said.writer in (0x3C2, 0x4C2) and said.payload:
                assert b"rt/noise" not in said.payload or case["protocol"] == "bloom"
    records = [
        said.payload or b""
        for case in json.loads(GOLDEN.read_text())["cases"]
        if (case["protocol"], case["sealed"]) == ("ribbon", True)
        for said in decode_message(bytes.fromhex(case["octets"])).submessages
        if isinstance(said, Data) and said.writer in (0x3C2, 0x4C2)
    ]
    assert sum(b"rq/addRequest" in record for record in records) == 2
    assert sum(b"rr/addReply" in record for record in records) == 2
