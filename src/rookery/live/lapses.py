"""What the log says where an endpoint breaks its word: a deadline that passed, a sign of life that did not come.

One wording for the client and the spool, so that who watches for it has one text to look for.
"""

from __future__ import annotations

import logging

from rookery.rtps.events import DeadlineMissed, LivelinessChanged, LivelinessLost

__all__ = ["warn_of_lapse"]

_LOG = logging.getLogger("rookery.live")


def warn_of_lapse(event: DeadlineMissed | LivelinessChanged | LivelinessLost, topic: str) -> None:
    """Warn of a lapse at an endpoint of a topic, or say that it is over."""
    match event:
        case DeadlineMissed(instance=instance):
            _LOG.warning("deadline of %s missed: instance %s", topic, instance.hex() or "of a topic without keys")
        case LivelinessChanged(writer=writer, alive=False):
            _LOG.warning("writer %s of %s gives no sign of life", writer, topic)
        case LivelinessChanged(writer=writer):
            _LOG.warning("writer %s of %s is alive again", writer, topic)
        case LivelinessLost():
            _LOG.warning("liveliness of our writer of %s was not asserted in time", topic)
