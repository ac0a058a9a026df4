"""Allowlist of SQL tokens: other words never reach the parser.

The parser of a whole dialect accepts many statements, and takes exponential time on some hostile texts. So each token
is checked first. Tokens of the small query language pass. Names of types pass where a type can stand and are plain
names elsewhere. Every other word raises an error that suggests what to write.
"""

from __future__ import annotations

from typing import Final

MAX_NESTING: Final = 50
"""Parentheses and CASEs inside one another."""

WORDS: Final = frozenset(
    [
        "VAR",
        "IDENTIFIER",
        "STRING",
        "NUMBER",
        "NULL",
        "TRUE",
        "FALSE",
        "L_PAREN",
        "R_PAREN",
        "COMMA",
        "DOT",
        "SEMICOLON",
        "STAR",
        "DCOLON",
        "PLUS",
        "DASH",
        "SLASH",
        "MOD",
        "LT",
        "LTE",
        "GT",
        "GTE",
        "EQ",
        "NEQ",
        "AND",
        "OR",
        "NOT",
        "IN",
        "BETWEEN",
        "LIKE",
        "ILIKE",
        "ESCAPE",
        "IS",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "INTERVAL",
        "SELECT",
        "DISTINCT",
        "ALIAS",
        "FROM",
        "JOIN",
        "INNER",
        "LEFT",
        "OUTER",
        "ON",
        "USING",
        "WHERE",
        "GROUP_BY",
        "HAVING",
        "ORDER_BY",
        "ASC",
        "DESC",
        "LIMIT",
        "WITH",
        "FILTER",
        "ISNULL",
        "NOTNULL",
    ]
)
"""The tokens of the query language, by the parser's names for them."""

# Words that other dialects or statements use, and that make good names of columns.
NAMES = frozenset(
    [
        "COLUMN",
        "COMMENT",
        "DATABASE",
        "DEFAULT",
        "FILE",
        "FIRST",
        "FORMAT",
        "INDEX",
        "KEEP",
        "LIST",
        "MAP",
        "NEXT",
        "OBJECT",
        "PERCENT",
        "RANGE",
        "ROWS",
        "SCHEMA",
        "SESSION",
        "SET",
        "TABLE",
        "UNIQUE",
        "VIEW",
    ]
)

# Types that stand in a cast or before a literal; the names of other types are plain words.
TYPES = frozenset(
    ["TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "TIMESTAMP", "TIMESTAMPNTZ", "BOOLEAN"]
)

BARE = frozenset({"IF", "MAP", "CONNECT_BY_ROOT"})  # they start other statements where no parenthesis follows
FUNCTIONS = frozenset({"RIGHT", "REPLACE"})  # they are functions where a parenthesis follows
ADJOINING = frozenset({"VAR", "IDENTIFIER", "STRING", "NUMBER"})  # 0x1F would be 0 under the name x1F
DEEPER: Final = {"L_PAREN": 1, "CASE": 1, "R_PAREN": -1, "END": -1}

_JOINS = "query.hint_join"
_ONE_SELECT = "query.hint_one_select"
_PATTERNS = "query.hint_patterns"
_WRITTEN_OUT = "query.hint_written_out"
_NO_SUBQUERY = "query.hint_no_subquery"
_PLAIN_ROWS = "query.hint_plain_rows"
_PARAMETERS = "query.hint_parameters"
LANGUAGE = "query.hint_language"
_STRINGS = "query.hint_strings"

_STATEMENTS = [
    "ALTER",
    "ANALYZE",
    "ATTACH",
    "BEGIN",
    "CACHE",
    "COMMAND",
    "COMMIT",
    "COPY",
    "CREATE",
    "DELETE",
    "DESCRIBE",
    "DETACH",
    "DROP",
    "EXECUTE",
    "GRANT",
    "INSERT",
    "INSTALL",
    "KILL",
    "LOAD",
    "MERGE",
    "PRAGMA",
    "REPLACE",
    "REVOKE",
    "ROLLBACK",
    "SHOW",
    "SUMMARIZE",
    "TRUNCATE",
    "UNCACHE",
    "UPDATE",
    "USE",
]

HINTS: Final[dict[str, str]] = {
    **dict.fromkeys(["RLIKE", "IRLIKE", "GLOB", "SIMILAR_TO", "TILDE", "COLLATE"], _PATTERNS),
    **dict.fromkeys(["DPIPE", "DARROW", "ARROW"], "query.hint_concatenation"),
    **dict.fromkeys(["UNION", "EXCEPT", "INTERSECT", "VALUES", "RECURSIVE", "INTO", "LOCK"], _ONE_SELECT),
    **dict.fromkeys(["LIKE", "ILIKE"], "query.hint_like"),
    "FOR": "query.hint_for",
    **dict.fromkeys(["OVER", "WINDOW", "QUALIFY", "PARTITION_BY", "PARTITION", "ROLLUP", "CUBE"], _PLAIN_ROWS),
    **dict.fromkeys(["GROUPING_SETS", "PIVOT", "UNPIVOT"], _PLAIN_ROWS),
    **dict.fromkeys(["OFFSET", "FETCH"], "query.hint_limit"),
    **dict.fromkeys(["L_BRACKET", "R_BRACKET"], "query.hint_list_after_in"),
    "TABLE_SAMPLE": "query.hint_no_sampling",
    **dict.fromkeys(["EXISTS", "ANY", "ALL", "SOME"], _NO_SUBQUERY),
    **dict.fromkeys(_STATEMENTS, _ONE_SELECT),
    **dict.fromkeys(["CROSS", "NATURAL", "FULL", "RIGHT", "SEMI", "ANTI", "ASOF", "LATERAL", "POSITIONAL"], _JOINS),
    **dict.fromkeys(["STRAIGHT_JOIN", "UNNEST", "APPLY"], _JOINS),
    **dict.fromkeys(["CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"], _WRITTEN_OUT),
    **dict.fromkeys(["CURRENT_USER", "CURRENT_SCHEMA", "CURRENT_CATALOG", "SESSION_USER"], _WRITTEN_OUT),
    **dict.fromkeys(["PARAMETER", "PLACEHOLDER", "COLON", "DQMARK", "SESSION_PARAMETER"], _PARAMETERS),
    **dict.fromkeys(
        ["BYTE_STRING", "HEREDOC_STRING", "NATIONAL_STRING", "HEX_STRING", "RAW_STRING", "UNKNOWN"], _STRINGS
    ),
    **dict.fromkeys(["NULLSAFE_EQ", "DIV"], "query.hint_quotients"),
}
