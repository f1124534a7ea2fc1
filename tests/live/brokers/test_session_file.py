"""Session files: one secret for good, for one process at a time."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from rookery.errors import ClientError
from rookery.live.brokers.session_file import SessionFile


def test_a_session_file_has_one_secret_for_good_and_nobody_else_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "session"
    first = SessionFile(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first.close()
    again = SessionFile(path)
    assert again.secret == first.secret
    with pytest.raises(ClientError, match="another process"):
        SessionFile(path)
    again.close()


@pytest.mark.parametrize("text", ["no hex\n", "00ff\n", "ab" * 32])
def test_what_is_no_session_file_is_not_overwritten(text: str, tmp_path: Path) -> None:
    path = tmp_path / "session"
    path.write_text(text)
    with pytest.raises(ClientError, match="no session file"):
        SessionFile(path)
    assert path.read_text() == text
