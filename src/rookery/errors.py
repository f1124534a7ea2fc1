"""Every error that Rookery raises, in one tree; in brackets the builtin that it is as well.

    RookeryError
      SchemaError (ValueError)
      SubscriptionError (ValueError)
        DuplicateSubscriptionError
      UnknownSubscriptionError (KeyError)
      EventError (ValueError)
      ExperimentError (RuntimeError)
      CompiledSetError (ValueError)
      FilterError (ValueError)
        UnknownKeyError (KeyError)
      SpaceError (ValueError)
      PipelineError (ValueError)
      CheckpointError (ValueError)
      SinkError (OSError)
      SpoolError (OSError)
      SparkUnavailableError (RuntimeError)
      SettingsError (ValueError)
      CheckoutError (RuntimeError)
      MissingExtraError (ImportError)
      WireFormatError (ValueError)
      TopicError (ValueError)
      TopologyError (ValueError)
      UnsupportedPolicyError (ValueError)
      HistoryFullError (BufferError)
      BrokerError (RuntimeError)
      ClientError (RuntimeError)
      RunError (ValueError)
      ServeError (OSError)
      LogError (OSError)
      CalendarError (ValueError)
      JoinError (OSError)

Two rules. The caller's mistake raises at once, and the error is also the builtin that the caller expects
(`ValueError`, `KeyError`, …) and says what to do. A peer's mistake never raises: it becomes an event and a counter.
"""

from __future__ import annotations

__all__ = [
    "BrokerError",
    "CalendarError",
    "CheckoutError",
    "CheckpointError",
    "ClientError",
    "CompiledSetError",
    "DuplicateSubscriptionError",
    "EventError",
    "ExperimentError",
    "FilterError",
    "HistoryFullError",
    "JoinError",
    "LogError",
    "MissingExtraError",
    "PipelineError",
    "RookeryError",
    "RunError",
    "SchemaError",
    "ServeError",
    "SettingsError",
    "SinkError",
    "SpaceError",
    "SparkUnavailableError",
    "SpoolError",
    "SubscriptionError",
    "TopicError",
    "TopologyError",
    "UnknownKeyError",
    "UnknownSubscriptionError",
    "UnsupportedPolicyError",
    "WireFormatError",
]


class RookeryError(Exception):
    """Any error raised by Rookery."""


class SchemaError(RookeryError, ValueError):
    """A schema that cannot be: an unsupported type, a repeated or malformed name."""


class SubscriptionError(RookeryError, ValueError):
    """A subscription that cannot be compiled: what is wrong, where, and what to write instead.

    `position` is the offset of the fault in `text` (None when the fault is not in the text); `str()` shows the
    line with a caret below the fault.
    """

    def __init__(
        self,
        message: str,
        *,
        text: str | None = None,
        position: int | None = None,
        hint: str | None = None,
        subscription_id: object = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.text = text
        self.position = position
        self.hint = hint
        self.subscription_id = subscription_id

    def __str__(self) -> str:
        lines = [self.message if self.subscription_id is None else f"{self.subscription_id!r}: {self.message}"]
        if self.text is not None and self.position is not None:
            lines += caret_lines(self.text, self.position)
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.message, self.text, self.position, self.hint, self.subscription_id)


def _rebuild(
    message: str, text: str | None, position: int | None, hint: str | None, subscription_id: object
) -> SubscriptionError:
    """Make the error again on the other side of a pickle: a Spark task's bad rule reaches the driver whole."""
    return SubscriptionError(message, text=text, position=position, hint=hint, subscription_id=subscription_id)


class DuplicateSubscriptionError(SubscriptionError):
    """`(subscription_id, version)` is already in the set."""


class UnknownSubscriptionError(RookeryError, KeyError):
    """No subscription of that id (and version) is in the set."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0])


class EventError(RookeryError, ValueError):
    """An event, or a batch of events, that the schema cannot read."""


class ExperimentError(RookeryError, RuntimeError):
    """An experiment of the claims ledger that cannot run, or that failed while it ran."""


class CompiledSetError(RookeryError, ValueError):
    """A compiled set that is truncated, damaged, foreign, or of another format version."""


class FilterError(RookeryError, ValueError):
    """A filter that cannot be built, or bytes that are no filter."""


class UnknownKeyError(FilterError, KeyError):
    """A key to remove that this owner never added; removing it would make other keys vanish."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0])


class SpaceError(RookeryError, ValueError):
    """A K-D tree or a box that cannot be built, or a document that is no tree."""


class PipelineError(RookeryError, ValueError):
    """A Spark job that cannot be planned as asked: a missing column, a plan that does not fit, an unknown option."""


class CheckpointError(RookeryError, ValueError):
    """A checkpoint of another query, or one whose recorded sets are gone."""


class SinkError(RookeryError, OSError):
    """An output that cannot be written: no room, no permission, a folder that holds something else."""


class SpoolError(RookeryError, OSError):
    """A spool that cannot be written or read: no room, another writer, damage, records that are gone or not there."""

    def __str__(self) -> str:  # OSError would print the number before the message
        return str(self.args[-1])


class SparkUnavailableError(RookeryError, RuntimeError):
    """No Spark to run on: PySpark or Java is missing, or the master does not answer."""


class SettingsError(RookeryError, ValueError):
    """A settings file that cannot be read, or a setting that means nothing."""


class CheckoutError(RookeryError, RuntimeError):
    """Something that works in a checkout only was asked of an installed package."""


class MissingExtraError(RookeryError, ImportError):
    """Something was asked for that needs a package which is not installed: the message says which extra brings it."""


class WireFormatError(RookeryError, ValueError):
    """Octets that are no RTPS submessage, parameter list or CDR value, or a value that these cannot hold."""


class TopicError(RookeryError, ValueError):
    """A topic or its type that cannot be: a struct without fields, a sequence as key, an endpoint that is not there."""


class TopologyError(RookeryError, ValueError):
    """A graph or a capture from which no plan can be made: not JSON, a shape that is not known, nobody in it."""


class UnsupportedPolicyError(RookeryError, ValueError):
    """A DDS quality-of-service policy was asked for that Rookery does not have; the message names those that it has."""


class HistoryFullError(RookeryError, BufferError):
    """A keep-all writer holds as many unacknowledged samples as it may: wait for its readers, or keep the last n."""


class BrokerError(RookeryError, RuntimeError):
    """Something was asked of a broker that is leaving or has left: its clients must attach to another one."""


class ClientError(RookeryError, RuntimeError):
    """A client or subscription used after it was closed, or for what its transport or its mode of use does not have."""


class RunError(RookeryError, ValueError):
    """A recorded run that cannot be read: a line that is no record, another format, a file that holds none."""


class ServeError(RookeryError, OSError):
    """The page cannot be served: the port is taken, the address is not this machine's, or a token is missing."""


class LogError(RookeryError, OSError):
    """A broker's log that cannot be kept or read: no room, no permission, another broker's, no log at all."""


class CalendarError(RookeryError, ValueError):
    """An entry of the simulator's calendar that lies in the past."""


class JoinError(RookeryError, OSError):
    """A DDS domain could not be joined: the interface is not there, the port is taken, multicast is refused."""


#: Columns of source text shown on each side of a fault: a filter of a megabyte must still print as two lines.
CARET_CONTEXT = 60


def caret_lines(text: str, position: int) -> list[str]:
    """Return the line of `text` that holds `position`, cut to a window, and a line with a caret below it."""
    position = max(0, min(position, len(text)))
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    end = len(text) if end < 0 else end
    left, right = max(start, position - CARET_CONTEXT), min(end, position + CARET_CONTEXT)
    prefix = "…" if left > start else ""
    suffix = "…" if right < end else ""
    shown = text[left:right].replace("\t", " ")
    return [f"  {prefix}{shown}{suffix}", "  " + " " * (len(prefix) + position - left) + "^"]
