"""Charts of comparisons: the error by round, by epsilon, and by the bytes that parties send.

An error is 1 - R², or the share of wrong classes. It is computed from records that were kept apart, without noise, so a
picture is for those who may see these records. Charts are Altair's (``celosia.plots``).
"""

from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_epsilon, safe_repr
from celosia.core.messages.message import Message, Numeral
from celosia.federated.comparison import CENTRAL, NON_PRIVATE, Comparison, MethodResult
from celosia.plots import Curve, Labels, curves

if TYPE_CHECKING:
    from fractions import Fraction

    import altair as alt

_NAMES = {CENTRAL: "federated.one_place", NON_PRIVATE: "federated.no_privacy"}


def rounds_chart(comparison: Comparison, *, epsilon: Exact | None = None, language: str = "en") -> "alt.LayerChart":
    """Draw the mean error after each round, at one epsilon; by default the first.

    Methods of one round, and fits with all records in one place, are level lines.

    >>> from celosia.federated import SGD, compare_methods, make_debt, rounds_chart
    >>> from celosia.learn import LinearRegression
    >>> debt = make_debt()
    >>> line = LinearRegression(bounds=debt.bounds, bounds_y=debt.bounds_y)
    >>> found = compare_methods(debt.parties, debt.together(), methods={"SGD": SGD(estimator=line)}, repetitions=2)
    >>> rounds_chart(found).to_dict()["title"]["text"]
    'Error by round'
    """
    spent, shown = _choose(comparison, epsilon)
    last = max(2, *(one.rounds for one in shown))
    lines = []
    for one in shown:
        errors = 1 - np.array(one.round_scores)
        places = np.arange(1, len(errors) + 1)
        if len(errors) == 1:
            places, errors = np.array([1, last]), errors.repeat(2)
        lines.append(Curve(name=_write_name(one, language), x=places, y=errors))
    return _draw(
        lines, comparison, "federated.error_by_round", "federated.round_axis", epsilon=spent, language=language
    )


def epsilons_chart(comparison: Comparison, *, language: str = "en") -> "alt.LayerChart":
    """Draw the mean error by epsilon, with the middle four fifths of the repetitions as bands.

    >>> epsilons_chart(Comparison(results=(), metric="R²", parties=2, repetitions=1, seeded=False))
    Traceback (most recent call last):
    ...
    celosia.core.errors.ParameterError: This chart needs a comparison at two epsilons or more.
    """
    spent = sorted({one.epsilon for one in comparison.results if one.epsilon is not None})
    if len(spent) < 2:
        raise ParameterError("federated.one_epsilon")
    places = [float(epsilon) for epsilon in spent]
    lines = []
    for method in dict.fromkeys(one.method for one in comparison.results):
        found = sorted(
            (one for one in comparison.results if one.method == method), key=lambda one: one.epsilon or spent[0]
        )
        errors = 1 - np.array([one.score for one in found])
        ends = 1 - np.array([one.band[::-1] for one in found])
        drawn = (ends[:, 0], ends[:, 1])
        if len(found) < len(spent):  # without privacy there is one
            errors, drawn = errors.repeat(len(spent)), (errors.repeat(len(spent)), errors.repeat(len(spent)))
        band = None if np.array_equal(*drawn) else drawn
        lines.append(Curve(name=_write_name(found[0], language), x=places, y=errors, band=band))
    return _draw(
        lines, comparison, "federated.error_by_epsilon", "federated.epsilon_axis", x_log=True, language=language
    )


def bytes_chart(comparison: Comparison, *, epsilon: Exact | None = None, language: str = "en") -> "alt.LayerChart":
    """Draw the mean error by the bytes that all parties have sent, at one epsilon; by default the first.

    A line begins where a method has its first model. To have all records in one place, they have to be sent.

    >>> from celosia.federated import SGD, bytes_chart, compare_methods, make_debt
    >>> from celosia.learn import LinearRegression
    >>> debt = make_debt()
    >>> line = LinearRegression(bounds=debt.bounds, bounds_y=debt.bounds_y)
    >>> found = compare_methods(debt.parties, debt.together(), methods={"SGD": SGD(estimator=line)}, repetitions=2)
    >>> bytes_chart(found, language="es").to_dict()["title"]["text"]
    'Error por bytes enviados'
    """
    spent, shown = _choose(comparison, epsilon)
    most = max(one.bytes_sent for one in shown)
    lines = []
    for one in shown:
        sent = one.bytes_sent * np.arange(1, one.rounds + 1) / one.rounds
        errors = 1 - np.array(one.round_scores)
        if one.bytes_sent < most or len(sent) == 1:  # what comes after costs nothing, and changes nothing
            end = most * (1.0 if one.bytes_sent < most else 1.25)
            sent, errors = np.append(sent, end), np.append(errors, errors[-1])
        lines.append(Curve(name=_write_name(one, language), x=sent, y=errors))
    return _draw(
        lines,
        comparison,
        "federated.error_by_bytes",
        "federated.bytes_axis",
        epsilon=spent,
        x_log=True,
        language=language,
    )


def _choose(comparison: Comparison, epsilon: Exact | None) -> "tuple[Fraction, list[MethodResult]]":
    """Return an epsilon, and the results at it, with that without privacy; 0.3 and "0.3" are the same here."""
    known = {float(one.epsilon): one.epsilon for one in comparison.results if one.epsilon is not None}
    wanted = next(iter(known), 0.0) if epsilon is None else float(exact_epsilon(epsilon))
    if wanted not in known:
        raise ParameterError("federated.epsilon_not_compared", epsilon=safe_repr(epsilon))
    return known[wanted], [one for one in comparison.results if one.epsilon in {known[wanted], None}]


def _write_name(result: MethodResult, language: str) -> str:
    code = _NAMES.get(result.method)
    return result.method if code is None else Message(code).render(language)


def _draw(
    lines: list[Curve],
    comparison: Comparison,
    title: str,
    axis: str,
    *,
    language: str,
    epsilon: "Fraction | None" = None,
    x_log: bool = False,
) -> "alt.LayerChart":
    """Draw lines of errors, with what they are in the subtitle."""
    about = {"parties": comparison.parties, "repetitions": comparison.repetitions}
    subtitle = Message("federated.chart_of_all", **about)
    if epsilon is not None:
        subtitle = Message("federated.chart_of_one", epsilon=Numeral(f"{float(epsilon):.4g}"), **about)
    numbers = comparison.metric == "R²"
    labels = Labels(
        title=Message(title),
        subtitle=subtitle,
        x=Message(axis),
        y=Message("federated.error_of_numbers" if numbers else "federated.error_of_classes"),
        language=language,
    )
    positive = all(float(np.min(line.y if line.band is None else line.band[0])) > 0 for line in lines)
    return curves(lines, labels=labels, x_log=x_log, y_log=positive)
