"""Questions of all kinds, drawn from a seed: good ones, broken ones, absurd ones, in SQL and as plans, at any price.

The columns are those of ``neighbourhood.SCHEMA``. About a fifth of the questions can be answered; nobody knows which
before they are asked, which is the point.
"""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import celosia as cl
from celosia.core import ZCDP, ApproxDP, CelosiaError, PureDP
from celosia.core.exact import exact_adjacency
from celosia.data.sources.classify import Frame
from celosia.data.table import Table
from celosia.query.serial.plan import plan_to_json
from celosia.query.sql.parser import parse_sql
from tests.query.asking import CONDITIONS, NUMBERS, PRIVATE_KEYS, PUBLIC_KEYS
from tests.reliability.neighbourhood import BUDGETS, SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Body = dict[str, Any]

__all__ = ["HOSTILE_SQL", "fuzzed", "tables_of"]

HOSTILE_SQL = [
    line.replace("@", "SELECT COUNT(*) FROM deaths ", 1) if line.startswith("@") else line
    for line in (Path(__file__).parents[1] / "query" / "hostile.sql.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
"""Texts that must be refused, about a table ``deaths``."""

OWN = "irbcontds"
AGGREGATES = ["COUNT(*)", "COUNT({x})", "SUM({x})", "AVG({x})"]
COSTLY = [
    "VARIANCE({x})", "STDDEV({x})", "COVAR_SAMP({x}, {y})", "CORR({x}, {y})", "MEDIAN({x})", "QUANTILE({x}, 0.9)",
    "MIN({x})", "MAX({x})", "MODE(c)", "MODE(o)", "TOP_K(c, 2)", "TOP_K(n, 1)", "COUNT(DISTINCT {x})",
    "COUNT(DISTINCT c)",
]  # fmt: skip
WORDS = ["SELECT", "FROM", "WHERE", "GROUP BY", "COUNT(*)", "*", "'", '"', "(", ")", ";", "--", "1/0", "NULL", "c", "π"]
NEEDED = {"w": "k", "g": "k", "x": "", "visits": "", "top": "", "total": "", "low": "", "y": "", "h": ""}
TARGETS: dict[type, list[Body]] = {
    PureDP: [
        {"epsilon": "0.1"}, {"epsilon": 0.5}, {"epsilon": "1/3"}, {"epsilon": 1}, {"epsilon": "1e-300"},
        {"error": 5}, {"error": "0.5", "confidence": "0.9"}, {"error": {"a0": 10}}, {"error": 3, "rows": 100},
    ],
    ApproxDP: [
        {"epsilon": "2", "delta": "1e-6"}, {"epsilon": 1, "delta": 1e-9}, {"epsilon": "1/7"}, {"epsilon": 1},
        {"epsilon": "0.1", "delta": "1e-300"}, {"error": 5, "delta": "1e-6"}, {"error": {"a0": 10}, "rows": "50"},
    ],
    ZCDP: [{"rho": "0.5"}, {"rho": 1}, {"rho": "1e-300"}, {"error": 5}, {"error": 3, "rows": 100}],
}  # fmt: skip
ABSURD: list[Body] = [
    {"epsilon": 0}, {"epsilon": -1}, {"epsilon": "nan"}, {"epsilon": "inf"}, {"epsilon": "1e308"}, {"epsilon": True},
    {"epsilon": [1]}, {}, {"epsilon": 1, "rho": 1}, {"delta": "1e-6"}, {"epsilon": 1, "delta": 2}, {"error": -1},
    {"error": {"nowhere": 1}}, {"error": 1, "confidence": 1}, {"epsilon": 1, "more": 2}, {"epsilon": ""},
    {"error": 3, "rows": "0"}, {"rho": 1}, {"epsilon": 1}, {"epsilon": "70000"},
]  # fmt: skip


def tables_of(name: str) -> dict[str, Table]:
    """The tables of a data set as a client knows them: declared, without rows."""
    person: dict[str, Any] = {"person": "p", "max_groups_per_person": 2, "max_rows_per_group": 3}
    adjacency = exact_adjacency("replace-one" if name == "swapped" else "add-remove")
    options = person if name == "persons" else {}
    private = Table(name=name, source=Frame(None), schema=SCHEMA, adjacency=adjacency, **options)
    book = cl.Schema(code=cl.Category("a", "b", "zz"), w=cl.Integer(1, 9), g=cl.Category("u", "v"))
    return {name: private, "k": Table(name="k", source=Frame(None), schema=book, public=True, key=("code",))}


def fuzzed(seed: int, number: int) -> Iterator[Body]:
    """So many questions, the same for the same seed."""
    chance = random.Random(seed)
    for _ in range(number):
        yield _Fuzzer(chance).body()


class _Fuzzer:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        names = [name for name in BUDGETS if name != "poor"]
        self.dataset = chance.choice([*names, *names, "poor"])

    def body(self) -> Body:
        """One question with what it may cost."""
        way = self._chance.random()
        question: Body
        if way < 0.2:
            question = {"sql": self.sql()}
        elif way < 0.5:
            question = {"sql": self._chance.choice(HOSTILE_SQL).replace("deaths", self.dataset) or " "}
        elif way < 0.8:
            question = {"sql": self._broken(self.sql())}
        else:
            question = self._plan(broken=way > 0.86)
        usual = TARGETS[type(BUDGETS[self.dataset])]
        target = self._chance.choice(usual if self._chance.random() < 0.85 else ABSURD)
        dataset = (
            self.dataset if self._chance.random() < 0.97 else self._chance.choice(["nowhere", "", "rows\0", "ROWS"])
        )
        return {"dataset": dataset, **question, **target}

    def sql(self) -> str:
        """A question that may make sense."""
        pick = self._chance.choice
        joined = self._chance.random() < 0.2
        numbers, conditions = (self._asked(texts, joined=joined) for texts in (NUMBERS, CONDITIONS))
        kinds = [
            *(pick(AGGREGATES) for _ in range(pick([1, 1, 1, 2]))),
            *([pick(COSTLY)] if pick([0, 0, 0, 0, 1]) else []),
        ]
        made = [kind.format(x=pick(numbers), y=pick(numbers)) for kind in kinds]
        keys = self._keys(joined=joined)
        shown = [f"{key} AS k{place}" for place, key in enumerate(keys)]
        listed = ", ".join([*shown, *(f"{one} AS a{place}" for place, one in enumerate(made))])
        join = f" {pick(['', 'LEFT '])}JOIN k ON {self.dataset}.c = k.code" if joined else ""
        where = f" WHERE {pick(conditions)}" if self._chance.random() < 0.5 else ""
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"SELECT {listed} FROM {self.dataset}{join}{where}{group}"

    def _keys(self, *, joined: bool) -> list[str]:
        way = self._chance.random()
        if way < 0.5:
            return []
        texts = PRIVATE_KEYS if way > 0.85 else self._asked(PUBLIC_KEYS, joined=joined)
        return self._chance.sample(texts, 1 if way < 0.9 else min(2, len(texts)))

    @staticmethod
    def _asked(texts: Sequence[str], *, joined: bool) -> list[str]:
        """Those that need no column which is not there."""
        absent = [name for name, table in NEEDED.items() if not (joined and table == "k")]
        return [text for text in texts if not any(_names(text, name) for name in absent)]

    def _broken(self, text: str) -> str:
        place = self._chance.randrange(len(text))
        return self._chance.choice(
            [
                text[:place],
                text[:place] + text[place + 1 :],
                text[:place] + self._chance.choice(WORDS) + text[place:],
                text.replace("a0", self._chance.choice(["k0", "a1", '"', "i"])),
                text.replace(self._chance.choice(OWN), self._chance.choice("zqp"), 1),
                f"{text}; {text}",
                f"{text} {self._chance.choice(['LIMIT 1', 'ORDER BY 1', 'HAVING COUNT(*) > 1', 'UNION ' + text])}",
            ]
        )

    def _plan(self, *, broken: bool) -> Body:
        for _ in range(20):
            try:
                plan = plan_to_json(parse_sql(self.sql(), tables_of(self.dataset)))
            except CelosiaError:
                continue
            return {"plan": self._spoilt(plan) if broken else plan}
        return {"plan": {}}

    def _spoilt(self, plan: Body) -> Body:
        """The plan with one of its parts left out, doubled or replaced."""
        made: Body = copy.deepcopy(plan)
        objects = list(_objects(made))
        one = self._chance.choice(objects)
        name = self._chance.choice(sorted(one))
        match self._chance.randrange(4):
            case 0:
                del one[name]
            case 1:
                one[name] = self._chance.choice([None, True, -1, 2**70, "x" * 300, [], {}, [[]], "\0", "p"])
            case 2:
                one["more"] = 1
            case _:
                one[name] = json.loads(json.dumps(self._chance.choice(objects)))
        return made


def _names(text: str, column: str) -> bool:
    import re

    return re.search(rf"\b{column}\b", text) is not None


def _objects(value: Any) -> Iterator[Body]:
    if isinstance(value, dict):
        yield value
        for one in value.values():
            yield from _objects(one)
    elif isinstance(value, list):
        for one in value:
            yield from _objects(one)
