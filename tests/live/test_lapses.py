"""What the log says of a lapse."""

from __future__ import annotations

import pytest

from rookery.live.lapses import warn_of_lapse
from rookery.rtps.events import DeadlineMissed, LivelinessChanged, LivelinessLost
from rookery.rtps.identity import Guid

GUID = Guid(bytes(range(12)), 0x103)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (DeadlineMissed(GUID, b"\x01\x02"), "deadline of quotes missed: instance 0102"),
        (DeadlineMissed(GUID, b""), "deadline of quotes missed: instance of a topic without keys"),
        (LivelinessChanged(GUID, GUID, alive=False), f"writer {GUID} of quotes gives no sign of life"),
        (LivelinessChanged(GUID, GUID, alive=True), f"writer {GUID} of quotes is alive again"),
        (LivelinessLost(GUID), "liveliness of our writer of quotes was not asserted in time"),
    ],
)
def test_each_lapse_is_a_warning_of_its_own(event, said, caplog: pytest.LogCaptureFixture) -> None:
    warn_of_lapse(event, "quotes")
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [("WARNING", said)]
