"""The tokens of the WHERE language, its keywords, and what a fault at a token says.

A regular expression cuts the text. Rule: a token's position is not kept while parsing; a fault knows the number of its
token, and only then are the positions found.
"""

from __future__ import annotations

import re

from rookery.model.expressions import KEYWORDS

__all__ = [
    "DIGITS",
    "END",
    "TOKEN",
    "TokenFault",
    "contextual",
    "keyword",
    "length_without_lists",
    "numbering",
    "offsets_of",
    "parameters_of",
    "shown",
    "starts_number",
    "tokens_of",
    "unexpected",
]

TOKEN = re.compile(
    r"""'(?:[^']|'')*' | [^\W\d]\w* | 0[xX][0-9a-fA-F]+ | (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?
      | <=> | <= | >= | <> | != | == | \|\| | %[0-9]+ | :[^\W\d]\w* | "(?:[^"]|"")*" | `(?:[^`]|``)*`
      | --[^\n]* | /\*(?:[^*]|\*(?!/))*(?:\*/)? | \S""",
    re.VERBOSE,
)
#: What stands after the last token.
END = ""
#: Numbers are written with these; other scripts' digits are no part of the language.
DIGITS = frozenset("0123456789")
#: The usual spellings of each keyword; any other mixture of cases is folded in `keyword`.
_KEYWORDS = {spelling: word for word in KEYWORDS for spelling in (word, word.lower(), word.capitalize())}
_FOLDED = KEYWORDS
_LONGEST_KEYWORD = max(map(len, KEYWORDS))
#: What a named parameter and one by number look like.
_NAMED, _NUMBERED = re.compile(r":[^\W\d]\w*"), re.compile(r"%[0-9]{1,2}")
_HINTS = {
    '"': "this name has no closing quote; strings stand in single quotes: 'text'",
    "`": "this name has no closing quote",
    "&": "write AND",
    "|": "write OR",
    "≤": "write <=",
    "≥": "write >=",
    "≠": "write <>",
    "!": "write NOT",
    "~": "write RLIKE 'pattern'",
    ";": "one filter is one condition, without a semicolon",
    **dict.fromkeys("?$@:", "a parameter is written %0 or :name"),
    **dict.fromkeys("\u2018\u2019\u201c\u201d", "a quote from a word processor: write ' before and after a string"),
}
_KEYWORD_HINTS = {"NULL": "NULL equals nothing: write IS NULL or IS NOT NULL"}
#: Words that stand in other languages where an operator does, and the two signs that stand the wrong way round.
_WORD_HINTS = {
    "CONTAINS": "write contains(field, 'text') or LIKE '%text%'",
    "STARTS": "write starts_with(field, 'text') or LIKE 'text%'",
    "STARTSWITH": "write starts_with(field, 'text') or LIKE 'text%'",
    "ENDS": "write ends_with(field, 'text') or LIKE '%text'",
    "ENDSWITH": "write ends_with(field, 'text') or LIKE '%text'",
    "MATCHES": "write RLIKE 'pattern'",
    "EQUALS": "write =",
    "WHEN": "there is no CASE: join conditions by AND, OR",
}
_TURNED = {("=", ">"): "write >=", ("=", "<"): "write <="}


class TokenFault(Exception):  # noqa: N818 - inside the parser: it becomes a SubscriptionError
    """A fault at a token, before its position in the text is known."""

    def __init__(self, token: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.token, self.message, self.hint = token, message, hint


def parameters_of(text: str) -> tuple[int, list[str]]:
    """Return how many values the numbered parameters of a text take, and the names of the others in order."""
    return numbering(tokens_of(text))


def numbering(tokens: list[str]) -> tuple[int, list[str]]:
    """Return what `parameters_of` does, of tokens."""
    names = sorted({token[1:] for token in tokens if token[:1] == ":" and _NAMED.fullmatch(token)})
    return max((int(one[1:]) + 1 for one in tokens if one[:1] == "%" and _NUMBERED.fullmatch(one)), default=0), names


def tokens_of(text: str) -> list[str]:
    """Cut a text into its tokens; what is no token is a token of one character, for the parser to refuse."""
    tokens: list[str] = TOKEN.findall(text)
    if "--" in text or "/*" in text:
        return [token for token in tokens if len(token) < 2 or not _is_comment(token)]
    return tokens


def _is_comment(token: str) -> bool:
    """Say whether a token is a comment; one without its end is left, for the parser to refuse."""
    return token[:2] == "--" or (token[:2] == "/*" and len(token) > 3 and token[-2:] == "*/")


def length_without_lists(tokens: list[str]) -> int:
    """Return the characters of all tokens but the literals that stand between IN, '(' and ')', and their commas."""
    length, inside = 0, False
    for index, token in enumerate(tokens):
        if inside:
            signs = token in ("-", "+") and tokens[index - 1] in ("(", ",")  # else it makes an expression of the item
            inside = token[:1] == "'" or token == "," or signs or starts_number(token)
        if not inside:
            length += len(token)
            inside = token == "(" and index > 0 and keyword(tokens[index - 1]) == "IN"
    return length


def offsets_of(text: str) -> list[int]:
    """Return the place in the text of each token, and of the end."""
    found = [match.start() for match in TOKEN.finditer(text) if not _is_comment(match[0])]
    return [*found, len(text.rstrip())]


def keyword(token: str) -> str | None:
    """Return a token as the keyword that it is, in capitals."""
    word = _KEYWORDS.get(token)
    if word is None and len(token) <= _LONGEST_KEYWORD:
        upper = token.upper()
        # ASCII only: the long s and the dotless i fold to S and I, and are no keyword's letters.
        return upper if upper in _FOLDED and token.isascii() else None
    return word


def shown(token: str) -> str:
    """Return a token as a message shows it."""
    if token is END:
        return "the end"
    return repr(token) if len(token) <= 40 else repr(token[:37] + "…")


def unexpected(tokens: list[str], index: int, expected: str) -> TokenFault:
    """Return the fault of a token where another was expected."""
    token = tokens[index]
    if token == "'":
        return TokenFault(
            index, "this string has no closing quote", "a quote inside a string is written twice: 'it''s'"
        )
    if token[:2] == "/*":
        return TokenFault(index, "this comment has no end", "write */ behind it")
    before = tokens[index - 1] if index else END
    hint = _KEYWORD_HINTS.get(keyword(token) or "", _HINTS.get(token)) or _TURNED.get((before, token))
    if hint is None and before.upper() in ("WHERE", "SELECT", "FROM"):
        hint = "a filter is the condition alone, without SELECT and WHERE"
    hint = hint or _WORD_HINTS.get(contextual(token))
    return TokenFault(index, f"expected {expected}, found {shown(token)}", hint)


def contextual(token: str) -> str:
    """Return a word as it reads where an operator is expected."""
    return token.upper() if token.isascii() else token


def starts_number(token: str) -> bool:
    """Whether a token is a number without its sign."""
    return token[:1] in DIGITS or (token[:1] == "." and len(token) > 1)
