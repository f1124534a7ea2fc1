"""`rookery keys`: a small authority and certificates for brokers, clients and operators, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rookery.cli.exit_codes import ExitCode
from rookery.cli.options import Json, write, write_json
from rookery.errors import SettingsError
from rookery.extras import need

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery keys --out keys --broker one=10.0.0.1 --broker two=10.0.0.2 --client ann --operator olga",
    "rookery keys --out keys --client bob",
]
_NAMES = "NAME[=HOST,…]"


def command(
    out: Annotated[Path, typer.Option(help="The folder of the authority; made where there is none.")] = Path("keys"),
    broker: Annotated[
        list[str] | None, typer.Option(metavar=_NAMES, help="A broker or gateway, and where others reach it.")
    ] = None,
    client: Annotated[
        list[str] | None, typer.Option(metavar=_NAMES, help="A client or overlay peer; a peer also says where.")
    ] = None,
    operator: Annotated[
        list[str] | None, typer.Option(metavar=_NAMES, help="An operator: who may move the zones of brokers.")
    ] = None,
    days: Annotated[int, typer.Option(help="How long the certificates are good for.", min=1)] = 825,
    json: Json = False,
) -> int:
    """Make certificates for all who are named, by the authority in --out, which is made first where there is none.

    Each gets NAME.pem and NAME.key there. Give everyone their own two files and authority.pem; keep authority.key.
    """
    need("cryptography", "making certificates")
    from rookery.live.authority import Authority

    wanted = [
        (*_read(text), role)
        for role, given in (("broker", broker), ("client", client), ("operator", operator))
        for text in given or ()
    ]
    if not wanted:
        raise SettingsError("name who gets a certificate: --broker NAME=HOST, --client NAME or --operator NAME")
    for name, hosts, role in wanted:
        if role == "broker" and not hosts:
            raise SettingsError(f"--broker {name}: say where others reach it: --broker {name}=127.0.0.1")
    authority = Authority.at(out)
    made = []
    for name, hosts, role in wanted:
        files = authority.certify(name, role, hosts=hosts, days=days)
        of_one = {"certificate": str(files.certificate), "private_key": str(files.private_key)}
        made.append({"name": name, "role": role, **of_one})
    if json:
        write_json({"authority": str(authority.file), "certificates": made})
        return ExitCode.DONE
    for one in made:
        write(f"{one['role']:8}  {one['name']}  {one['certificate']}  {one['private_key']}")
    write(f"authority  {authority.file}")
    return ExitCode.DONE


def _read(text: str) -> tuple[str, list[str]]:
    name, _, hosts = text.partition("=")
    return name, [host for host in hosts.split(",") if host]
