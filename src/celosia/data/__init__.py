"""Schemas, tables, frames in and out, and the bundled data sets.

The content of a schema (bounds, categories, null rules) is public by definition, because it is written without looking
at the data. The bundled tables are synthetic: no record is about a person.
"""

from celosia.data.bundled.deaths import AGES, CAUSES, DIABETES, SEXES, STATES, VIOLENCE, deaths
from celosia.data.bundled.survey import ILLNESSES, JOBS, PROVINCES, make_survey
from celosia.data.bundled.synthetic import make_deaths
from celosia.data.bundled.telemetry import RECIPES, Recipe, generate, generate_batches
from celosia.data.drafting.draft import draft_schema
from celosia.data.dummy import draw_dummy_batches, draw_dummy_rows
from celosia.data.schema.axis import Axis, axis_between
from celosia.data.schema.columns import Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp
from celosia.data.schema.schema import Schema
from celosia.data.schema_file import SchemaFile, parse_schema_file, read_schema_file
from celosia.data.sources.text_format import TextFormat
from celosia.data.table import Table, table

__all__ = [
    "AGES",
    "CAUSES",
    "DIABETES",
    "ILLNESSES",
    "JOBS",
    "PROVINCES",
    "RECIPES",
    "SEXES",
    "STATES",
    "VIOLENCE",
    "Axis",
    "Boolean",
    "Category",
    "Date",
    "Integer",
    "Kind",
    "Real",
    "Recipe",
    "Schema",
    "SchemaFile",
    "Table",
    "Text",
    "TextFormat",
    "Timestamp",
    "axis_between",
    "deaths",
    "draft_schema",
    "draw_dummy_batches",
    "draw_dummy_rows",
    "generate",
    "generate_batches",
    "make_deaths",
    "make_survey",
    "parse_schema_file",
    "read_schema_file",
    "table",
]
