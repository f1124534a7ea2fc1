"""The questions and answers about types: what is asked can be read, and no payload breaks what follows it."""

from __future__ import annotations

import pytest

from rookery.errors import WireFormatError
from rookery.rtps.identity import Guid
from rookery.rtps.types import CdrMember, CdrStruct, Primitive
from rookery.rtps.xtypes.identifiers import MINIMAL, TypeHash
from rookery.rtps.xtypes.lookup import TypeReply, TypeRequest, encode_dependencies, encode_types
from rookery.rtps.xtypes.objects import describe

ASKER = Guid(b"0123456789ab", 0x000300C3)
DESCRIBED = describe(CdrStruct("T", (CdrMember("a", Primitive.INT8),)))


@pytest.mark.parametrize("count", range(5))
def test_payloads_are_filled_up_to_four_octets_and_say_so(count: int) -> None:
    """Cyclone DDS takes a payload for malformed that is not, if another submessage follows."""
    names = tuple(TypeHash(MINIMAL, bytes((number,)) * 14) for number in range(count))
    request = TypeRequest(ASKER, 7, names)
    payloads = [
        request.encode("dds.builtin.TOS.0123"),
        encode_types(request, list(DESCRIBED.objects().items())[:count]),
        encode_dependencies(request, [(name, 20) for name in names]),
    ]
    for payload in payloads:
        assert len(payload) % 4 == 0
        assert payload[:2] == b"\0\7"
    assert TypeRequest.decode(payloads[0]) == request
    reply = TypeReply.decode(payloads[1])
    assert reply is not None
    assert dict(reply.objects) == dict(list(DESCRIBED.objects().items())[:count])


def test_an_object_of_another_name_is_refused() -> None:
    request = TypeRequest(ASKER, 7, ())
    wrong = encode_types(request, [(TypeHash(MINIMAL, bytes(14)), DESCRIBED.parts[0][1])])
    with pytest.raises(WireFormatError):
        TypeReply.decode(wrong)
