"""JMS selectors: the cases of ActiveMQ Artemis (its own and Joram's) and of Qpid Broker-J, from their Java tests.

The tests are read, not run: properties that are set on a message, and assertions on it, in their order. A selector is
put as it stands but for two notations: a name with `$` is quoted, and the L behind a number is taken away. XPath is
left out, and so is a property that is a string where its selector compares a number, which JMS says is no match.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .cases import Case

__all__ = ["ARTEMIS", "QPID", "read_java"]

_SELECTOR = "org/apache/activemq/artemis/selector/"
_JORAM = "tests/joram-tests/src/test/java/org/objectweb/jtests/jms/conform/selector/"
ARTEMIS = [
    f"artemis-selector/src/test/java/{_SELECTOR}SelectorTest.java",
    f"artemis-selector/src/test/java/{_SELECTOR}UnknownHandlingSelectorTest.java",
    f"artemis-selector/src/test/java/{_SELECTOR}SelectorParserTest.java",
    f"{_JORAM}SelectorTest.java",
    f"{_JORAM}SelectorSyntaxTest.java",
]
_SERVER = "broker-core/src/test/java/org/apache/qpid/server/"
QPID = [f"{_SERVER}SelectorParserTest.java", f"{_SERVER}filter/JMSSelectorFilterSyntaxTest.java"]

_STRING = r'"(?:[^"\\]|\\.)*"'
_TEXT = rf"((?:{_STRING}|[\w.]+)(?:\s*\+\s*(?:{_STRING}|[\w.]+))*)"
_METHOD = re.compile(r"(?:void|MockMessage)\s+(\w+)\(([^)]*)\)[^{;]*\{")
_STEP = re.compile(
    rf"(?P<mock>(?P<made>\w+) = (?:createMessage\(\)|new MockMessage\(\)|mock\(|senderSession\.createTextMessage\(\)))"
    rf'|(?P<set>\w+)\.set(?:Object|String|Byte|Short|Int|Long|Float|Double|Boolean)Property\("(?P<name>[^"]+)", '
    rf"(?P<value>{_STRING}|[^;\"]+)\);"
    rf"|(?P<typed>\w+)\.set(?P<header>JMSType|JMSMessageID)\((?P<headed>{_STRING})\)"
    rf'|when\(\w+\.getHeader\("(?P<mocked>[^"]+)"\)\)\.thenReturn\((?P<returned>[^;]+)\);'
    rf"|identifier = (?P<identifier>{_STRING});"
    rf"|(?:String\[\] values = \{{(?P<parsed>[^}}]*)\}};)"
    rf"|assertSelector\((?:message, )?{_TEXT.replace('(', '(?P<text>', 1)}, (?P<due>true|false)\)"
    rf"|assertSelectorEvaluatesTo(?P<to>True|False|Unknown)\((?P<evaluated>{_STRING})\)"
    rf"|assertInvalidSelector\(message, (?P<invalid>{_STRING})\)"
    rf"|assert(?P<holds>True|False)\(new JMSSelectorFilter\((?P<filter>{_STRING})\)\.matches"
    rf"|test(?P<pass>Pass|Fail)\({_TEXT.replace('(', '(?P<tried>', 1)}\)"
    rf"|parse\((?P<xpath>{_STRING})\)"
    rf"|createReceiver\(receiverQueue, {_TEXT.replace('(', '(?P<received>', 1)}\);(?P<then>\s*\n?\s*Assert\.fail)?"
    rf"|send\((?P<sent>\w+), DeliveryMode\.(?P<mode>\w+)"
)
_CONSTANTS = {
    "Double.MIN_VALUE": "4.9E-324", "Double.MAX_VALUE": "1.7976931348623157E308", "Long.MIN_VALUE": str(-(2**63)),
    "Long.MAX_VALUE": str(2**63 - 1), "Integer.MIN_VALUE": str(-(2**31)), "Integer.MAX_VALUE": str(2**31 - 1),
}  # fmt: skip
_TRUTH = {"True": "true", "False": "false", "Unknown": "unknown"}


def read_java(folder: Path, files: list[str]) -> Iterator[Case]:
    """Return the cases of the files of a checkout."""
    for name in files:
        source = (folder / name).read_text(encoding="utf-8")
        source = re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL)
        bodies = list(_methods(source))
        given: dict[str, Any] = {}
        for method, arguments, body in bodies:
            if method == "setUp" or (method == "createMessage" and not arguments):
                given |= _Method(body, {}).run_for_properties()
        for method, _, body in bodies:
            if method not in ("setUp", "createMessage") and not method.startswith("assert"):
                yield from _Method(body, given).cases()


def _methods(source: str) -> Iterator[tuple[str, str, str]]:
    starts = [*_METHOD.finditer(source)]
    for one, other in zip(starts, [*starts[1:], None], strict=True):
        yield one[1], one[2], source[one.end() : other.start() if other else len(source)]


class _Method:
    """One test method, step by step."""

    def __init__(self, body: str, given: dict[str, Any]) -> None:
        self.body, self.given = body, given
        self.messages: dict[str, dict[str, Any]] = {}
        self.names: dict[str, str] = {}
        self.selector: str | None = None

    def message(self, name: str = "message") -> dict[str, Any]:
        return self.messages.setdefault(name, dict(self.given))

    def run_for_properties(self) -> dict[str, Any]:
        list(self.cases())
        return self.message()

    def cases(self) -> Iterator[Case]:
        for step in _STEP.finditer(self.body):
            got = step.groupdict()
            if got["mock"]:
                fresh = "createMessage" in got["mock"]
                self.messages[got["made"]] = dict(self.given) if fresh else {}
            elif got["set"]:
                self.message(got["set"])[got["name"]] = _value(got["value"])
            elif got["typed"]:
                self.message(got["typed"])[got["header"]] = _value(got["headed"])
            elif got["mocked"]:
                self.message()[got["mocked"]] = _value(got["returned"])
            elif got["identifier"]:
                self.names["identifier"] = str(_value(got["identifier"]))
            elif got["sent"]:
                self.message(got["sent"])["JMSDeliveryMode"] = got["mode"]
            elif got["received"] is not None:
                self.selector = self._text(got["received"])
                if "dummyMessage" not in self.body:
                    yield _case(self.selector, "invalid" if got["then"] else "valid", {})
            else:
                yield from self._asserted(got)
        if "dummyMessage" in self.messages and self.selector is not None:
            yield _case(self.selector, "false", self.messages["dummyMessage"])
            yield _case(self.selector, "true", self.messages["message"])

    def _asserted(self, got: dict[str, str | None]) -> Iterator[Case]:
        message = dict(self.message())
        if got["text"]:
            if got["due"]:
                yield _case(self._text(got["text"]), str(got["due"]), message)
        elif got["evaluated"]:
            yield _case(self._text(got["evaluated"]), _TRUTH[str(got["to"])], message)
        elif got["invalid"]:
            yield _case(self._text(got["invalid"]), "invalid", message)
        elif got["filter"]:
            yield _case(self._text(got["filter"]), _TRUTH[str(got["holds"])], message)
        elif got["tried"]:
            if '"' in got["tried"]:
                yield _case(self._text(got["tried"]), "valid" if got["pass"] == "Pass" else "invalid", {})
        elif got["parsed"]:
            for one in re.findall(_STRING, got["parsed"]):
                yield _case(self._text(one), "valid", {})
        elif got["xpath"]:
            yield _case(self._text(got["xpath"]), "valid", {})

    def _text(self, written: str) -> str:
        parts = re.findall(rf"{_STRING}|[\w.]+", written)
        return "".join(
            str(_value(part)) if part.startswith('"') else self.names.get(part, _CONSTANTS.get(part, part))
            for part in parts
        )


def _value(written: str) -> Any:
    """Return a Java literal."""
    written = re.sub(r"^\((?:byte|short|int|long|float|double)\)\s*", "", written.strip())
    if written.startswith('"'):
        return re.sub(r"\\(.)", r"\1", written[1:-1])
    if written in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[written]
    return float(written) if "." in written else int(written.rstrip("L"))


def _case(text: str, due: str, event: dict[str, Any]) -> Case:
    written = re.sub(r"(?<=\d)L\b", "", text)
    written = re.sub(r"'(?:[^']|'')*'|([\w$]*\$[\w$]*)", lambda one: f'"{one[1]}"' if one[1] else one[0], written)
    left_out = "XPath" if text.startswith("XPATH") else ""
    compared = re.match(r"(\w+) [<>=]+ \d", text)
    if compared and isinstance(event.get(compared[1]), str):
        left_out = "type coercion"
    return Case(written, due, event, left_out=left_out)
