"""Parses text into a syntax tree: the only module that calls the SQL parser.

Texts may be hostile. Their length is checked before parsing and the size of the tree before it is walked. Every error
of the parser becomes one sentence with the line and the column.
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
    MAX_NESTING,
    NAMES,
    TYPES,
    WORDS,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlglot import Token, TokenType, exp

MAX_TEXT_LENGTH: Final = 20_000
"""Characters of the longest text that is parsed."""

MAX_PARTS: Final = 5_000
"""Nodes of the largest syntax tree that is walked."""


def condition_tree(text: str) -> exp.Expr:
    """Return the syntax tree of a condition or another expression over columns."""
    from sqlglot import exp

    return _tree(text, exp.Condition, "it must be one expression such as age < 18 AND sex = 'F'")


def query_tree(text: str) -> exp.Expr:
    """Return the syntax tree of one SELECT statement."""
    from sqlglot import exp

    return _tree(text, exp.Select, "it must be one SELECT such as SELECT sex, COUNT(*) FROM deaths GROUP BY sex")


def parts_given(node: exp.Expr) -> dict[str, object]:
    """Return the parts of a node by name, without those that are absent, false or empty."""
    return {
        name: value for name, value in node.args.items() if value is not None and value is not False and value != []
    }


def check_parts(node: exp.Expr, *known: str) -> None:
    """Raise if a node has parts other than the known ones."""
    extra = [name for name in parts_given(node) if name not in known]
    if extra:
        part = extra[0].strip("_").upper().replace("_", " ")
        place = "SELECT" if node.key == "select" else sql_name(node)
        raise QueryError(f"{part} is not supported in or after {place}: leave it out.")


def strip_parentheses(node: exp.Expr) -> exp.Expr:
    """Return the node inside parentheses."""
    while node.key == "paren":
        check_parts(node, "this")
        node = node.this
    return node


def is_column(node: exp.Expr) -> bool:
    """Return whether a node is the plain name of a column, with or without its table."""
    return bool(node.key == "column" and node.this.key == "identifier")


def plain_name(node: exp.Expr) -> tuple[str, bool]:
    """Return the name of a column or table node without what stands before it, and whether it is quoted."""
    return str(node.this.this), bool(node.this.args.get("quoted"))


def flatten_chain(node: exp.Expr) -> list[exp.Expr]:
    """Return the parts of ``a AND b AND c``, which the parser nests to the left as deep as the text is long."""
    parts, key = [], node.key
    while node.key == key:
        check_parts(node, "this", "expression")
        parts.append(node.expression)
        node = node.this
    return [node, *reversed(parts)]


def walk(tree: exp.Expr, leaving: Collection[str] = ()) -> Iterator[exp.Expr]:
    """Yield all nodes of a tree without recursion: it may be as deep as the text is long.

    The contents of nodes whose kind is in ``leaving`` are left out.
    """
    queue: deque[exp.Expr] = deque([tree])
    while queue:
        node = queue.popleft()
        yield node
        if node.key in leaving:
            continue
        for value in node.args.values():
            queue.extend(item for item in (value if isinstance(value, list) else [value]) if hasattr(item, "args"))


def sql_name(node: exp.Expr) -> str:
    """Return the SQL word for a node, for a message."""
    if node.key == "anonymous":
        return str(node.this).upper()[:60]
    if node.key in {"ignorenulls", "respectnulls"}:
        return sql_name(node.this)
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
    _check_text(text)
    trees = _parse(text, into, wanted)
    if len(trees) != 1:
        raise QueryError(f"The text holds {len(trees)} statements: {wanted}.")
    if sum(1 for _ in walk(trees[0])) > MAX_PARTS:
        raise QueryError(f"The text is too long: at most {MAX_PARTS:,} parts are read.")
    return trees[0]


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise QueryError(f"The text of a query must be a str, not {type(text).__name__}.")
    if not text.strip():
        raise QueryError("The text of the query is empty.")
    if len(text) > MAX_TEXT_LENGTH:
        raise QueryError(f"The text of a query must have at most {MAX_TEXT_LENGTH:,} characters, not {len(text):,}.")
    strange = next((letter for letter in text if _is_invisible(letter)), None)
    if strange is not None:
        raise QueryError(f"The text of the query has a character that has no place in one: {safe_repr(strange)}.")


def _is_invisible(letter: str) -> bool:
    """Return whether a character is a control character, a lone surrogate, or changes direction or has no width."""
    if letter in "\t\n\r":
        return False
    return not letter.isprintable() and not letter.isspace()


def _parse(text: str, into: type[exp.Expr], wanted: str) -> list[exp.Expr]:
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.errors import ParseError

    place = ""
    try:
        dialect = Dialect.get_or_raise(DIALECT)
        tokens = dialect.tokenize(text)
        check_tokens(tokens)
        return [tree for tree in dialect.parser().parse_into(into, tokens, text) if tree is not None]
    except QueryError:
        raise
    except RecursionError:
        raise QueryError("The text of the query is nested too deeply: use fewer parentheses.") from None
    except ParseError as error:
        place = _format_place(error)
    except Exception:  # noqa: BLE001 - any failure of the parser becomes one sentence
        place = ""
    raise QueryError(f"The text cannot be parsed{place}: {wanted}.")


def _format_place(error: object) -> str:
    details = getattr(error, "errors", None) or [{}]
    line, column = details[0].get("line"), details[0].get("col")
    return f" at line {line}, column {column}" if isinstance(line, int) and isinstance(column, int) else ""


def check_tokens(tokens: Sequence[Token]) -> None:
    """Raise on tokens outside the language; turn words that are names here into name tokens."""
    from sqlglot import TokenType

    depth = 0
    for i, token in enumerate(tokens):
        before, after = tokens[i - 1] if i else None, tokens[i + 1] if i + 1 < len(tokens) else None
        depth += DEEPER.get(token.token_type.name, 0)
        if depth > MAX_NESTING:
            raise QueryError(f"The text of the query is nested too deeply: at most {MAX_NESTING} parentheses are read.")
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
    like = word in {"LIKE", "ILIKE"} and following == "L_PAREN"  # the parser swaps the arguments of a call
    if bare or like or (word == "INTERVAL" and following not in {"NUMBER", "STRING"}):
        _refuse(token)


def _is_type(token: Token, before: Token | None, after: Token | None) -> bool:
    """Return whether a word stands where a type stands: CAST(x AS DATE), x::DATE, DATE '2021-12-31'."""
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
    raise QueryError(f"{shown} is not supported: {hint or LANGUAGE}.")
