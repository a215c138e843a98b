"""The first look at a query: its characters and its words, before any parser sees it.

It refuses what is never allowed and says where it stands. It is not the gate: what passes
is still held against the tree's whitelist in ``parse``. Sees no data.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from sqlglot import Token, TokenType, tokenize

from interlace.core.errors import QueryRefused

DIALECT = "duckdb"
LONGEST_TEXT = 20_000
MOST_TOKENS = 5_000
#: Of parentheses and NOTs. The parser recurses, so the limit is far below Python's own.
DEEPEST = 16

FORM = "SELECT COUNT(*) | COUNT(DISTINCT unit) | SUM(column) [AS name] FROM table [WHERE condition]"
CONDITION = (
    "a condition compares a column with constants by =, <>, <, <=, >, >=, BETWEEN or IN, "
    "combined by AND, OR, NOT and parentheses"
)

_ALLOWED = frozenset(
    {
        TokenType.SELECT, TokenType.FROM, TokenType.WHERE, TokenType.DISTINCT, TokenType.ALIAS,
        TokenType.L_PAREN, TokenType.R_PAREN, TokenType.STAR, TokenType.COMMA, TokenType.DOT,
        TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.BETWEEN, TokenType.IN,
        TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE,
        TokenType.DASH, TokenType.NUMBER, TokenType.STRING, TokenType.TRUE, TokenType.FALSE,
        TokenType.DATE, TokenType.VAR, TokenType.IDENTIFIER,
    }
)  # fmt: skip

_NO_ORDER = "an answer is one number, there is nothing to order or to skip; leave it out"
_NO_NULL = "nothing is missing in a registered table; leave the test out"
_NO_CAST = "columns have their declared types; for a date write DATE '2024-01-31'"
_NO_PATTERN = "compare a category with = or IN and the texts that its declaration lists"
_ONE_TABLE = f"a query reads one declared table; the allowed form is {FORM}"

#: What to do instead of a construct.
ADVICE = {
    "GROUP BY": "answers are one number; ask one query for each group, with WHERE",
    "HAVING": f"there are no groups to filter; {CONDITION}",
    "CASE": f"ask one query for each case; {CONDITION}",
    "OVER": f"windows mix units; the allowed form is {FORM}",
    ";": "ask one statement at a time",
    "SELECT DISTINCT": f"an answer is one number; the allowed form is {FORM}",
    "alias of a table": "leave it out: columns are named without their table",
    "BETWEEN SYMMETRIC": "write the smaller bound first: column BETWEEN low AND high",
    "subquery": f"queries that look at other rows are refused; {CONDITION}",
    **dict.fromkeys(("EXCLUDE", "REPLACE", "RENAME"), "COUNT(*) counts rows: it takes no list"),
    **dict.fromkeys(("ORDER BY", "LIMIT", "OFFSET", "FETCH"), _NO_ORDER),
    **dict.fromkeys(("IS", "NULL", "ISNULL", "NOTNULL"), _NO_NULL),
    **dict.fromkeys(("CAST", "TRY_CAST", "::"), _NO_CAST),
    **dict.fromkeys(("LIKE", "ILIKE", "SIMILAR TO", "GLOB", "~~"), _NO_PATTERN),
    **dict.fromkeys(("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL"), _ONE_TABLE),
    **dict.fromkeys(("ASOF", "SEMI", "ANTI", "UNION", "EXCEPT", "INTERSECT", "WITH"), _ONE_TABLE),
}
_ARITHMETIC = frozenset({"+", "/", "//", "%", "^", "**", "||", "&", "|", "~", "<<", ">>"})

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
    if tokens[0].token_type != TokenType.SELECT:
        raise _refusal(text, tokens[0])
    folded = {name.casefold() for name in names}
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.token_type not in _ALLOWED and token.text.casefold() not in folded:
            raise _refusal(text, token)
        if token.token_type == TokenType.VAR and _opens(following):
            _check_function(text, token)
    return tokens


def _opens(token: Token | None) -> bool:
    return token is not None and token.token_type == TokenType.L_PAREN


def _check_function(text: str, token: Token) -> None:
    word = token.text.upper()
    if word not in ("COUNT", "SUM"):
        construct = word if word in ADVICE else f"function {_shown(word)}"
        raise QueryRefused(construct, advice_for(construct), position(text, token.start))


def position(text: str, offset: int) -> tuple[int, int]:
    r"""Line and column, both from 1, of a character of the text.

    >>> position("SELECT\n  1", 9)
    (2, 3)
    """
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def advice_for(construct: str) -> str:
    """What to write instead of a construct.

    >>> advice_for("LIMIT")
    'an answer is one number, there is nothing to order or to skip; leave it out'
    """
    general = f"is not allowed; the allowed form is {FORM}, where {CONDITION}"
    return ADVICE.get(construct, general)


def _check_characters(text: str) -> None:
    for offset, stretch in _stretches(text):
        if stretch in ("--", "/*"):
            problem = "comment", "comments are not allowed; leave it out"
        elif stretch in ("'", '"'):
            problem = "quotation", f"the {stretch} opened here is never closed"
        elif any(ord(c) < 32 and c not in "\t\n\r" for c in stretch) or "\x7f" in stretch:
            problem = "control character", "leave it out"
        elif len(stretch) == 1 and not stretch.isascii():
            problem = (
                f"character U+{ord(stretch):04X}",
                "outside of quotes only ASCII is read; put such a name in double quotes",
            )
        else:
            continue
        raise QueryRefused(*problem, position(text, offset))


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
    depth = negations = 0
    for token in tokens:
        kind = token.token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        # A run of NOTs or minus signs nests as deep as parentheses do.
        negations = negations + 1 if kind in (TokenType.NOT, TokenType.DASH) else 0
        if depth + negations > DEEPEST:
            raise QueryRefused(
                "nesting",
                f"a query may nest {DEEPEST} deep; write it flatter",
                position(text, token.start),
            )


def _refusal(text: str, token: Token) -> QueryRefused:
    word = token.text.upper()
    if word in _ARITHMETIC:
        construct, advice = f"operator {word}", f"there is no arithmetic in queries; {CONDITION}"
    else:
        construct = _shown(word)
        advice = advice_for(construct)
    return QueryRefused(construct, advice, position(text, token.start))


def _shown(word: str) -> str:
    return word if len(word) <= 30 and word.isprintable() else "this word"
