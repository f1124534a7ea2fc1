"""Types of endpoints, ours and theirs: offered to who asks, asked for where they differ, and compared.

Two types of one hash are one type, and nothing is asked. Where the hashes differ the other's description is asked for
by the type lookup service, once for each participant, and the pair waits until it is there: a pair is made only of
types that fit, and one that does not is refused with the member that stands in the way. An endpoint that announces the
description itself is judged by that. One that announces no type information, or comes without the service to explain
it, is taken by the name of its type; how often that happened, the counter `unverified_type` says.

The endpoints of the service are matched when there is something to ask or to answer, so that participants who have
nothing for each other exchange nothing here either.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, Literal

from rookery.errors import WireFormatError
from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.context import ParticipantContext
from rookery.rtps.events import SampleKind, TypesLearned
from rookery.rtps.history import History
from rookery.rtps.identity import PARTICIPANT, Guid
from rookery.rtps.qos import XCDR1, TypeConsistency
from rookery.rtps.reader import Reader, Received
from rookery.rtps.types import CdrStruct, Type
from rookery.rtps.writer import Writer
from rookery.rtps.xtypes.assignability import mismatch, undelimited
from rookery.rtps.xtypes.identifiers import TypeHash, hash_of
from rookery.rtps.xtypes.information import AnnouncedType, TypeInformation
from rookery.rtps.xtypes.lookup import (
    LOOKUP_ENDPOINTS,
    REPLY_READER,
    REPLY_WRITER,
    REQUEST_READER,
    REQUEST_WRITER,
    TypeReply,
    TypeRequest,
    encode_dependencies,
    encode_types,
)
from rookery.rtps.xtypes.objects import TypeObject, assemble, describe, read_object
from rookery.rtps.xtypes.plain_objects import plain_mismatch, read_plain_object

__all__ = ["TypeLookup", "Verdict"]

#: Whether two types fit: yes, not yet known, or the reason why not.
Verdict = Literal["fits", "asked"] | tuple[Literal["apart"], str]

#: Of a pair whose types cannot be compared, where the reader's policy is that they have to be.
_INSISTED: Final = ("apart", "the reader insists on types that can be compared, and not both are known")
#: Names in one question or answer: with long names of members an answer still fits into one datagram.
_NAMES_AT_ONCE: Final = 32
_REPLY_BYTES: Final = 32 << 10
#: How long an answer may take before the question is put again, at first; then ever more slowly.
_PATIENCE: Final = 2_000_000
_LONGEST_PATIENCE: Final = 32_000_000


class TypeLookup:
    """The types that one participant knows; `resolved` is called when a participant's types can be judged."""

    def __init__(self, context: ParticipantContext, *, resolved: Callable[[bytes, int], None]) -> None:
        self._context = context
        self._resolved = resolved
        self._own: dict[TypeHash, bytes] = {}
        self._parts: dict[TypeHash, tuple[tuple[TypeHash, int], ...]] = {}
        self._structs: dict[TypeHash, Type] = {}
        self._objects: dict[TypeHash, TypeObject] = {}
        self._octets: dict[TypeHash, bytes] = {}
        #: Of each participant, the objects that it told, with their sizes; what nobody tells any more is forgotten.
        self._told: dict[bytes, dict[TypeHash, int]] = {}
        self._tellers: Counter[TypeHash] = Counter()
        #: What a participant was asked for and has not answered; what it did not know; for what there was no room.
        self._asked: dict[bytes, set[TypeHash]] = {}
        self._untold: dict[bytes, set[TypeHash]] = {}
        self._crowded: dict[bytes, set[TypeHash]] = {}
        self._requests: dict[int, tuple[bytes, frozenset[TypeHash]]] = {}
        self._number = 0
        self.writers: dict[int, Writer] = {}
        for entity in (REQUEST_WRITER, REPLY_WRITER):
            history = History(depth=None, keeps_for_late_readers=False, at_most=1 << 16)
            self.writers[entity] = Writer(Guid(context.prefix, entity), history=history, context=context)
        self.readers: dict[int, Reader] = {}
        for entity, deliver in ((REQUEST_READER, self._answer), (REPLY_READER, self._learn)):
            self.readers[entity] = Reader(Guid(context.prefix, entity), deliver=deliver, context=context)

    # ---- what is judged ------------------------------------------------------------------------------------------

    def offer(self, type: CdrStruct | AnnouncedType) -> TypeInformation | None:
        """Take in a type of our own, or one that we announce for another, and return what to announce of it."""
        if isinstance(type, AnnouncedType):
            return self._offer_for(type)
        described = describe(type)
        information = TypeInformation.of(described)
        self._own.update(described.objects())
        self._structs[described.minimal] = type
        self._parts[described.minimal] = information.minimal_parts[1:]
        self._parts[described.complete] = information.complete_parts[1:]
        return information

    def _offer_for(self, type: AnnouncedType) -> TypeInformation | None:
        """Take in another's type; it is kept from then on, and None without room for it: then its name has to do."""
        information, found = type
        octets = {hash_of(each[4], each): each for each in found if len(each) > 4}
        size = sum(len(each) for name, each in octets.items() if name not in self._own)
        if information.minimal is None or self._context.type_bytes + size > self._context.limits.type_bytes:
            self._context.counters["type_bytes"] += information.minimal is not None
            return None
        try:
            objects = {name: read_object(each) for name, each in octets.items()}
            whole = assemble(information.complete or information.minimal, objects)
        except WireFormatError:
            return None
        self._context.type_bytes += size
        self._own.update(octets)
        self._parts[information.minimal] = information.minimal_parts[1:]
        if information.complete is not None:
            self._parts[information.complete] = information.complete_parts[1:]
        if not isinstance(whole, frozenset):
            self._structs.setdefault(information.minimal, whole)
        return information

    def offered(self, information: TypeInformation | None) -> Type | None:
        """Return the type that is announced by that information, if it is known whole."""
        return None if information is None or information.minimal is None else self._structs.get(information.minimal)

    def objects_of(self, endpoint: EndpointAnnouncement, now: int) -> tuple[bytes, ...] | None:
        """Return the objects of a type, to announce it in another's place; None while they are being asked for."""
        information, prefix = endpoint.type_information, endpoint.guid.prefix
        if information is None:
            return ()
        names = _names_of(information)
        missing = names - self._own.keys() - self._octets.keys() - self._untold.get(prefix, set())
        missing -= self._crowded.get(prefix, set())
        if missing and prefix != self._context.prefix and self._can_be_asked(prefix, TypeInformation(None, None)):
            self._ask(prefix, missing - self._asked.get(prefix, set()), now)
            return None
        found = (self._own.get(name) or self._octets.get(name) for name in sorted(names))
        return tuple(each for each in found if each is not None)

    def judge(self, *, writer: EndpointAnnouncement, reader: EndpointAnnouncement, now: int) -> Verdict:
        """Say whether the types of a pair fit; what is needed for that is asked for."""
        we_read = reader.guid.prefix == self._context.prefix
        local, remote = (reader, writer) if we_read else (writer, reader)
        theirs, ours = remote.type_information, local.type_information
        by = reader.qos.type_consistency
        if ours is None or ours.minimal is None:
            return _INSISTED if by.forces_validation else "fits"
        if theirs is None:
            return self._judge_plain(remote, self._structs.get(ours.minimal), we_read=we_read, by=by)
        if theirs.minimal == ours.minimal:
            return "fits"
        there = self.type_of(remote, now)
        if there is None:
            if self._crowded.get(remote.guid.prefix, set()) & _names_of(theirs):
                return ("apart", f"its type has no room here: the limit is {self._context.limits.type_bytes} bytes")
            if self._can_be_asked(remote.guid.prefix, theirs):
                return "asked"
            return _INSISTED if by.forces_validation else "fits"
        here = self._structs.get(ours.minimal)
        if here is None:  # another's type, of which not all objects are known
            return self._by_name(by)
        reads, writes = (here, there) if we_read else (there, here)
        apart = mismatch(reads, writes, by=by)
        if apart is None and writer.qos.representations[0] == XCDR1:
            apart = undelimited(reads, writes)
        return "fits" if apart is None else ("apart", apart.told(we_read=we_read))

    def _by_name(self, by: TypeConsistency) -> Verdict:
        """Judge a pair of which only the names of the types are known."""
        if by.forces_validation:
            return _INSISTED
        self._context.counters["unverified_type"] += 1
        return "fits"

    def _judge_plain(
        self, remote: EndpointAnnouncement, here: Type | None, *, we_read: bool, by: TypeConsistency
    ) -> Verdict:
        """Judge by the description in the announcement; without one, the name of the type has to do."""
        there = _plain_type(remote)
        if here is None or not isinstance(there, CdrStruct):
            return self._by_name(by)
        apart = plain_mismatch(here, there, we_read=we_read, by=by)
        return "fits" if apart is None else ("apart", apart.told(we_read=we_read))

    def type_of(self, remote: EndpointAnnouncement, now: int) -> Type | None:
        """Return the type that an endpoint announced, if it is known; if not it is asked for."""
        information = remote.type_information
        if information is None:
            return _plain_type(remote)
        name = information.complete or information.minimal
        if name is None:
            return None
        if name in self._own and information.minimal in self._structs:
            return self._structs[information.minimal]
        found = assemble(name, self._objects)
        if not isinstance(found, frozenset):
            return found
        told = {part for part, _ in information.complete_parts or information.minimal_parts}
        prefix = remote.guid.prefix
        missing = (found | told) - self._objects.keys() - self._asked.get(prefix, set())
        if not self._can_be_asked(prefix, information):
            self._context.counters["unverified_type"] += 1
        elif not self._crowded.get(prefix, set()) & (found | told):
            self._ask(prefix, missing, now)
        return None

    def _can_be_asked(self, prefix: bytes, information: TypeInformation) -> bool:
        peer = self._context.peers.get(prefix)
        if peer is None or peer.announcement.builtin_endpoints & LOOKUP_ENDPOINTS != LOOKUP_ENDPOINTS:
            return False
        return not self._untold.get(prefix, set()) & _names_of(information)

    # ---- asking --------------------------------------------------------------------------------------------------

    def _ask(self, prefix: bytes, names: set[TypeHash] | frozenset[TypeHash], now: int) -> None:
        if names:
            self._asked.setdefault(prefix, set()).update(names)
            self._put(prefix, frozenset(names), _PATIENCE, now)

    def _put(self, prefix: bytes, names: frozenset[TypeHash], patience: int, now: int) -> None:
        """Put a question, and again until it is answered."""
        peer = self._context.peers.get(prefix)
        if peer is None:
            return
        destination = peer.metatraffic_destination
        if Guid(prefix, REPLY_WRITER) not in self.readers[REPLY_READER].writers:
            self.readers[REPLY_READER].match(
                Guid(prefix, REPLY_WRITER), destination=destination, reliable=True, from_first=True, now=now
            )
        self._serve(prefix, REQUEST_WRITER, now)
        ordered = sorted(names)
        for start in range(0, len(ordered), _NAMES_AT_ONCE):
            some = tuple(ordered[start : start + _NAMES_AT_ONCE])
            self._number += 1
            self._requests[self._number] = (prefix, frozenset(some))
            request = TypeRequest(self.writers[REQUEST_WRITER].guid, self._number, some)
            instance = f"dds.builtin.TOS.{Guid(prefix, PARTICIPANT).octets().hex()}"
            self._write(REQUEST_WRITER, prefix, request.encode(instance), now)
        again = min(2 * patience, _LONGEST_PATIENCE)
        self._context.deadlines.arm(("types", prefix), now + patience, partial(self._again, prefix, again))

    def _again(self, prefix: bytes, patience: int, now: int) -> None:
        names = self._asked.get(prefix)
        if names:
            self._requests = {number: each for number, each in self._requests.items() if each[0] != prefix}
            self._put(prefix, frozenset(names), patience, now)

    def _learn(self, writer: Guid, received: Received, now: int) -> None:
        try:
            reply = TypeReply.decode(received.payload) if received.kind is SampleKind.ALIVE else None
            known = [] if reply is None else [(name, octets, read_object(octets)) for name, octets in reply.objects]
        except WireFormatError as error:
            self._context.reject(str(error))
            return
        if reply is None or reply.asker != self.writers[REQUEST_WRITER].guid:
            return
        prefix, names = self._requests.pop(reply.number, (b"", frozenset()))
        if prefix != writer.prefix:
            return
        for name, octets, found in known:
            if name in names:
                self._keep(prefix, name, octets, found)
        asked = self._asked.get(prefix, set())
        self._untold.setdefault(prefix, set()).update(names & asked - {name for name, _, _ in known})
        asked -= names
        if not asked:
            self._context.deadlines.cancel(("types", prefix))
        self._context.report(TypesLearned(prefix))
        self._resolved(prefix, now)

    def _keep(self, prefix: bytes, name: TypeHash, octets: bytes, found: TypeObject) -> None:
        told, size_bytes = self._told.setdefault(prefix, {}), len(octets)
        if name in told:
            return
        if self._context.type_bytes + size_bytes > self._context.limits.type_bytes:
            self._context.counters["type_bytes"] += 1
            self._crowded.setdefault(prefix, set()).add(name)
            return
        told[name] = size_bytes
        self._context.type_bytes += size_bytes
        self._tellers[name] += 1
        self._objects[name], self._octets[name] = found, octets

    # ---- answering -----------------------------------------------------------------------------------------------

    def _answer(self, writer: Guid, received: Received, now: int) -> None:
        try:
            request = TypeRequest.decode(received.payload)
        except WireFormatError as error:
            self._context.reject(str(error))
            return
        if self._context.peers.get(writer.prefix) is None or received.kind is not SampleKind.ALIVE:
            return
        self._serve(writer.prefix, REPLY_WRITER, now)
        names = request.names[: self._context.limits.endpoints_per_participant]
        if request.dependencies:
            parts = dict(part for name in names for part in self._parts.get(name, ()))
            self._write(REPLY_WRITER, writer.prefix, encode_dependencies(request, tuple(parts.items())), now)
            return
        for some in _portions((name, self._own[name]) for name in dict.fromkeys(names) if name in self._own):
            self._write(REPLY_WRITER, writer.prefix, encode_types(request, some), now)

    def _serve(self, prefix: bytes, entity: int, now: int) -> None:
        reader = Guid(prefix, REQUEST_READER if entity == REQUEST_WRITER else REPLY_READER)
        peer = self._context.peers.get(prefix)
        if peer is not None and reader not in self.writers[entity].readers:
            self.writers[entity].match(
                reader,
                destination=peer.metatraffic_destination,
                reliable=True,
                with_history=False,
                now=now,
                wants=lambda instance: instance.startswith(prefix),
            )

    def _write(self, entity: int, prefix: bytes, payload: bytes, now: int) -> None:
        # An instance of its own that begins with the receiver's name: each reader hears of its own alone, and of the
        # others' numbers by a GAP.
        instance = prefix + struct.pack(">Q", self.writers[entity].history.last)
        self.writers[entity].write(SampleKind.ALIVE, instance, payload, timestamp=None, now=now)

    # ---- the wire ------------------------------------------------------------------------------------------------

    def reader_of(self, writer: Guid, now: int) -> Reader | None:
        """Return the reader of a service's writer; one that asks is listened to from its first word on."""
        if writer.entity == REPLY_WRITER:
            return self.readers[REPLY_READER] if writer in self.readers[REPLY_READER].writers else None
        reader, peer = self.readers[REQUEST_READER], self._context.peers.get(writer.prefix)
        if peer is not None and writer not in reader.writers:
            destination = peer.metatraffic_destination
            reader.match(writer, destination=destination, reliable=True, from_first=True, now=now, expected=True)
        return reader

    def be_asked(self, prefix: bytes, entity: int, now: int) -> Writer:
        """Return a writer of the service for a reader that speaks to it: unmodified peers do so at once."""
        self._serve(prefix, entity, now)
        return self.writers[entity]

    def forget(self, prefix: bytes) -> None:
        """Stop talking to a participant that is gone."""
        self.writers[REQUEST_WRITER].unmatch(Guid(prefix, REQUEST_READER))
        self.writers[REPLY_WRITER].unmatch(Guid(prefix, REPLY_READER))
        self.readers[REQUEST_READER].unmatch(Guid(prefix, REQUEST_WRITER))
        self.readers[REPLY_READER].unmatch(Guid(prefix, REPLY_WRITER))
        self._context.deadlines.cancel(("types", prefix))
        self._asked.pop(prefix, None)
        self._untold.pop(prefix, None)
        self._crowded.pop(prefix, None)
        for name, size_bytes in self._told.pop(prefix, {}).items():
            self._context.type_bytes -= size_bytes
            self._tellers[name] -= 1
            if not self._tellers[name]:
                del self._tellers[name], self._objects[name], self._octets[name]
        self._requests = {number: each for number, each in self._requests.items() if each[0] != prefix}


def _plain_type(remote: EndpointAnnouncement) -> Type | None:
    try:
        return read_plain_object(remote.type_object) if remote.type_object else None
    except WireFormatError:
        return None


def _names_of(information: TypeInformation) -> set[TypeHash]:
    parts = (*information.complete_parts, *information.minimal_parts)
    return {name for name, _ in parts}


def _portions(objects: Iterator[tuple[TypeHash, bytes]]) -> Iterator[list[tuple[TypeHash, bytes]]]:
    """Cut objects into answers that fit a datagram; at least one, since an empty answer is one too."""
    portion: list[tuple[TypeHash, bytes]] = []
    for name, octets in objects:
        if portion and sum(len(each) for _, each in portion) + len(octets) > _REPLY_BYTES:
            yield portion
            portion = []
        portion.append((name, octets))
    yield portion
