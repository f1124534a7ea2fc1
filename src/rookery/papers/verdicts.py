"""What an experiment says about a claim: one of five words, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Judgment", "Verdict", "judge"]


class Verdict(StrEnum):
    """The five words. What each means is part of the page."""

    REPRODUCED = "reproduced"
    REGIME = "reproduced in a regime"
    SHAPE = "same shape"
    CONTRADICTED = "contradicted"
    NOT_TESTABLE = "not testable"

    @property
    def meaning(self) -> str:
        """One line for the reader."""
        return _MEANINGS[self]


_MEANINGS = {
    Verdict.REPRODUCED: "the number, formula, order or trend came out as stated",
    Verdict.REGIME: "it came out as stated for some parameters and not for others; the text says which",
    Verdict.SHAPE: "the trend is the stated one, the stated number or constant is not",
    Verdict.CONTRADICTED: "what was measured is not what the seed states",
    Verdict.NOT_TESTABLE: "the seed says too little to decide",
}


@dataclass(frozen=True, slots=True)
class Judgment:
    """A verdict, the figure that it rests on in a few words, and a paragraph of why."""

    verdict: Verdict
    figure: str
    why: str


def judge(holds: bool, figure: str, why: str) -> Judgment:
    """Return what it is where a claim holds or does not, with no third case."""
    return Judgment(Verdict.REPRODUCED if holds else Verdict.CONTRADICTED, figure, why)
