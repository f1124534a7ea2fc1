"""What a stranger's summary may do to a participant: nothing that a plain announcement could not do."""

from __future__ import annotations

from typing import Any

import pytest

from rookery.discovery.carriage import Seal, observer_container, summary_parameter
from rookery.discovery.hashes import HashList
from rookery.discovery.interests import interest_of
from rookery.filters import BloomTree, SubNode
from rookery.machine import Emit, Send
from rookery.participant import Participant, ParticipantConfiguration
from rookery.rtps import Address, Limits, QualityOfService, Reliability
from rookery.rtps.announcements import ParticipantAnnouncement
from rookery.rtps.events import (
    Event,
    FoundTopic,
    MessageRejected,
    ParticipantDiscovered,
    ParticipantLost,
    TreeSearched,
)
from rookery.rtps.identity import SEDP_PUBLICATIONS_READER, SEDP_PUBLICATIONS_WRITER, SPDP_READER, SPDP_WRITER
from rookery.rtps.locators import Locator
from rookery.rtps.messages import decode_message, encode_message
from rookery.rtps.parameters import Parameter, ParameterId
from rookery.rtps.sequences import NumberSet
from rookery.rtps.submessages import AckNack, Data, Heartbeat, Submessage, ToParticipant

HERE = Address("127.0.0.1", 9_000)
SECRET = b"a key of 16 octets or more"
SEAL = Seal.derive(SECRET, domain_id=0)
RELIABLE = QualityOfService(reliability=Reliability.RELIABLE)


class Victim:
    """A participant that goes by summaries, with a writer of `topic`."""

    def __init__(self, *, key: bytes | None = None, discovery: str = "ribbon", **limits: int) -> None:
        self.participant = Participant(
            ParticipantConfiguration(
                prefix=b"victim......", unicast=HERE, limits=Limits(**limits), discovery=discovery, pre_shared_key=key
            )
        )
        self.participant.create_writer("topic", "T", RELIABLE, keyed=False, now=0)
        self.participant.create_writer("other", "T", RELIABLE, keyed=False, now=0)
        self.now = 0
        self.participant.start(0)
        self.pass_time(1_000_000)

    def pass_time(self, microseconds: int) -> list[bytes]:
        """Let time pass and return what was sent."""
        end, sent = self.now + microseconds, []
        while (due := self.participant.timer()) is not None and due <= end:
            self.now = max(self.now, due)
            self.participant.wake(self.now)
            sent += [effect.message for effect in self.participant.effects() if isinstance(effect, Send)]
        self.now = end
        return sent

    def hear(self, who: int, data: Submessage, *, proved: bool = True) -> tuple[list[Event], set[bytes]]:
        """Receive what a stranger says; return what happened, and to whom HEARTBEATs of SEDP went."""
        self.now += 1_000
        address = address_of(who)
        prelude = [ToParticipant(self.participant.prefix)] if proved else []
        octets = encode_message(prefix_of(who), [*prelude, data])
        self.participant.receive_many((octets,), address, self.now)
        effects = self.participant.effects()
        events = [effect.event for effect in effects if isinstance(effect, Emit)]
        return events, contacted_by([effect.message for effect in effects if isinstance(effect, Send)])

    @property
    def counters(self) -> dict[str, int]:
        return self.participant.counters


def contacted_by(datagrams: list[bytes]) -> set[bytes]:
    """Return the participants that were sent a HEARTBEAT of SEDP."""
    found = set()
    for datagram in datagrams:
        to = b""
        for said in decode_message(datagram).submessages:
            if isinstance(said, ToParticipant):
                to = said.prefix
            elif isinstance(said, Heartbeat) and said.writer == SEDP_PUBLICATIONS_WRITER:
                found.add(to)
    return found


def prefix_of(who: int) -> bytes:
    return b"\x01\x5astrange" + who.to_bytes(3, "big")


def address_of(who: int) -> Address:
    return Address(f"127.0.{who >> 8}.{who & 255}", 10_000)


def keys(*topics: str) -> list[str]:
    return [interest_of(kind="R", topic=topic, type_name="T").own for topic in topics]


def announced(who: int, container: bytes | None, *, sequence: int = 1, seal: Seal | None = None, **more: Any) -> Data:
    locators = (Locator.of(address_of(who)),)
    parameters = () if container is None else (summary_parameter(container),)
    announcement = ParticipantAnnouncement(
        prefix_of(who), 10_000_000, locators, locators, domain_id=0, vendor_parameters=parameters, **more
    )
    payload = announcement.encode()
    return Data(
        SPDP_READER,
        SPDP_WRITER,
        sequence,
        payload if seal is None else seal.close(payload, sequence=sequence),
    )


def goodbye(who: int, *, sequence: int, seal: Seal | None = None) -> Data:
    payload = ParticipantAnnouncement(prefix_of(who), 1, (), ()).encode_key()
    inline = (Parameter(ParameterId.STATUS, bytes((0, 0, 0, 3))),)
    sealed = payload if seal is None else seal.close(payload, sequence=sequence)
    return Data(SPDP_READER, SPDP_WRITER, sequence, sealed, True, inline)


def test_who_has_a_counterpart_is_contacted_and_who_has_none_is_not() -> None:
    victim = Victim()
    assert victim.hear(1, announced(1, HashList.of(keys("topic"), epoch=1).to_bytes()))[1] == {prefix_of(1)}
    assert victim.hear(2, announced(2, HashList.of(keys("elsewhere"), epoch=1).to_bytes()))[1] == set()
    assert prefix_of(2) not in contacted_by(victim.pass_time(5_000_000))
    # Interest that appears with the next epoch.
    changed = HashList.of(keys("elsewhere", "other"), epoch=2).to_bytes()
    assert victim.hear(2, announced(2, changed, sequence=2))[1] == {prefix_of(2)}


def test_who_asks_is_answered_although_we_have_nothing_for_it() -> None:
    """Its filter may say of us, falsely, what ours does not say of it: without an answer it would ask for ever."""
    victim = Victim(contacts_per_second=2)
    asked = AckNack(SEDP_PUBLICATIONS_READER, SEDP_PUBLICATIONS_WRITER, NumberSet(1), 1)
    assert victim.hear(1, asked)[1] == set()  # from nobody that is known
    for who in (1, 2, 3):
        assert victim.hear(who, announced(who, HashList.of(keys("elsewhere"), epoch=1).to_bytes()))[1] == set()
    assert victim.hear(1, asked)[1] == {prefix_of(1)}
    assert victim.hear(2, asked)[1] == {prefix_of(2)}
    assert victim.hear(3, asked)[1] == set()  # no more contacts in this second
    assert victim.counters["contacts_per_second"] == 1
    victim.pass_time(1_000_000)
    assert victim.hear(3, asked)[1] == {prefix_of(3)}
    view = victim.participant._contacts.directory.peers[prefix_of(1)]
    assert not view.relevant  # it has got a GAP, not what there is


def test_an_observer_is_sent_everything() -> None:
    victim = Victim()
    assert victim.hear(1, announced(1, observer_container(epoch=1)))[1] == {prefix_of(1)}
    view = victim.participant._contacts.directory.peers[prefix_of(1)]
    assert len(view.relevant) == 2


@pytest.mark.parametrize(
    "container",
    [
        b"",
        b"\xd1",
        b"\xff" * 40,
        HashList.of(keys("elsewhere"), epoch=7).to_bytes(),  # of another epoch
        HashList.of(keys("elsewhere"), epoch=1).to_bytes() + b"\0",
        b"\xd3\x01\x00\x02" + (1).to_bytes(4, "little") + bytes(4) + (64).to_bytes(4, "little") + b"\xff" * 8,  # ones
        b"\xd0\x01\x00\xd1" + (1).to_bytes(4, "little") + (1 << 30).to_bytes(4, "little") + bytes(8),  # a gigabyte
    ],
)
def test_a_summary_that_cannot_be_read_is_counted_and_its_sender_is_sent_everything(container: bytes) -> None:
    victim = Victim()
    events, contacted = victim.hear(1, announced(1, container))
    assert [type(event) for event in events] == [ParticipantDiscovered, MessageRejected]
    assert contacted == {prefix_of(1)}
    assert victim.counters["unreadable_summary"] == 1
    assert victim.participant.summary_bytes == 0


def closed_tree(mode: str = "sound") -> bytes:
    """Return a tree over a dictionary that the victim does not have."""
    namespace = {key: 7 * place for place, key in enumerate(keys("elsewhere", "topic", "nowhere"))}
    tree = BloomTree(
        namespace_size=20, node_size=2, bit_count=184, hash_count=16, namespace=namespace, mode=mode, epoch=1
    )
    tree.add_many(keys("elsewhere", "topic"))
    return tree.to_bytes()


@pytest.mark.parametrize("mode", ["sound", "paper"])
def test_a_closed_tree_is_searched_and_tells_where_a_topic_is(mode: str) -> None:
    victim = Victim(discovery="tree")
    container = closed_tree(mode)
    events, contacted = victim.hear(1, announced(1, container))
    assert [type(event) for event in events] == [ParticipantDiscovered, TreeSearched]
    assert contacted == {prefix_of(1)}
    found = (FoundTopic("topic", "T", 3, 1),)  # ordinal 7 is in node 3
    assert events[1] == TreeSearched(prefix_of(1), len(container), 2, 3, found)
    assert victim.participant.sub_nodes(prefix_of(1)) == {keys("topic")[0]: (SubNode(3, 1),)}
    assert victim.participant.sub_nodes(prefix_of(2)) == {}
    # An endpoint that comes later is looked for in the tree that is kept.
    victim.participant.create_writer("elsewhere", "T", RELIABLE, keyed=False, now=victim.now)
    later = next(effect.event for effect in victim.participant.effects() if isinstance(effect, Emit))
    assert isinstance(later, TreeSearched)
    assert [tuple(found) for found in later.found] == [("elsewhere", "T", 1, 1)]


@pytest.mark.parametrize("fault", ["cut", "long", "levels", "rows", "cover", "ones"])
def test_a_closed_tree_that_is_none_is_refused(fault: str) -> None:
    whole = closed_tree("paper")
    wrong = {
        "cut": whole[:-1],
        "long": whole + b"\0",
        "levels": whole[:2] + b"\x11" + whole[3:],
        "rows": whole[:20] + b"\0" + whole[21:],
        "cover": whole[:21] + bytes(23) + whole[44:],  # the root has nothing of what is below it
        "ones": whole[:21] + b"\xff" * 23 + whole[44:],
    }[fault]
    victim = Victim(discovery="tree")
    events, contacted = victim.hear(1, announced(1, wrong))
    assert [type(event) for event in events] == [ParticipantDiscovered, MessageRejected]
    assert contacted == {prefix_of(1)}
    assert victim.counters["unreadable_summary"] == 1
    assert victim.participant.sub_nodes(prefix_of(1)) == {}


def test_octets_of_summaries_are_bounded() -> None:
    container = HashList.of(keys(*(f"t{n}" for n in range(100))), epoch=1).to_bytes()
    victim = Victim(summary_bytes=3 * len(container))
    for who in range(1, 6):
        victim.hear(who, announced(who, container))
    assert victim.participant.summary_bytes == 3 * len(container)
    assert victim.counters["summary_bytes"] == 2
    # Whoever leaves makes room, and a new epoch replaces the old one.
    victim.hear(1, goodbye(1, sequence=2))
    newer = HashList.of(keys("topic"), epoch=2).to_bytes()
    victim.hear(2, announced(2, newer, sequence=2))
    assert victim.participant.summary_bytes == len(container) + len(newer)


def test_contacts_per_second_are_bounded_and_the_rest_wait() -> None:
    victim = Victim(contacts_per_second=3)
    victim.now = 2_000_000
    container = HashList.of(keys("topic"), epoch=1).to_bytes()
    happened = [victim.hear(who, announced(who, container)) for who in range(1, 9)]
    assert [bool(contacted) for _, contacted in happened] == [True] * 3 + [False] * 5
    rejected = [event.reason for events, _ in happened for event in events if isinstance(event, MessageRejected)]
    assert rejected == ["more than 3 contacts in a second; the rest wait"]
    assert victim.counters["contacts_per_second"] == 5
    everyone = contacted_by(victim.pass_time(900_000))
    assert everyone == {prefix_of(who) for who in (1, 2, 3)}
    everyone |= contacted_by(victim.pass_time(2_000_000))
    assert everyone == {prefix_of(who) for who in range(1, 9)}


def test_with_a_key_only_sealed_summaries_are_believed() -> None:
    from rookery.discovery.protocols import summary_of
    from rookery.filters import DomainKey

    victim = Victim(key=SECRET)
    summary = summary_of("ribbon", domain_key=DomainKey.derive(SECRET, domain=0))
    assert summary is not None
    summary.add(*keys("elsewhere"))
    container = summary.encode(epoch=1, room=1_000)
    assert victim.hear(1, announced(1, container, seal=SEAL))[1] == set()
    assert victim.participant.summary_bytes == len(container)
    assert victim.hear(2, announced(2, container))[1] == {prefix_of(2)}
    wrong = Seal.derive(b"another key of 16", domain_id=0)
    assert victim.hear(3, announced(3, container, seal=wrong))[1] == {prefix_of(3)}
    assert victim.hear(4, announced(4, observer_container(epoch=1, keyed=True)))[1] == {prefix_of(4)}
    assert victim.counters["unauthentic_summary"] == 3
    assert victim.participant.summary_bytes == len(container)


def test_a_sealed_announcement_is_not_replaced_by_one_that_is_not() -> None:
    victim = Victim(key=SECRET)
    victim.hear(1, announced(1, None, sequence=5, seal=SEAL))
    (peer,) = victim.participant.peers
    for forged in (
        announced(1, None, sequence=1 << 40),
        announced(1, None, sequence=6, seal=Seal.derive(SECRET, domain_id=1)),
        goodbye(1, sequence=6),
    ):
        events, _ = victim.hear(1, forged)
        assert [type(event) for event in events] == [MessageRejected]
    assert victim.counters["unauthentic"] == 3
    assert peer.sequence == 5
    # What was said once under an older number is old, seal or no seal.
    assert victim.hear(1, announced(1, None, sequence=4, seal=SEAL))[0] == []
    events, _ = victim.hear(1, goodbye(1, sequence=6, seal=SEAL))
    assert [type(event) for event in events] == [ParticipantLost]


def test_a_forged_announcement_that_came_first_does_not_keep_the_real_one_out() -> None:
    victim = Victim(key=SECRET)
    victim.hear(1, announced(1, None, sequence=1 << 40))
    victim.hear(1, announced(1, None, sequence=1, seal=SEAL))
    (peer,) = victim.participant.peers
    assert peer.authentic
    assert peer.sequence == 1


def test_simple_participants_do_not_read_summaries() -> None:
    victim = Victim(discovery="simple")
    assert victim.hear(1, announced(1, b"\xff" * 40))[1] == {prefix_of(1)}
    assert victim.counters["unreadable_summary"] == 0
