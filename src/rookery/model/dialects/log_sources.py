"""Log sources of Sigma: which Windows events a rule speaks of.

Rule: what an event says of its origin must agree with the rule; an event that does not say it (no Channel, no EventID)
was chosen by whoever brought it, and is judged by every rule. A rule for another product than Windows passes over
events that have a Windows channel. Channels and event ids are those of Windows and Sysmon; a log source that the table
does not have adds no condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any as AnyValue

from rookery.model.dialects.logic import All, Leaf, Node
from rookery.model.expressions import Comparison, Expression, Field, In, IsNull, Literal, Or

__all__ = ["CATEGORIES", "CHANNELS", "origin"]

_SYSMON = "Microsoft-Windows-Sysmon/Operational"
_POWERSHELL = ("Microsoft-Windows-PowerShell/Operational", "PowerShellCore/Operational")

#: The channels of a service of Windows.
CHANNELS: dict[str, tuple[str, ...]] = {
    "application": ("Application",),
    "security": ("Security",),
    "system": ("System",),
    "sysmon": (_SYSMON,),
    "powershell": _POWERSHELL,
    "powershell-classic": ("Windows PowerShell",),
    "taskscheduler": ("Microsoft-Windows-TaskScheduler/Operational",),
    "wmi": ("Microsoft-Windows-WMI-Activity/Operational",),
    "windefend": ("Microsoft-Windows-Windows Defender/Operational",),
    "dns-server": ("DNS Server",),
    "dns-client": ("Microsoft-Windows-DNS Client Events/Operational", "Microsoft-Windows-DNS-Client/Operational"),
    "ntlm": ("Microsoft-Windows-NTLM/Operational",),
    "bits-client": ("Microsoft-Windows-Bits-Client/Operational",),
    "codeintegrity-operational": ("Microsoft-Windows-CodeIntegrity/Operational",),
    "firewall-as": ("Microsoft-Windows-Windows Firewall With Advanced Security/Firewall",),
    "msexchange-management": ("MSExchange Management",),
    "openssh": ("OpenSSH/Operational",),
}

_CLASSIC = ("Windows PowerShell",)
#: The channels and the event ids of a category on Windows.
CATEGORIES: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
    "process_creation": ((_SYSMON,), (1,)),
    "file_change": ((_SYSMON,), (2,)),
    "network_connection": ((_SYSMON,), (3,)),
    "sysmon_status": ((_SYSMON,), (4, 16)),
    "process_termination": ((_SYSMON,), (5,)),
    "driver_load": ((_SYSMON,), (6,)),
    "image_load": ((_SYSMON,), (7,)),
    "create_remote_thread": ((_SYSMON,), (8,)),
    "raw_access_thread": ((_SYSMON,), (9,)),
    "process_access": ((_SYSMON,), (10,)),
    "file_event": ((_SYSMON,), (11,)),
    "registry_add": ((_SYSMON,), (12,)),
    "registry_delete": ((_SYSMON,), (12,)),
    "registry_set": ((_SYSMON,), (13,)),
    "registry_rename": ((_SYSMON,), (14,)),
    "registry_event": ((_SYSMON,), (12, 13, 14)),
    "create_stream_hash": ((_SYSMON,), (15,)),
    "pipe_created": ((_SYSMON,), (17, 18)),
    "wmi_event": ((_SYSMON,), (19, 20, 21)),
    "dns_query": ((_SYSMON,), (22,)),
    "file_delete": ((_SYSMON,), (23, 26)),
    "clipboard_change": ((_SYSMON,), (24,)),
    "process_tampering": ((_SYSMON,), (25,)),
    "file_block_executable": ((_SYSMON,), (27,)),
    "file_block_shredding": ((_SYSMON,), (28,)),
    "file_executable_detected": ((_SYSMON,), (29,)),
    "sysmon_error": ((_SYSMON,), (255,)),
    "ps_module": (_POWERSHELL, (4103,)),
    "ps_script": (_POWERSHELL, (4104,)),
    "ps_classic_start": (_CLASSIC, (400,)),
    "ps_classic_provider_start": (_CLASSIC, (600,)),
    "ps_classic_script": (_CLASSIC, (800,)),
}

_CHANNEL, _EVENT_ID = Field(("Channel",)), Field(("EventID",))


def origin(source: Mapping[str, AnyValue]) -> Node:
    """Return what a rule's log source asks of an event; nothing where the table has no such source."""
    product, category, service = (str(source.get(name) or "").lower() for name in ("product", "category", "service"))
    if product != "windows":
        return All([Leaf(IsNull(_CHANNEL), decided=True)] if product else [])
    channels, ids = CATEGORIES.get(category, ((), ()))
    channels = CHANNELS.get(service, channels)
    parts: list[Node] = []
    for field, values in ((_CHANNEL, channels), (_EVENT_ID, tuple(map(str, ids)))):
        if values:
            parts.append(Leaf(_one_of(field, values), decided=True))
    return All(parts)


def _one_of(field: Field, values: tuple[str, ...]) -> Expression:
    literals = tuple(map(Literal, values))
    named: Expression = Comparison("=", field, literals[0]) if len(literals) == 1 else In(field, literals)
    return Or((named, IsNull(field)))
