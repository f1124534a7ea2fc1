"""A message is read submessage by submessage: for whom, from whom, and a fault in one refuses that one."""

from __future__ import annotations

from rookery.machine import Emit
from rookery.participant import Participant, ParticipantConfiguration
from rookery.rtps import Address
from rookery.rtps.announcements import ParticipantAnnouncement
from rookery.rtps.events import Event, MessageRejected, ParticipantDiscovered
from rookery.rtps.identity import SEDP_PUBLICATIONS_WRITER, SPDP_READER, SPDP_WRITER, VENDOR
from rookery.rtps.locators import Locator
from rookery.rtps.messages import encode_message
from rookery.rtps.submessages import Data, DataFragment, SourceChange, Submessage, ToParticipant

HERE, THERE = Address("127.0.0.1", 9_000), Address("127.0.0.2", 9_001)
US, THEM, OTHERS = b"us..........", b"them........", b"others......"


def announced(prefix: bytes) -> Data:
    locators = (Locator.of(THERE),)
    return Data(
        SPDP_READER, SPDP_WRITER, 1, ParticipantAnnouncement(prefix, 10_000_000, locators, locators, 0).encode()
    )


def heard(*said: Submessage, prefix: bytes = THEM) -> list[Event]:
    participant = Participant(ParticipantConfiguration(prefix=US, unicast=HERE))
    participant.receive_many((encode_message(prefix, said),), THERE, 1_000)
    return [effect.event for effect in participant.effects() if isinstance(effect, Emit)]


def discovered(events: list[Event]) -> list[bytes]:
    return [event.announcement.prefix for event in events if isinstance(event, ParticipantDiscovered)]


def test_what_is_for_another_participant_is_skipped_and_what_is_for_us_or_all_is_not() -> None:
    assert discovered(heard(ToParticipant(OTHERS), announced(THEM))) == []
    assert discovered(heard(ToParticipant(US), announced(THEM))) == [THEM]
    assert discovered(heard(ToParticipant(OTHERS), ToParticipant(bytes(12)), announced(THEM))) == [THEM]


def test_a_change_of_source_is_believed_and_ends_the_addressing() -> None:
    assert discovered(heard(ToParticipant(OTHERS), SourceChange((2, 3), VENDOR, OTHERS), announced(OTHERS))) == [OTHERS]
    events = heard(SourceChange((2, 3), VENDOR, OTHERS), announced(THEM))
    assert discovered(events) == []
    assert [event.reason for event in events if isinstance(event, MessageRejected)] == [
        "a participant announced by another"
    ]


def test_a_fault_in_one_submessage_refuses_that_one() -> None:
    fragment = DataFragment(0, SEDP_PUBLICATIONS_WRITER, 1, 1, 1, 100, 100, bytes(100), False, ())
    events = heard(fragment, announced(THEM))
    assert discovered(events) == [THEM]
    assert [event.reason for event in events if isinstance(event, MessageRejected)] == ["builtin data in fragments"]


def test_our_own_datagrams_come_back_and_are_not_read() -> None:
    assert heard(announced(US), prefix=US) == []
