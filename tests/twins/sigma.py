"""A slow judge of Sigma rules: straight from the specification, over raw documents, nothing shared with the reader.

A rule becomes a Python function of a document. Every text is compared by a regular expression over its folded form,
every list by a loop; the log source by a table of its own.
"""

from __future__ import annotations

import base64
import functools
import ipaddress
import itertools
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import yaml

__all__ = ["Judge", "fields_of_document"]

Document = Mapping[str, Any]
Decide = Callable[[Document], bool]

#: Sysmon's event types by Sigma's categories (Sysmon's documentation), and the logs of the other categories.
_SYSMON = {
    1: ["process_creation"], 2: ["file_change"], 3: ["network_connection"], 4: ["sysmon_status"],
    5: ["process_termination"], 6: ["driver_load"], 7: ["image_load"], 8: ["create_remote_thread"],
    9: ["raw_access_thread"], 10: ["process_access"], 11: ["file_event"],
    12: ["registry_add", "registry_delete", "registry_event"], 13: ["registry_set", "registry_event"],
    14: ["registry_rename", "registry_event"], 15: ["create_stream_hash"], 16: ["sysmon_status"],
    17: ["pipe_created"], 18: ["pipe_created"], 19: ["wmi_event"], 20: ["wmi_event"], 21: ["wmi_event"],
    22: ["dns_query"], 23: ["file_delete"], 24: ["clipboard_change"], 25: ["process_tampering"],
    26: ["file_delete"], 27: ["file_block_executable"], 28: ["file_block_shredding"],
    29: ["file_executable_detected"], 255: ["sysmon_error"],
}  # fmt: skip
_POWERSHELL = {4103: "ps_module", 4104: "ps_script"}
_CLASSIC = {400: "ps_classic_start", 600: "ps_classic_provider_start", 800: "ps_classic_script"}
_LOGS = {
    "application": "Application", "security": "Security", "system": "System",
    "sysmon": "Microsoft-Windows-Sysmon/Operational", "powershell-classic": "Windows PowerShell",
    "taskscheduler": "Microsoft-Windows-TaskScheduler/Operational",
    "wmi": "Microsoft-Windows-WMI-Activity/Operational",
    "windefend": "Microsoft-Windows-Windows Defender/Operational", "dns-server": "DNS Server",
    "ntlm": "Microsoft-Windows-NTLM/Operational", "bits-client": "Microsoft-Windows-Bits-Client/Operational",
    "codeintegrity-operational": "Microsoft-Windows-CodeIntegrity/Operational",
    "firewall-as": "Microsoft-Windows-Windows Firewall With Advanced Security/Firewall",
    "msexchange-management": "MSExchange Management", "openssh": "OpenSSH/Operational",
}  # fmt: skip
_SHELLS = {"Microsoft-Windows-PowerShell/Operational", "PowerShellCore/Operational"}
_CLIENTS = {"Microsoft-Windows-DNS Client Events/Operational", "Microsoft-Windows-DNS-Client/Operational"}


def fields_of_document(document: Document) -> dict[str, Any]:
    """Return the fields of a document by the names that rules use; a field that is null is not there."""
    fields: dict[str, Any] = {}

    def walk(prefix: str, inside: Mapping[str, Any]) -> None:
        for key, value in inside.items():
            if value is not None:
                fields.setdefault(prefix + key, value)
                if isinstance(value, dict):
                    walk(prefix + key + ".", value)

    event = document.get("Event")
    if isinstance(event, dict):
        system = event.get("System") or {}
        for key, value in (event.get("EventData") or {}).items():
            if value is not None and not isinstance(value, dict):
                fields.setdefault(key, value)
        for one in (event.get("UserData") or {}).values():
            for key, value in (one if isinstance(one, dict) else {}).items():
                if value is not None:
                    fields.setdefault(key, value)
        for key, value in (event.get("UserData") or {}).items():
            if value is not None and not isinstance(value, dict):
                fields.setdefault(key, value)
        for key, value in system.items():
            if value is not None and not isinstance(value, dict):
                fields.setdefault(key, value)
        provider = (system.get("Provider") or {}).get("#attributes") or {}
        if provider.get("Name") is not None:
            fields.setdefault("Provider_Name", provider["Name"])
        number = system.get("EventID")
        if isinstance(number, dict) and number.get("#text") is not None:
            fields["EventID"] = number["#text"]
    walk("", document)
    return fields


def written(value: Any) -> str:
    """Return a value as JSON writes it, a text as it is."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


@functools.cache
def fold(text: str) -> str:
    """Fold a text one character to one."""
    pairs = {"\u1fd3": "\u0390", "\u1fe3": "\u03b0", "\ufb05": "\ufb06"}
    return "".join(
        one.casefold() if len(one.casefold()) == 1 else one.lower() if len(one.lower()) == 1 else pairs.get(one, one)
        for one in text
    )


@functools.lru_cache(maxsize=1 << 18)
def _expression(value: str, shape: str, cased: bool) -> re.Pattern[str]:
    body, at = "", 0
    while at < len(value):
        one = value[at]
        if one == "\\" and value[at + 1 : at + 2] in ("*", "?", "\\"):
            at += 1
            body += re.escape(value[at] if cased else fold(value[at]))
        elif one == "*":
            body += "*"  # cut below
        else:
            body += "." if one == "?" else re.escape(one if cased else fold(one))
        at += 1
    # An escaped star is `\*`; a bare one is a wildcard.
    body = re.sub(r"(?<!\\)((?:\\\\)*)\*", r"\1.*", body)
    before = ".*" if shape in ("contains", "endswith") else ""
    after = ".*" if shape in ("contains", "startswith") else ""
    return re.compile(before + body + after, re.DOTALL)


class Judge:
    """One rule."""

    def __init__(self, text: str) -> None:
        rule = yaml.safe_load(text)
        self.id = rule["id"]
        self.source = {key: str(value).lower() for key, value in (rule.get("logsource") or {}).items()}
        self.detection = rule["detection"]
        wanted = self.detection["condition"]
        self.conditions = wanted if isinstance(wanted, list) else [wanted]

    def holds(self, document: Document, fields: Mapping[str, Any] | None = None) -> bool:
        """Say whether the rule matches a document."""
        known = fields_of_document(document) if fields is None else fields
        return self._fits(known) and any(self._condition(one, known) for one in self.conditions)

    def _fits(self, fields: Mapping[str, Any]) -> bool:
        channel, number = fields.get("Channel"), fields.get("EventID")
        product, category, service = (self.source.get(one, "") for one in ("product", "category", "service"))
        if product != "windows":
            return not product or channel is None
        if service in ("powershell", "dns-client"):
            fits = channel is None or written(channel) in (_SHELLS if service == "powershell" else _CLIENTS)
        elif service in _LOGS:
            fits = channel is None or written(channel) == _LOGS[service]
        else:
            fits = True
        return fits and self._category(
            category, channel, number, named=bool(service in _LOGS or service in ("powershell", "dns-client"))
        )

    def _category(self, category: str, channel: Any, number: Any, *, named: bool) -> bool:
        ids = [one for one, names in _SYSMON.items() if category in names]
        logs = {_LOGS["sysmon"]}
        if not ids:
            ids, logs = [one for one, name in _POWERSHELL.items() if name == category], _SHELLS
        if not ids:
            ids, logs = [one for one, name in _CLASSIC.items() if name == category], {_LOGS["powershell-classic"]}
        if not ids:
            return True
        right_log = named or channel is None or written(channel) in logs
        return right_log and (number is None or written(number) in [str(one) for one in ids])

    # ---- the condition ---------------------------------------------------------------------------------------

    def _condition(self, text: str, fields: Mapping[str, Any]) -> bool:
        """Evaluate by putting each selection's verdict into Python's own and, or, not."""

        def several(found: re.Match[str]) -> str:
            names = [one for one in self.detection if one not in ("condition", "timeframe") and not one.startswith("_")]
            pattern = found[2]
            if pattern != "them":
                names = [one for one in names if re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), one)]
            join = " and " if found[1].lower() == "all" else " or "
            return "(" + join.join(f"\x00{one}\x00" for one in names) + ")"

        text = re.sub(r"(?i)\b(1|any|all)\s+of\s+(\S+?)(?=[\s)]|$)", several, text)
        marked = re.sub(
            r"\x00[^\x00]+\x00|[\w*.-]+",
            lambda found: (
                found[0].lower() if found[0].lower() in ("and", "or", "not") else f" judge({found[0].strip(chr(0))!r}) "
            ),
            text,
        )
        return bool(eval(marked, {"judge": lambda name: self._selection(self.detection[name], fields)}))

    def _selection(self, one: Any, fields: Mapping[str, Any]) -> bool:
        if isinstance(one, dict):
            return all(self._item(name, value, fields) for name, value in one.items())
        if isinstance(one, list):
            return any(self._selection(part, fields) for part in one)
        return self._item("", one, fields)

    def _item(self, name: str, value: Any, fields: Mapping[str, Any]) -> bool:
        field, *modifiers = name.split("|")
        values = value if isinstance(value, list) else [value]
        if not field:
            if "re" not in modifiers:
                modifiers = ["contains", *(one for one in modifiers if one != "contains")]
            return self._keywords(values, modifiers, fields)
        value_there = fields.get(field)
        if "neq" in modifiers:
            rest = [one for one in modifiers if one != "neq"]
            return not self._item("|".join([field, *rest]), value, fields)
        if "exists" in modifiers:
            return (value_there is not None) == values[0]
        texts = list(itertools.chain.from_iterable(_changed(one, modifiers) for one in values))
        verdicts = (self._one(value_there, one, modifiers, fields) for one in texts)
        return all(verdicts) if "all" in modifiers else any(verdicts)

    def _keywords(self, values: list[Any], modifiers: list[str], fields: Mapping[str, Any]) -> bool:
        """Judge keywords: each is sought in the values one by one."""
        if "neq" in modifiers:
            return not self._keywords(values, [one for one in modifiers if one != "neq"], fields)
        there = [one for one in fields.values() if not isinstance(one, dict)]
        verdicts = [
            any(self._one(one, wanted, modifiers, fields) for one in there)
            for value in values
            for wanted in _changed(value, modifiers)
        ]
        return all(verdicts) if "all" in modifiers else any(verdicts)

    def _one(self, there: Any, wanted: Any, modifiers: list[str], fields: Mapping[str, Any]) -> bool:
        if wanted is None:
            return there is None
        if there is None:
            return False
        text = written(there)
        shape = next((one for one in modifiers if one in ("contains", "startswith", "endswith")), "")
        cased = "cased" in modifiers
        if "re" in modifiers:
            flags = re.IGNORECASE if {"i", "ignorecase"} & set(modifiers) else re.NOFLAG
            return re.search(str(wanted), text, flags | re.ASCII) is not None
        if "cidr" in modifiers:
            try:
                return ipaddress.ip_address(text) in ipaddress.ip_network(wanted)
            except ValueError:
                return False
        for part in ("minute", "hour", "day", "month", "year"):
            if part in modifiers:
                try:
                    moment = datetime.fromisoformat(text)
                except ValueError:
                    return False
                moment = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
                text = str(getattr(moment, part))
                modifiers = modifiers if {"lt", "lte", "gt", "gte"} & set(modifiers) else [*modifiers, "same"]
        for word, decide in (
            ("same", float.__eq__),
            ("lt", float.__lt__),
            ("lte", float.__le__),
            ("gt", float.__gt__),
            ("gte", float.__ge__),
        ):
            if word in modifiers:
                try:
                    return bool(decide(float(text), float(wanted)))
                except ValueError:
                    return False
        if "fieldref" in modifiers:
            if fields.get(str(wanted)) is None:
                return False
            other = written(fields[str(wanted)])
            mine, theirs = (text, other) if cased else (text.lower(), other.lower())
            return {
                "contains": theirs in mine,
                "startswith": mine.startswith(theirs),
                "endswith": mine.endswith(theirs),
            }.get(shape, mine == theirs)
        value = wanted if isinstance(wanted, str) else written(wanted)
        return _expression(value, shape, cased).fullmatch(text if cased else fold(text)) is not None


def _changed(value: Any, modifiers: list[str]) -> list[Any]:
    """Return what the modifiers that change values make of one."""
    if value is None:
        return [None]
    values, encoding = [value], "utf-8"
    for modifier in modifiers:
        if modifier in ("wide", "utf16le", "utf16be", "utf16"):
            encoding = {"utf16be": "utf-16-be", "utf16": "utf-16"}.get(modifier, "utf-16-le")
        elif modifier == "windash":
            values = [form for one in values for form in _dashed(str(one))]
        elif modifier == "base64":
            values = [base64.b64encode(_plain(one).encode(encoding)).decode() for one in values]
        elif modifier == "base64offset":
            values = [form for one in values for form in _offsets(_plain(one).encode(encoding))]
    return values


def _plain(value: Any) -> str:
    return re.sub(r"\\([*?\\])", r"\1", str(value))


def _dashed(text: str) -> list[str]:
    parts = re.split(r"\B([-/])\b", text)
    choices = [["-", "/", "–", "—", "―"] if at % 2 else [part] for at, part in enumerate(parts)]
    return ["".join(one) for one in itertools.product(*choices)]


def _offsets(content: bytes) -> list[str]:
    """Return what stays the same in base64 whatever stands around the content, for its three places in a group."""
    found = []
    for before in range(3):
        for after in range(3):
            if (before + len(content) + after) % 3 == 0:
                forms = [
                    base64.b64encode(bytes([fill]) * before + content + bytes([fill]) * after).decode()
                    for fill in (0, 255, 0x55)
                ]
                same = [len(set(characters)) == 1 for characters in zip(*forms, strict=True)]
                found.append("".join(one for one, kept in zip(forms[0], same, strict=True) if kept))
    return found
