"""The first look at a query: its characters and its words, before any parser sees it.

It refuses what is never allowed and says where it stands. It is not the gate: what passes
is still held against the tree's whitelist in ``parse``. Sees no data.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from sqlglot import Token, TokenType, tokenize

from interlace.core.errors import QueryRefused
from interlace.query.parsing.advice import ADVICE, ARITHMETIC, FORM, advice_for

DIALECT = "duckdb"
LONGEST_TEXT = 20_000
MOST_TOKENS = 5_000
#: Of parentheses, CASEs and NOTs. The parser recurses, so the limit is far below Python's own.
DEEPEST = 16

_ALLOWED = frozenset(
    {
        TokenType.SELECT, TokenType.FROM, TokenType.WHERE, TokenType.DISTINCT, TokenType.ALIAS,
        TokenType.L_PAREN, TokenType.R_PAREN, TokenType.STAR, TokenType.COMMA, TokenType.DOT,
        TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.BETWEEN, TokenType.IN,
        TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE,
        TokenType.DASH, TokenType.PLUS, TokenType.NUMBER, TokenType.STRING, TokenType.TRUE, TokenType.FALSE,
        TokenType.DATE, TokenType.VAR, TokenType.IDENTIFIER, TokenType.JOIN, TokenType.INNER,
        TokenType.ON, TokenType.USING, TokenType.GROUP_BY, TokenType.CASE, TokenType.WHEN,
        TokenType.THEN, TokenType.ELSE, TokenType.END,
    }
)  # fmt: skip
_FUNCTIONS = frozenset(
    {
        "COUNT", "SUM", "AVG", "VAR_POP", "VAR_SAMP", "VARIANCE", "VAR", "STDDEV", "STDDEV_POP",
        "STDDEV_SAMP", "QUANTILE", "MEDIAN", "CLAMP", "BUCKET", "ABS", "YEAR", "QUARTER", "MONTH",
        "DAY", "ISODOW", "EXTRACT", "DATE_PART", "DATE_TRUNC",
    }
)  # fmt: skip
#: Of +, - and *: expressions nest as deep as a chain of them is long.
MOST_OPERATORS = 64

#: Ways to write a text that only some engines know.
_TEXTS = frozenset(
    {
        TokenType.BYTE_STRING, TokenType.HEREDOC_STRING, TokenType.NATIONAL_STRING,
        TokenType.RAW_STRING, TokenType.HEX_STRING, TokenType.BIT_STRING, TokenType.UNICODE_STRING,
    }
)  # fmt: skip
#: Where the parser does without what is missing, or passes over what is too much.
_PASSED_OVER = frozenset(
    {
        (TokenType.SELECT, TokenType.ALIAS), (TokenType.SELECT, TokenType.COMMA),
        (TokenType.L_PAREN, TokenType.COMMA), (TokenType.FROM, TokenType.DOT),
        (TokenType.STAR, TokenType.WHERE), (TokenType.COMMA, TokenType.FROM),
        (TokenType.COMMA, TokenType.COMMA), (TokenType.COMMA, TokenType.R_PAREN),
    }
)  # fmt: skip
_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING})
#: What before a parenthesis is the name of a function.
_CALLS = _NAMES | {TokenType.DATE}
_NOTHING_FOLLOWS = "nothing follows upon this comma; leave it out"
#: Between tokens; within quotes they are let pass and match no declared text.
_BLANK = "\t\n\r"

_STRETCH = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--|/\*|[^'"]""", re.DOTALL)


def screened(text: str, names: Collection[str]) -> list[Token]:
    """The tokens of ``text``. ``names`` are declared names, which may look like keywords.

    Raises QueryRefused for text that is too long or too deep, for comments, for characters
    outside of quotes that SQL has no use for, and for every word that no allowed query has.

    >>> [token.text for token in screened("SELECT COUNT(*) FROM labs", ["labs"])][:2]
    ['SELECT', 'COUNT']
    """
    if not isinstance(text, str):
        raise QueryRefused("query", f"must be text, got {type(text).__name__}")
    if len(text) > LONGEST_TEXT:
        raise QueryRefused("length", f"a query may have {LONGEST_TEXT} characters")
    _check_characters(text)
    tokens = _tokens(text)
    if not tokens:
        raise QueryRefused("empty query", f"the allowed form is {FORM}", (1, 1))
    if len(tokens) > MOST_TOKENS:
        raise QueryRefused(
            "length",
            f"a query may have {MOST_TOKENS} words",
            position(text, tokens[MOST_TOKENS].start),
        )
    _check_depth(text, tokens)
    if tokens[0].token_type == TokenType.VAR:
        where = position(text, tokens[0].start)
        raise QueryRefused(_shown(tokens[0].text.upper()), f"the allowed form is {FORM}", where)
    if tokens[0].token_type != TokenType.SELECT:
        raise _refusal(text, tokens)
    _check_words(text, tokens, {name.casefold() for name in names})
    if tokens[-1].token_type == TokenType.STAR:  # passed over after a table
        raise _refusal(text, tokens[-1:])
    if tokens[-1].token_type == TokenType.COMMA:
        raise QueryRefused("syntax", _NOTHING_FOLLOWS, position(text, tokens[-1].start))
    _check_whole(text, tokens)
    return tokens


def _check_words(text: str, tokens: list[Token], folded: set[str]) -> None:
    for index, token in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        called = _opens(following)
        if token.token_type not in _ALLOWED and (called or token.text.casefold() not in folded):
            raise _refusal(text, tokens[index:])
        # A type before a parenthesis, DATE too: the parser reads what stands inside it twice, at
        # every depth, which 16 deep takes seconds, and a text can hold a hundred of those.
        if called and token.token_type in _CALLS:
            _check_function(text, token)
        if following is not None:
            _check_pair(text, token, following)


def _check_whole(text: str, tokens: list[Token]) -> None:
    """That no word is missing without which the parser does."""
    waiting: list[Token] = []
    for token in tokens:
        if token.token_type == TokenType.WHEN:
            waiting.append(token)
        elif token.token_type == TokenType.THEN and waiting:
            waiting.pop()
    missing = waiting[:1] or [tokens[-1]] * (tokens[-1].token_type == TokenType.ALIAS)
    for token in missing:
        raise QueryRefused("syntax", f"the allowed form is {FORM}", position(text, token.start))


def _opens(token: Token | None) -> bool:
    return token is not None and token.token_type == TokenType.L_PAREN


def _check_function(text: str, token: Token) -> None:
    word = token.text.upper()
    if token.token_type in (TokenType.IDENTIFIER, TokenType.STRING):
        advice = "the name of a function stands without quotes"
        raise QueryRefused("function in quotes", advice, position(text, token.start))
    if word not in _FUNCTIONS:
        construct = word if word in ADVICE else f"function {_shown(word)}"
        raise QueryRefused(construct, advice_for(construct), position(text, token.start))


def _check_pair(text: str, token: Token, following: Token) -> None:
    """Of two tokens that the parser reads as one thing, or of which it passes one over."""
    kinds, close = (token.token_type, following.token_type), following.start == token.end + 1
    if (kinds == (TokenType.NUMBER, TokenType.VAR) and close) or (
        kinds == (TokenType.DOT, TokenType.NUMBER) and not close
    ):  # 0x1F and 12abc: SQL would take the name for an alias
        raise QueryRefused("number", "write it out in decimal digits", position(text, token.start))
    unnamed = kinds[0] == TokenType.ALIAS and kinds[1] not in _NAMES
    unlisted = kinds[0] == TokenType.USING and not _opens(following)
    if kinds in _PASSED_OVER or unlisted or (unnamed and not following.text.isidentifier()):
        spare = kinds[0] == TokenType.COMMA
        reason = _NOTHING_FOLLOWS if spare else f"the allowed form is {FORM}"
        place = token.start if spare else following.start
        raise QueryRefused("syntax", reason, position(text, place))


def position(text: str, offset: int) -> tuple[int, int]:
    r"""Line and column, both from 1, of a character of the text.

    >>> position("SELECT\n  1", 9)
    (2, 3)
    """
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def _check_characters(text: str) -> None:
    for offset, stretch in _stretches(text):
        if stretch in ("--", "/*"):
            problem = "comment", "comments are not allowed; leave it out"
        elif stretch in ("'", '"'):
            problem = "quotation", f"the {stretch} opened here is never closed"
        elif len(stretch) == 1 and not stretch.isascii():
            problem = (
                f"character U+{ord(stretch):04X}",
                "outside of quotes only ASCII is read; put such a name in double quotes",
            )
        else:
            _check_printable(text, offset, stretch)
            continue
        raise QueryRefused(*problem, position(text, offset))


def _check_printable(text: str, offset: int, stretch: str) -> None:
    """No declared name or text holds a character that cannot be seen."""
    if stretch.isprintable():
        return
    for place, character in enumerate(stretch, offset):
        if not character.isprintable() and character not in _BLANK:
            named = "control character" if character < " " or character == "\x7f" else ""
            raise QueryRefused(
                named or f"character U+{ord(character):04X}",
                "it cannot be seen: leave it out",
                position(text, place),
            )


def _stretches(text: str) -> Iterator[tuple[int, str]]:
    """Quoted stretches, comment openings and all other characters, one by one."""
    offset = 0
    while offset < len(text):
        found = _STRETCH.match(text, offset)
        stretch = found.group() if found else text[offset]  # a quotation mark without its end
        yield offset, stretch
        offset += len(stretch)


def _tokens(text: str) -> list[Token]:
    try:
        tokens = list(tokenize(text, read=DIALECT))
    except Exception:  # noqa: BLE001 - whatever it stumbles over: its message quotes the text
        raise QueryRefused("query", f"cannot be read as SQL; the allowed form is {FORM}") from None
    if len(tokens) > 1 and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    return tokens


def _check_depth(text: str, tokens: list[Token]) -> None:
    depth = negations = operators = 0
    for token in tokens:
        kind = token.token_type
        depth += kind in (TokenType.L_PAREN, TokenType.CASE)
        depth -= kind in (TokenType.R_PAREN, TokenType.END)
        operators += kind in (TokenType.PLUS, TokenType.DASH, TokenType.STAR)
        if operators > MOST_OPERATORS:
            raise QueryRefused(
                "length",
                f"a query may have {MOST_OPERATORS} of the operators + - *",
                position(text, token.start),
            )
        # A run of NOTs or minus signs nests as deep as parentheses do.
        negations = negations + 1 if kind in (TokenType.NOT, TokenType.DASH) else 0
        if depth + negations > DEEPEST:
            raise QueryRefused(
                "nesting",
                f"a query may nest {DEEPEST} deep; write it flatter",
                position(text, token.start),
            )


def _refusal(text: str, tokens: list[Token]) -> QueryRefused:
    """Of the first of these tokens; the others tell what was meant by it."""
    token, word = tokens[0], tokens[0].text.upper()
    construct = f"operator {word}" if word in ARITHMETIC else _shown(word)
    if token.token_type in _TEXTS:
        construct = "form of a text"
    hint = _test(tokens) if word == "IS" else construct
    advice = advice_for(hint)
    if hint not in ADVICE and token.text.isidentifier():
        advice = f'is a word of SQL: as a name, write it in double quotes, "{_shown(token.text)}"'
    return QueryRefused(construct, advice, position(text, token.start))


def _test(tokens: list[Token]) -> str:
    """Which test follows upon IS: the key of its advice."""
    words = [token.text.upper() for token in tokens[1:3]]
    negated = words[:1] == ["NOT"]
    wanted = "".join(words[negated : negated + 1])
    if wanted == "DISTINCT":
        return "IS NOT DISTINCT FROM" if negated else "IS DISTINCT FROM"
    if wanted in ("TRUE", "FALSE"):
        return "IS TRUE" if (wanted == "TRUE") != negated else "IS FALSE"
    return "IS"


def _shown(word: str) -> str:
    return word if 1 <= len(word) <= 30 and word.isprintable() else "this word"
