"""The handshake of one end of a link: its own hello, the other end's, and the proof of a pre-shared key.

Rule 1: the other end says hello once, and is refused before any proof where it may not come in (`tcp_hello.refusal`).
Rule 2: where the role that the dialing end claims is proven by a key, it proves it first, so a stranger that dials sees
no proof; the listening end answers with its own.
"""

from __future__ import annotations

import hmac

from rookery.live.admission import Certificate
from rookery.live.tcp_hello import Hello, LinkSettings, proof, refusal

__all__ = ["Handshake"]


class Handshake:
    """What two ends know of each other before frames may be sent, as one of them sees it."""

    __slots__ = ("_dialing", "_settings", "_theirs", "mine")

    def __init__(self, settings: LinkSettings, nonce: bytes, *, dialing: bool) -> None:
        #: What this end says first.
        self.mine = settings.hello(nonce, dialing=dialing)
        self._settings = settings
        self._dialing = dialing
        self._theirs: Hello | None = None

    def take(self, hello: Hello, *, certificate: Certificate | None, host: str) -> str | None:
        """Take the other end's hello; return why it is turned away, None where it is not."""
        reason = refusal(self._settings, hello, dialing=self._dialing, certificate=certificate, host=host)
        if reason is None and self._theirs is not None:
            return "malformed"
        if reason is None:
            self._theirs = hello
        return reason

    @property
    def key(self) -> bytes | None:
        """What the dialing end has to prove; None where it has nothing to, or has not said hello."""
        if self._theirs is None:
            return None
        return self._settings.key_for(self.mine.role if self._dialing else self._theirs.role)

    def proof(self) -> bytes:
        """Return this end's proof that it has the key."""
        return self._proof(dialing=self._dialing)

    def is_proven_by(self, digest: bytes) -> bool:
        """Tell whether this is the other end's proof."""
        return hmac.compare_digest(digest, self._proof(dialing=not self._dialing))

    def _proof(self, *, dialing: bool) -> bytes:
        assert self._theirs is not None
        assert self.key is not None
        ends = (self.mine, self._theirs) if self._dialing else (self._theirs, self.mine)
        side = "dialing" if dialing else "listening"
        return proof(self.key, side=side, dialing=ends[0], listening=ends[1])
