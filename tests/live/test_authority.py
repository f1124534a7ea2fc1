"""An authority and its certificates, as files that `ssl` takes."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest

from rookery.errors import JoinError, SettingsError
from rookery.live.authority import Authority
from rookery.live.credentials import Credentials
from rookery.live.tcp import LinkSettings
from rookery.live.tcp_ports import dial, listen

from .test_tcp import LOOPBACK, Record, run


def credentials(authority: Authority, name: str, role: str = "client", hosts: tuple[str, ...] = ()) -> Credentials:
    files = authority.certify(name, role, hosts=hosts)
    return Credentials.read(certificate=files.certificate, private_key=files.private_key, authority=authority.file)


def test_keys_are_nobody_elses_to_read_and_nothing_is_replaced(tmp_path: Path) -> None:
    authority = Authority.at(tmp_path / "keys")
    files = authority.certify("ann", "client")
    for secret in (files.private_key, tmp_path / "keys" / "authority.key"):
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    with pytest.raises(SettingsError, match="there already"):
        Authority.at(tmp_path / "keys").certify("ann", "broker")
    for name in ("", "authority", "../up", ".hidden"):
        with pytest.raises(SettingsError, match="no name"):
            authority.certify(name, "client")
    with pytest.raises(SettingsError, match="no role"):
        authority.certify("bob", "king")


def test_a_link_knows_the_name_of_the_other_end(tmp_path: Path) -> None:
    authority = Authority.at(tmp_path / "keys")
    one = credentials(authority, "one", "broker", ("127.0.0.1",))
    two = credentials(Authority.at(tmp_path / "keys"), "two", "broker")  # of the same authority, opened again
    other = credentials(Authority.at(tmp_path / "others"), "one", "broker", ("127.0.0.1",))

    async def scenario() -> None:
        server = Record()
        listening = LinkSettings(1, role="broker", tls_listen=one.listening)
        listener = await listen(LOOPBACK, listening, lambda link: server)
        client = Record()
        link = await dial(listener.address, LinkSettings(2, role="broker", tls_dial=two.dialing), client)
        await client.until(lambda: client.links)
        await server.until(lambda: server.links)
        assert [known.name for known in (link.certificate, server.links[0].certificate) if known] == ["one", "two"]
        link.close()
        with pytest.raises(JoinError):  # who does not trust this authority
            await dial(listener.address, LinkSettings(3, role="broker", tls_dial=other.dialing), Record())
        anonymous = Credentials.read(authority=authority.file)
        silent = Record()
        with_none = LinkSettings(4, role="broker", tls_dial=anonymous.dialing)
        link = await dial(listener.address, with_none, silent)  # in TLS 1.3 a client hears later that it is refused
        await silent.until(lambda: silent.reasons)
        assert not silent.links
        assert len(server.links) == 1
        await asyncio.sleep(0)
        await listener.close()

    run(scenario())


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="go together"):
        Credentials.read(certificate=tmp_path / "c")
    with pytest.raises(SettingsError, match="cannot be used"):
        Credentials.read(certificate=tmp_path / "c", private_key=tmp_path / "k")
    (tmp_path / "authority.pem").write_text("nothing")
    with pytest.raises(SettingsError, match="no whole authority"):
        Authority.at(tmp_path)
