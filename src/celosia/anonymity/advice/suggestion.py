"""Try plans on a file, and recommend the one that satisfies the target with the least loss.

The trials read the data: a suggestion is as confidential as the file. Which plan was chosen is no secret worth keeping,
except for its seed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from celosia.anonymity.advice.candidates import Candidate, Family, list_candidates
from celosia.anonymity.advice.comparable import measure_guesses, measure_table_error
from celosia.anonymity.hierarchies import Hierarchy
from celosia.anonymity.microdata import Microdata, Roles, read_microdata
from celosia.anonymity.models import KAnonymity, check, measure
from celosia.anonymity.plans import Description, History, Plan
from celosia.core.errors import CelosiaError, ParameterError
from celosia.core.messages.message import Message, Numeral
from celosia.data.schema.columns import Kind
from celosia.plots import Labels, Point, points

if TYPE_CHECKING:
    import altair as alt

_TARGET: Final = (KAnonymity(5),)
_NAMES: Final[dict[Family, str]] = {
    "classes": "anonymity_advice.family_classes",
    "perturbation": "anonymity_advice.family_perturbation",
    "private": "anonymity_advice.family_private",
    "original": "anonymity_advice.family_original",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What came of one plan.

    Attributes
    ----------
    name, family
        What was tried, and the family of methods that it belongs to.
    plan
        The plan.
    satisfied
        Whether the result satisfies the target.
    k
        The smallest class; None for a synthetic file, whose records are nobody's.
    risk
        How often an attacker who knows the quasi-identifiers guesses the sensitive value, the worst column.
    error
        The mean error of two-way tables.
    trouble
        Why the plan could not be applied; the other results are None then.
    """

    name: Message
    family: Family
    plan: Plan
    satisfied: bool = False
    k: int | None = None
    risk: float | None = None
    error: float | None = None
    trouble: Message | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """Plans that were tried, and the one that is recommended. ``suggest`` makes one.

    ``baseline`` is how often the sensitive value is guessed without the file, ``original`` with the file as it is.

    >>> import pyarrow as pa
    >>> frame = pa.table({"age": [30, 31, 40, 41] * 5, "illness": ["flu", "none"] * 10})
    >>> found = suggest(frame, Roles(quasi_identifiers=["age"], sensitive=["illness"]))
    >>> found.baseline, len(found.sentences)
    (0.5, 3)
    """

    roles: Roles
    target: tuple[Any, ...]
    trials: tuple[Trial, ...]
    recommended: Trial | None
    baseline: float | None
    original: float | None
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict, repr=False)

    @property
    def sentences(self) -> tuple[Message, ...]:
        """The recommendation in words, and why."""
        told = [_explain(self)]
        if self.recommended is not None and self.baseline is not None and self.recommended.risk is not None:
            shares = {
                "risk": _percent(self.recommended.risk),
                "original": _percent(self.original or 0.0),
                "baseline": _percent(self.baseline),
            }
            told.append(Message("anonymity_advice.guesses", **shares))
        private = [trial for trial in self.trials if trial.family == "private" and trial.error is not None]
        if private:
            best = min(private, key=lambda trial: trial.error or 0.0)
            told.append(Message("anonymity_advice.private", name=best.name, error=_percent(best.error or 0.0)))
        else:
            told.append(Message("anonymity_advice.no_private"))
        return tuple(told)

    def describe(self, language: str = "en") -> str:
        """Return the table of trials and the recommendation in a language."""
        lines = [_write_trial(trial, language) for trial in self.trials]
        width = max(len(name) for name, _ in lines)
        table = "\n".join(f"{name:<{width}}  {result}" for name, result in lines)
        return "\n".join([table, "", *(sentence.render(language) for sentence in self.sentences)])

    def __str__(self) -> str:
        return self.describe()

    def make_description(self) -> Description:
        """Return the recommended plan with the roles and hierarchies, to write it into a file."""
        if self.recommended is None:
            raise ParameterError("anonymity_advice.nothing_recommended")
        return Description(roles=self.roles, plan=self.recommended.plan, hierarchies=self.hierarchies)

    def draw(self, *, language: str = "en") -> "alt.LayerChart":
        """Draw risk and loss of all plans: the nearer to the lower left corner, the better."""
        tried = [trial for trial in self.trials if trial.risk is not None and trial.error is not None]
        if not tried or self.baseline is None:
            raise ParameterError("anonymity_advice.nothing_to_draw")
        marks = [
            Point(
                name=trial.name.render(language),
                x=trial.risk or 0.0,
                y=trial.error or 0.0,
                group=Message(_NAMES[trial.family]).render(language),
            )
            for trial in tried
        ]
        original = Message(_NAMES["original"]).render(language)
        marks.append(Point(name=original, x=self.original or 0.0, y=0.0, group=original))
        labels = Labels(
            title=Message("anonymity_advice.chart_title"),
            subtitle=Message("anonymity_advice.chart_subtitle"),
            x=Message("anonymity_advice.risk_axis"),
            y=Message("anonymity_advice.error_axis"),
            language=language,
        )
        levels = {Message("anonymity_advice.baseline").render(language): self.baseline}
        chosen = "" if self.recommended is None else self.recommended.name.render(language)
        return points(marks, labels=labels, levels=levels, chosen=chosen)


def suggest(
    table: object,
    roles: Roles | None = None,
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    target: Sequence[Any] = _TARGET,
    schema: Mapping[str, Kind] | None = None,
    seed: int | None = None,
    on_trial: Callable[[Message], None] | None = None,
) -> Suggestion:
    """Try a handful of plans on a file, and recommend one.

    Parameters
    ----------
    table
        A file of ``read_microdata``, or a frame or path with ``roles`` and ``hierarchies``.
    roles
        The role of every column.
    hierarchies
        Hierarchies of columns. With one for each quasi-identifier, full-domain generalization is tried too.
    target
        Privacy models that the result must satisfy.
    schema
        The kinds of columns, with public bounds and categories: a ``Schema``. With it synthetic records with
        differential privacy are tried too. These trials are not released, and so cost nothing; releasing one does.
    seed
        Makes the trials, and the recommended plan, repeatable.
    on_trial
        A function that is called with the name of each plan before it is tried, to show progress.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from celosia.anonymity import KAnonymity
    >>> lot = np.random.default_rng(7)
    >>> frame = pa.table({"age": lot.integers(18, 90, 300), "illness": lot.choice(["flu", "none", "asthma"], 300)})
    >>> roles = Roles(quasi_identifiers=["age"], sensitive=["illness"])
    >>> found = suggest(frame, roles, target=[KAnonymity(5)], seed=1)
    >>> found.recommended is not None and found.recommended.k >= 5
    True
    """
    data = _read(table, roles, hierarchies)
    asked = tuple(target)
    trials = []
    for candidate in list_candidates(data, asked, schema=schema, seed=seed):
        if on_trial is not None:
            on_trial(candidate.name)
        trials.append(_try(data, candidate, asked))
    good = [trial for trial in trials if trial.satisfied and trial.error is not None]
    risks = [measure_guesses(data, data, column=name) for name in data.roles.sensitive]
    return Suggestion(
        roles=data.roles,
        target=asked,
        trials=tuple(trials),
        recommended=min(good, key=lambda trial: trial.error or 0.0, default=None),
        baseline=max((one.baseline for one in risks), default=None),
        original=max((one.success for one in risks), default=None),
        hierarchies=data.hierarchies,
    )


def _read(table: object, roles: Roles | None, hierarchies: Mapping[str, Hierarchy] | None) -> Microdata:
    if isinstance(table, Microdata):
        return table
    if roles is None:
        raise ParameterError("anonymity_advice.roles_missing")
    return read_microdata(table, roles=roles, hierarchies=hierarchies)


def _try(data: Microdata, candidate: Candidate, target: tuple[Any, ...]) -> Trial:
    """Apply a plan without its requirements, and measure what came of it."""
    about: dict[str, Any] = {"name": candidate.name, "family": candidate.family, "plan": candidate.plan}
    try:
        history = History.of(data, seed=candidate.plan.seed)
        for step in candidate.plan.steps:
            history = history.apply(step)
        masked = history.data
        if masked.is_synthetic:
            return Trial(risk=_find_risk(data, masked), error=measure_table_error(data, masked), **about)
        return Trial(
            satisfied=all(check(masked, target, original=data).values()),
            k=measure(masked, original=data).k,
            risk=_find_risk(data, masked),
            error=measure_table_error(data, masked),
            **about,
        )
    except CelosiaError as error:  # this plan does not suit the file; others may
        return Trial(trouble=error.message, **about)


def _find_risk(data: Microdata, masked: Microdata) -> float | None:
    found = [measure_guesses(data, masked, column=name).success for name in data.roles.sensitive]
    return max(found, default=None)


def _explain(found: Suggestion) -> Message:
    asked = ", ".join(map(repr, found.target))
    best = found.recommended
    if best is None:
        return Message("anonymity_advice.none_satisfies", target=asked)
    others = [trial for trial in found.trials if trial is not best and trial.satisfied and trial.error is not None]
    about = {"name": best.name, "target": asked, "error": _percent(best.error or 0.0)}
    if not others:
        return Message("anonymity_advice.only_one", **about)
    second = min(others, key=lambda trial: trial.error or 0.0)
    return Message("anonymity_advice.recommended", second=second.name, more=_percent(second.error or 0.0), **about)


def _write_trial(trial: Trial, language: str) -> tuple[str, str]:
    if trial.trouble is not None:
        return trial.name.render(language), trial.trouble.render(language)
    code = "anonymity_advice.result" if trial.satisfied else "anonymity_advice.result_outside"
    if trial.family == "private":
        code = "anonymity_advice.result_private"
    risk = "–" if trial.risk is None else _percent(trial.risk)
    fields = {"k": "–" if trial.k is None else str(trial.k), "risk": risk, "error": _percent(trial.error or 0.0)}
    return trial.name.render(language), Message(code, **fields).render(language)


def _percent(share: float) -> Numeral:
    return Numeral(f"{100 * share:.3g} %")
