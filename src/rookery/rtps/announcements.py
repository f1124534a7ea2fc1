"""What SPDP and SEDP say: a participant about itself, and about each of its endpoints, as parameter lists.

Three kinds of thing are announced and three forms exist for each: the value (these classes), the octets (`encode`), and
the key alone, which a dispose carries (`encode_key`). Reading follows the rule of parameter lists: what is not known is
left out, unless it must be understood. Absent parameters take the defaults of the standard.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache

from rookery.errors import WireFormatError
from rookery.rtps.identity import (
    BUILTIN_ENDPOINTS,
    PARTICIPANT,
    PROTOCOL_VERSION,
    VENDOR,
    Guid,
    guid_from_octets,
    is_reader,
    is_writer,
)
from rookery.rtps.locators import Locator, decode_locator
from rookery.rtps.octets import Cursor
from rookery.rtps.parameters import (
    MUST_UNDERSTAND,
    VENDOR_SPECIFIC,
    Parameter,
    ParameterId,
    encode_list,
    encode_string,
    encode_strings,
    read_list,
)
from rookery.rtps.policies import (
    decode_duration,
    decode_quality,
    decode_user_data,
    encode_duration,
    encode_quality,
    encode_user_data,
)
from rookery.rtps.qos import QualityOfService
from rookery.rtps.xtypes.information import TypeInformation, read_information

__all__ = [
    "ContentFilter",
    "EndpointAnnouncement",
    "ParticipantAnnouncement",
    "decode_endpoint",
    "decode_key",
    "decode_participant",
    "decode_shared_participant",
    "read_payload",
]

_PL_CDR = {True: b"\x00\x03\x00\x00", False: b"\x00\x02\x00\x00"}


@dataclass(frozen=True, slots=True)
class ParticipantAnnouncement:
    """DATA(p). `vendor_parameters` are carried as they are: discovery summaries travel there."""

    prefix: bytes
    lease: int
    metatraffic: tuple[Locator, ...]
    default: tuple[Locator, ...]
    domain_id: int | None = None
    domain_tag: str = ""
    builtin_endpoints: int = BUILTIN_ENDPOINTS
    version: tuple[int, int] = PROTOCOL_VERSION
    vendor: bytes = VENDOR
    name: str = ""
    properties: tuple[tuple[str, str], ...] = ()
    vendor_parameters: tuple[Parameter, ...] = ()
    #: The groups in which samples for this participant are heard.
    groups: tuple[Locator, ...] = ()
    #: What the owner says of the participant, for others to see.
    user_data: bytes = b""

    def encode(self, *, little: bool = True) -> bytes:
        """Return the payload of DATA(p)."""
        word = "<I" if little else ">I"
        parameters = [
            Parameter(ParameterId.PROTOCOL_VERSION, bytes(self.version)),
            Parameter(ParameterId.VENDOR, self.vendor),
            Parameter(ParameterId.PARTICIPANT_GUID, Guid(self.prefix, PARTICIPANT).octets()),
            Parameter(ParameterId.BUILTIN_ENDPOINT_SET, struct.pack(word, self.builtin_endpoints)),
            Parameter(ParameterId.LEASE_DURATION, encode_duration(self.lease, little=little)),
        ]
        if self.domain_id is not None:
            parameters.append(Parameter(ParameterId.DOMAIN_ID, struct.pack(word, self.domain_id)))
        if self.domain_tag:
            parameters.append(Parameter(ParameterId.DOMAIN_TAG, encode_string(self.domain_tag, little=little)))
        for locator in self.metatraffic:
            parameters.append(Parameter(ParameterId.METATRAFFIC_UNICAST_LOCATOR, locator.encode(little=little)))
        for locator in self.default:
            parameters.append(Parameter(ParameterId.DEFAULT_UNICAST_LOCATOR, locator.encode(little=little)))
        for locator in self.groups:
            parameters.append(Parameter(ParameterId.DEFAULT_MULTICAST_LOCATOR, locator.encode(little=little)))
        if self.name:
            parameters.append(Parameter(ParameterId.ENTITY_NAME, encode_string(self.name, little=little)))
        if self.user_data:
            parameters.append(encode_user_data(self.user_data, little=little))
        if self.properties:
            flat = [text for pair in self.properties for text in pair]
            octets = struct.pack(word, len(self.properties)) + encode_strings(flat, little=little)[4:]
            # Binary properties follow the plain ones; there are none.
            parameters.append(Parameter(ParameterId.PROPERTY_LIST, octets + bytes(4)))
        parameters += self.vendor_parameters
        return _PL_CDR[little] + encode_list(parameters, little=little)

    def encode_key(self, *, little: bool = True) -> bytes:
        """Return the payload that names the participant and says nothing else."""
        key = Parameter(ParameterId.PARTICIPANT_GUID, Guid(self.prefix, PARTICIPANT).octets())
        return _PL_CDR[little] + encode_list([key], little=little)


@dataclass(frozen=True, slots=True)
class ContentFilter:
    """What a reader wants of a topic: a condition in the language of a filter class, with parameters."""

    topic: str
    expression: str
    parameters: tuple[str, ...] = ()
    class_name: str = "DDSSQL"
    #: The name of the filtered topic, which only its owner uses.
    name: str = ""

    @property
    def is_ddssql(self) -> bool:
        """Whether the condition is in the language that every stack has."""
        return self.class_name == "DDSSQL" and bool(self.expression)

    @property
    def values(self) -> tuple[object, ...]:
        """The parameters as values: whole numbers, other numbers, or texts in quotation marks."""
        return tuple(map(_value_of, self.parameters))

    def encode(self, *, little: bool) -> bytes:
        """Return the octets of the parameter."""
        strings = (self.name or self.topic, self.topic, self.class_name, self.expression)
        said = b"".join(encode_string(text, little=little) for text in strings)
        return said + encode_strings(self.parameters, little=little)


def _value_of(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip("'`") if text[:1] in ("'", "`") else text


def _read_filter(cursor: Cursor) -> ContentFilter:
    strings = []
    for _ in range(4):
        cursor.align(4)
        strings.append(cursor.string())
    cursor.align(4)
    count = cursor.u32()
    if count * 4 > cursor.remaining:
        raise WireFormatError(f"{count} parameters of a filter claimed, {cursor.remaining} octets left")
    parameters = []
    for _ in range(count):
        cursor.align(4)
        parameters.append(cursor.string())
    name, topic, class_name, expression = strings
    return ContentFilter(topic, expression, tuple(parameters), class_name, name)


@dataclass(frozen=True, slots=True)
class EndpointAnnouncement:
    """DATA(w) or DATA(r): which of the two, the GUID's last octet says."""

    guid: Guid
    topic: str
    type_name: str
    qos: QualityOfService = field(default_factory=QualityOfService)
    locators: tuple[Locator, ...] = ()
    #: The names of the type, of those who say them; written little-endian only, as everything that is sent here is.
    type_information: TypeInformation | None = None
    #: What a reader wants of the topic, if not everything.
    content_filter: ContentFilter | None = None
    #: The description of the type itself, of those who say it instead of the names (Fast DDS 2); never written here.
    type_object: bytes = b""
    #: The groups in which a reader hears samples, where they are others than its participant's; never written here.
    groups: tuple[Locator, ...] = ()

    def encode(self, *, little: bool = True) -> bytes:
        """Return the payload of DATA(w) or DATA(r)."""
        parameters = [
            Parameter(ParameterId.ENDPOINT_GUID, self.guid.octets()),
            Parameter(ParameterId.TOPIC_NAME, encode_string(self.topic, little=little)),
            Parameter(ParameterId.TYPE_NAME, encode_string(self.type_name, little=little)),
            *encode_quality(self.qos, little=little),
        ]
        for locator in self.locators:
            parameters.append(Parameter(ParameterId.UNICAST_LOCATOR, locator.encode(little=little)))
        if self.content_filter is not None:
            parameters.append(Parameter(ParameterId.CONTENT_FILTER_PROPERTY, self.content_filter.encode(little=little)))
        if self.type_information is not None and little:
            parameters.append(Parameter(ParameterId.TYPE_INFORMATION, self.type_information.encode()))
        return _PL_CDR[little] + encode_list(parameters, little=little)

    def encode_key(self, *, little: bool = True) -> bytes:
        """Return the payload that names the endpoint and says nothing else."""
        return _PL_CDR[little] + encode_list([Parameter(ParameterId.ENDPOINT_GUID, self.guid.octets())], little=little)


def read_payload(payload: bytes) -> tuple[list[Parameter], bool]:
    """Return the parameters of a builtin payload and their byte order."""
    if len(payload) < 4 or payload[0] != 0 or payload[1] not in (2, 3):
        raise WireFormatError(f"encapsulation 0x{payload[:2].hex()} is not a parameter list")
    little = payload[1] == 3
    parameters = read_list(Cursor(payload, little=little, start=4))
    for parameter in parameters:
        if parameter.id & MUST_UNDERSTAND and parameter.id != ParameterId.DOMAIN_TAG:
            raise WireFormatError(f"parameter 0x{parameter.id:04x} must be understood and is not")
    return parameters, little


def decode_key(payload: bytes) -> Guid:
    """Return the GUID that a participant's or endpoint's payload is about."""
    parameters, _ = read_payload(payload)
    for wanted in (ParameterId.ENDPOINT_GUID, ParameterId.PARTICIPANT_GUID):
        for identity, value in parameters:
            if identity == wanted and len(value) >= 16:
                return guid_from_octets(value)
    raise WireFormatError("an announcement that names nobody")


def decode_participant(payload: bytes) -> ParticipantAnnouncement:
    """Read DATA(p); raise `WireFormatError` where it is wrong."""
    parameters, little = read_payload(payload)
    prefix: bytes | None = None
    lease, domain_id, domain_tag, name = 100_000_000, None, "", ""  # RTPS 2.5, table 9.14: 100 s when absent
    endpoints, version, vendor = 0, PROTOCOL_VERSION, b"\0\0"
    metatraffic: list[Locator] = []
    default: list[Locator] = []
    groups: list[Locator] = []
    properties: tuple[tuple[str, str], ...] = ()
    user_data = b""
    kept: list[Parameter] = []
    for parameter in parameters:
        cursor = parameter.cursor(little=little)
        match parameter.id:
            case ParameterId.PARTICIPANT_GUID:
                guid = guid_from_octets(cursor.take(16))
                if guid.entity != PARTICIPANT:
                    raise WireFormatError(f"a participant with entity id {guid.entity:08x}")
                prefix = guid.prefix
            case ParameterId.LEASE_DURATION:
                lease = decode_duration(cursor)
            case ParameterId.DOMAIN_ID:
                domain_id = cursor.u32()
            case ParameterId.DOMAIN_TAG:
                domain_tag = cursor.string()
            case ParameterId.BUILTIN_ENDPOINT_SET:
                endpoints = cursor.u32()
            case ParameterId.PROTOCOL_VERSION:
                major, minor = cursor.take(2)
                version = (major, minor)
            case ParameterId.VENDOR:
                vendor = cursor.take(2)
            case ParameterId.METATRAFFIC_UNICAST_LOCATOR:
                metatraffic.append(decode_locator(cursor))
            case ParameterId.DEFAULT_UNICAST_LOCATOR:
                default.append(decode_locator(cursor))
            case ParameterId.DEFAULT_MULTICAST_LOCATOR:
                groups.append(decode_locator(cursor))
            case ParameterId.ENTITY_NAME:
                name = cursor.string()
            case ParameterId.USER_DATA:
                user_data = decode_user_data(cursor)
            case ParameterId.PROPERTY_LIST:
                properties = _properties(cursor)
            case identity if identity & VENDOR_SPECIFIC:
                kept.append(parameter)
    if prefix is None:
        raise WireFormatError("an announcement that names no participant")
    return ParticipantAnnouncement(
        prefix, lease, tuple(metatraffic), tuple(default), domain_id, domain_tag,
        endpoints, version, vendor, name, properties, tuple(kept), tuple(groups), user_data,
    )  # fmt: skip


#: For what goes to everyone: the participants of one process read it once.
decode_shared_participant = lru_cache(maxsize=1_024)(decode_participant)


def _properties(cursor: Cursor) -> tuple[tuple[str, str], ...]:
    count = cursor.u32()
    if count * 8 > cursor.remaining:
        raise WireFormatError(f"{count} properties claimed, {cursor.remaining} octets left")
    pairs = []
    for _ in range(count):
        name = cursor.string()
        cursor.align(4)
        value = cursor.string()
        if cursor.remaining:
            cursor.align(4)
        pairs.append((name, value))
    return tuple(pairs)


def decode_endpoint(payload: bytes) -> EndpointAnnouncement:
    """Read DATA(w) or DATA(r); raise `WireFormatError` where it is wrong."""
    parameters, little = read_payload(payload)
    guid: Guid | None = None
    topic = type_name = ""
    locators: list[Locator] = []
    groups: list[Locator] = []
    information: TypeInformation | None = None
    wanted: ContentFilter | None = None
    type_object = b""
    for parameter in parameters:
        if parameter.id == ParameterId.ENDPOINT_GUID:
            guid = guid_from_octets(parameter.cursor(little=little).take(16))
        elif parameter.id == ParameterId.TOPIC_NAME:
            topic = parameter.cursor(little=little).string()
        elif parameter.id == ParameterId.TYPE_NAME:
            type_name = parameter.cursor(little=little).string()
        elif parameter.id == ParameterId.UNICAST_LOCATOR:
            locators.append(decode_locator(parameter.cursor(little=little)))
        elif parameter.id == ParameterId.MULTICAST_LOCATOR:
            groups.append(decode_locator(parameter.cursor(little=little)))
        elif parameter.id == ParameterId.CONTENT_FILTER_PROPERTY:
            wanted = _read_filter(parameter.cursor(little=little))
        elif parameter.id == ParameterId.TYPE_INFORMATION:
            # Older stacks write it otherwise (Fast DDS 2.9): they are taken by their type object, or by the name.
            with suppress(WireFormatError):
                information = read_information(parameter.value, little=little)
        elif parameter.id == ParameterId.TYPE_OBJECT:
            type_object = parameter.value
    if guid is None or not (is_reader(guid.entity) or is_writer(guid.entity)):
        raise WireFormatError("an announcement that names no reader or writer")
    if not topic or not type_name:
        raise WireFormatError("an endpoint without topic or type")
    qos = decode_quality(parameters, little=little, writer=is_writer(guid.entity))
    if information is not None:
        type_object = b""
    return EndpointAnnouncement(
        guid, topic, type_name, qos, tuple(locators), information, wanted, type_object, tuple(groups)
    )
