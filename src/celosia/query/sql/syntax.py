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
from celosia.core.messages.message import Message
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

    return _tree(text, exp.Condition, "query.wanted_expression")


def query_tree(text: str) -> exp.Expr:
    """Return the syntax tree of one SELECT statement."""
    from sqlglot import exp

    return _tree(text, exp.Select, "query.wanted_select")


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
        raise QueryError("query.sql_part_not_supported", part=part, place=place)


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
    return Message(_DESCRIPTIONS[node.key]) if node.key in _DESCRIPTIONS else _SPELLINGS.get(node.key, name)


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
    "group": "GROUP BY",
    "intdiv": "//",
    "nullsafeeq": "IS NOT DISTINCT FROM",
    "nullsafeneq": "IS DISTINCT FROM",
    "order": "ORDER BY",
    "ordered": "ORDER BY",
    "star": "*",
    "timestamptrunc": "DATE_TRUNC",
    "timetostr": "STRFTIME",
}

_DESCRIPTIONS: Final = {
    "dot": "query.name_with_dots",
    "subquery": "query.name_subquery",
    "select": "query.name_subquery",
    "tablealias": "query.name_of_table",
    "tuple": "query.name_list",
}


def _tree(text: str, into: type[exp.Expr], wanted: str) -> exp.Expr:
    _check_text(text)
    trees = _parse(text, into, wanted)
    if len(trees) != 1:
        raise QueryError("query.several_statements", found=len(trees), wanted=Message(wanted))
    if sum(1 for _ in walk(trees[0])) > MAX_PARTS:
        raise QueryError("query.query_has_too_many_parts", most=MAX_PARTS)
    return trees[0]


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise QueryError("query.query_not_a_text", type=type(text).__name__)
    if not text.strip():
        raise QueryError("query.query_text_empty")
    if len(text) > MAX_TEXT_LENGTH:
        raise QueryError("query.query_text_too_long", most=MAX_TEXT_LENGTH, found=len(text))
    strange = next((letter for letter in text if _is_invisible(letter)), None)
    if strange is not None:
        raise QueryError("query.query_has_invisible_character", found=safe_repr(strange))


def _is_invisible(letter: str) -> bool:
    """Return whether a character is a control character, a lone surrogate, or changes direction or has no width."""
    if letter in "\t\n\r":
        return False
    return not letter.isprintable() and not letter.isspace()


def _parse(text: str, into: type[exp.Expr], wanted: str) -> list[exp.Expr]:
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.errors import ParseError

    place = None
    try:
        dialect = Dialect.get_or_raise(DIALECT)
        tokens = dialect.tokenize(text)
        check_tokens(tokens)
        return [tree for tree in dialect.parser().parse_into(into, tokens, text) if tree is not None]
    except QueryError:
        raise
    except RecursionError:
        raise QueryError("query.query_nested_too_deeply") from None
    except ParseError as error:
        place = _find_place(error)
    except Exception:  # noqa: BLE001 - any failure of the parser becomes one sentence
        place = None
    if place is None:
        raise QueryError("query.sql_syntax_error", wanted=Message(wanted))
    raise QueryError("query.sql_syntax_error_at", line=place[0], column=place[1], wanted=Message(wanted))


def _find_place(error: object) -> tuple[int, int] | None:
    details = getattr(error, "errors", None) or [{}]
    line, column = details[0].get("line"), details[0].get("col")
    return (line, column) if isinstance(line, int) and isinstance(column, int) else None


def check_tokens(tokens: Sequence[Token]) -> None:
    """Raise on tokens outside the language; turn words that are names here into name tokens."""
    from sqlglot import TokenType

    depth = 0
    for i, token in enumerate(tokens):
        before, after = tokens[i - 1] if i else None, tokens[i + 1] if i + 1 < len(tokens) else None
        depth += DEEPER.get(token.token_type.name, 0)
        if depth > MAX_NESTING:
            raise QueryError("query.too_many_nested_parentheses", most=MAX_NESTING)
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
        raise QueryError("query.number_runs_into_word", number=safe_repr(token.text), following=safe_repr(after.text))
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
    known = HINTS.get(token.token_type.name)
    if known is None and token.text.isidentifier():
        hint = Message("query.hint_quote", name=token.text[:60])
    else:
        hint = Message(known or LANGUAGE)
    shown = token.text.upper() if token.text.isidentifier() and len(token.text) <= 60 else safe_repr(token.text)
    raise QueryError("query.not_supported", name=shown, hint=hint)
