"""From text to a syntax tree: the one place where the SQL parser is called.

Texts come from strangers. They are measured before they are parsed and the tree is measured before it is walked, and
whatever the parser has to say about a text becomes one sentence of ours with the line and the column.
"""

from __future__ import annotations

from collections import deque
from functools import cache
from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.core.exact import safe_repr
from celosia.query.plan.to_sql import DIALECT
from celosia.query.sql.allowlist import (
    ADJOINING,
    BARE,
    DEEPER,
    FUNCTIONS,
    HINTS,
    LANGUAGE,
    MOST_NESTED,
    NAMES,
    TYPES,
    WORDS,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlglot import Token, TokenType, exp

LONGEST_TEXT: Final = 20_000
"""Characters of the longest text that is parsed."""

MOST_PARTS: Final = 5_000
"""Parts of the largest syntax tree that is walked."""


def condition_tree(text: str) -> exp.Expr:
    """Return the syntax tree of a condition or of another expression over columns."""
    from sqlglot import exp

    return _tree(text, exp.Condition, "it must be one expression such as age < 18 AND sex = 'F'")


def query_tree(text: str) -> exp.Expr:
    """Return the syntax tree of one SELECT statement."""
    from sqlglot import exp

    return _tree(text, exp.Select, "it must be one SELECT such as SELECT sex, COUNT(*) FROM deaths GROUP BY sex")


def parts_given(node: exp.Expr) -> dict[str, object]:
    """Return the parts of a node that are there, by name: what is absent, false or empty is left out."""
    return {
        name: value for name, value in node.args.items() if value is not None and value is not False and value != []
    }


def only(node: exp.Expr, *known: str) -> None:
    """Refuse a node that has other parts than those that are understood."""
    extra = [name for name in parts_given(node) if name not in known]
    if extra:
        part = extra[0].strip("_").upper().replace("_", " ")
        place = "SELECT" if node.key == "select" else spelt(node)
        raise QueryError(f"{part} is not understood in or after {place}: leave it out.")


def unwrapped(node: exp.Expr) -> exp.Expr:
    """Return what stands inside parentheses."""
    while node.key == "paren":
        only(node, "this")
        node = node.this
    return node


def chain(node: exp.Expr) -> list[exp.Expr]:
    """Return the parts of ``a AND b AND c``, which the parser nests to the left as deep as the text is long."""
    parts, key = [], node.key
    while node.key == key:
        only(node, "this", "expression")
        parts.append(node.expression)
        node = node.this
    return [node, *reversed(parts)]


def nodes(tree: exp.Expr, leaving: Collection[str] = ()) -> Iterator[exp.Expr]:
    """Yield all nodes of a tree, without recursion: it may be as deep as the text is long.

    What is inside the kinds of nodes that are ``leaving`` is left out.
    """
    queue: deque[exp.Expr] = deque([tree])
    while queue:
        node = queue.popleft()
        yield node
        if node.key in leaving:
            continue
        for value in node.args.values():
            queue.extend(item for item in (value if isinstance(value, list) else [value]) if hasattr(item, "args"))


def spelt(node: exp.Expr) -> str:
    """Return the SQL word for what a node is, for a message."""
    if node.key == "anonymous":
        return str(node.this).upper()[:60]
    if node.key in {"ignorenulls", "respectnulls"}:
        return spelt(node.this)
    names = getattr(node, "sql_names", None)  # functions have them
    name = node.key.upper() if names is None else str(names()[0]).replace("J_S_O_N", "JSON")
    return _SPELLINGS.get(node.key, name)


_SPELLINGS: Final = {
    "bitwiseand": "&",
    "bitwisenot": "~",
    "bitwiseor": "|",
    "bitwisexor": "XOR",
    "bitwiseleftshift": "<<",
    "bitwiserightshift": ">>",
    "bracket": "[…]",
    "concat": "||",
    "cte": "WITH",
    "dpipe": "||",
    "dot": "a name with dots",
    "group": "GROUP BY",
    "intdiv": "//",
    "nullsafeeq": "IS NOT DISTINCT FROM",
    "nullsafeneq": "IS DISTINCT FROM",
    "order": "ORDER BY",
    "ordered": "ORDER BY",
    "subquery": "a subquery",
    "select": "a subquery",
    "star": "*",
    "tablealias": "the name of a table",
    "timestamptrunc": "DATE_TRUNC",
    "timetostr": "STRFTIME",
    "tuple": "a list in parentheses",
}


def _tree(text: str, into: type[exp.Expr], wanted: str) -> exp.Expr:
    _measure(text)
    trees = _parsed(text, into, wanted)
    if len(trees) != 1:
        raise QueryError(f"The text holds {len(trees)} statements: {wanted}.")
    if sum(1 for _ in nodes(trees[0])) > MOST_PARTS:
        raise QueryError(f"The text is too long: at most {MOST_PARTS:,} parts are read.")
    return trees[0]


def _measure(text: object) -> None:
    if not isinstance(text, str):
        raise QueryError(f"The text of a query must be a str, not {type(text).__name__}.")
    if not text.strip():
        raise QueryError("The text of the query is empty.")
    if len(text) > LONGEST_TEXT:
        raise QueryError(f"The text of a query must have at most {LONGEST_TEXT:,} characters, not {len(text):,}.")
    strange = next((letter for letter in text if _strange(letter)), None)
    if strange is not None:
        raise QueryError(f"The text of the query has a character that has no place in one: {safe_repr(strange)}.")


def _strange(letter: str) -> bool:
    """Control characters, halves of surrogate pairs, and what turns the direction of writing or has no width."""
    if letter in "\t\n\r":
        return False
    return not letter.isprintable() and not letter.isspace()


def _parsed(text: str, into: type[exp.Expr], wanted: str) -> list[exp.Expr]:
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.errors import ParseError

    place = ""
    try:
        dialect = Dialect.get_or_raise(DIALECT)
        tokens = dialect.tokenize(text)
        admitted(tokens)
        return [tree for tree in dialect.parser().parse_into(into, tokens, text) if tree is not None]
    except QueryError:
        raise
    except RecursionError:
        raise QueryError("The text of the query is nested too deeply: use fewer parentheses.") from None
    except ParseError as error:
        place = _place(error)
    except Exception:  # noqa: BLE001 - whatever a parser does with a hostile text, the caller sees one sentence
        place = ""
    raise QueryError(f"The text is not understood{place}: {wanted}.")


def _place(error: object) -> str:
    details = getattr(error, "errors", None) or [{}]
    line, column = details[0].get("line"), details[0].get("col")
    return f" at line {line}, column {column}" if isinstance(line, int) and isinstance(column, int) else ""


def admitted(tokens: Sequence[Token]) -> None:
    """Refuse tokens that are not of the language; make names of those words that are names here."""
    from sqlglot import TokenType

    depth = 0
    for i, token in enumerate(tokens):
        before, after = tokens[i - 1] if i else None, tokens[i + 1] if i + 1 < len(tokens) else None
        depth += DEEPER.get(token.token_type.name, 0)
        if depth > MOST_NESTED:
            raise QueryError(f"The text of the query is nested too deeply: at most {MOST_NESTED} parentheses are read.")
        if token.token_type.name in WORDS:
            _check_word(token, after)
        elif token.token_type.name in FUNCTIONS and after is not None and after.token_type.name == "L_PAREN":
            continue
        elif token.token_type.name in NAMES or token.token_type in _type_words():
            if not _is_type(token, before, after):
                token.token_type = TokenType.VAR
        else:
            _refuse(token)


def _check_word(token: Token, after: Token | None) -> None:
    word, following = token.token_type.name, "" if after is None else after.token_type.name
    if word == "NUMBER" and after is not None and after.start == token.end + 1 and following in ADJOINING:
        raise QueryError(
            f"The number {safe_repr(token.text)} runs into {safe_repr(after.text)}: leave a space between them."
        )
    bare = word == "VAR" and token.text.upper() in BARE and following != "L_PAREN"
    like = word in {"LIKE", "ILIKE"} and following == "L_PAREN"  # of a call the parser turns the arguments round
    if bare or like or (word == "INTERVAL" and following not in {"NUMBER", "STRING"}):
        _refuse(token)


def _is_type(token: Token, before: Token | None, after: Token | None) -> bool:
    """Whether a word stands where a type stands: CAST(x AS DATE), x::DATE, DATE '2021-12-31'."""
    if token.token_type.name not in TYPES or (after is not None and after.token_type.name == "L_PAREN"):
        return False
    if after is not None and after.token_type.name == "STRING":
        return True
    return before is not None and before.token_type.name in {"ALIAS", "DCOLON"}


@cache
def _type_words() -> frozenset[TokenType]:
    from sqlglot import TokenType
    from sqlglot.dialects.dialect import Dialect

    return frozenset(Dialect.get_or_raise(DIALECT).parser_class.TYPE_TOKENS) - {TokenType.UNION, TokenType.UNKNOWN}


def _refuse(token: Token) -> None:
    hint = HINTS.get(token.token_type.name)
    if hint is None and token.text.isidentifier():
        hint = f'if it is the name of a column, put it in double quotes: "{token.text[:60]}"'
    shown = token.text.upper() if token.text.isidentifier() and len(token.text) <= 60 else safe_repr(token.text)
    raise QueryError(f"{shown} is not part of what is read: {hint or LANGUAGE}.")
