"""Private questions to a database: a table with a schema, a session with a budget, and answers with error bars.

Questions come from a builder in Python or from SQL and become the same plan. The plan is priced from the schema alone;
an engine (DuckDB, PostgreSQL, Spark) computes exact integer summaries; noise is added; a table is released. Only
``session.py`` wires these stages.
"""

from celosia.query.answering.limit_suggestion import LimitSuggestion
from celosia.query.batch import BatchLine, BatchPreview
from celosia.query.builder import Query
from celosia.query.history import Entry, PreparedQuery, QueryResult
from celosia.query.plan.nodes import Plan
from celosia.query.planning.cut_off import CutOff
from celosia.query.planning.preview import Preview
from celosia.query.release import TableRelease
from celosia.query.session import Session

__all__ = [
    "BatchLine",
    "BatchPreview",
    "CutOff",
    "Entry",
    "LimitSuggestion",
    "Plan",
    "PreparedQuery",
    "Preview",
    "Query",
    "QueryResult",
    "Session",
    "TableRelease",
]
