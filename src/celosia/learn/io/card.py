"""A model's card: its guarantee, its bounds and noise, and their cost in accuracy.

Everything on it is public already: parameters, the event that was paid for, and forecasts made without data. It is
meant to travel with the model, so it states in plain words what the guarantee means and where its proof is.
"""

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from celosia.core.adjacency import AddRemove
from celosia.core.errors import CelosiaError, FormatError, ParameterError
from celosia.core.exact import exact_integer, format_exact, safe_repr
from celosia.core.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from celosia.data.schema.schema import Schema
from celosia.learn.io.card_pages import Section, html_page, markdown
from celosia.learn.privacy.parameters import feature_kinds, target_kind
from celosia.learn.privacy.price import price_event

if TYPE_CHECKING:
    from collections.abc import Mapping

    from celosia.learn.base.estimator import PrivateEstimator
    from celosia.learn.base.forecast import Forecast

_STATED: Final = (1_000, 10_000, 100_000)  # rows, where nothing public says how many there were
_DELTA: Final = Fraction(1, 10**6)
_MAX_NUMBER_LENGTH: Final = 16  # characters of an exact number
_MAX_LISTED_FEATURES: Final = 200  # features that are listed

_AFTERWARDS: Final[dict[str, str]] = {
    "CategoricalNB": "The noisy counts of all features were made to agree on the size of every class, counts below 0 "
    "were raised to 0, and every category was given a little weight before logarithms were taken.",
    "FunctionalMechanism": "The noisy coefficients were put back into the objective, its quadratic part was raised or "
    "trimmed where noise had bent it downwards, and the minimum was computed.",
    "FuzzyCMeans": "After every pass the noisy sums were divided by the noisy weights, and centres were kept inside "
    "the bounds.",
    "GaussianNB": "Noisy counts below zero were raised to zero, means were cut at the bounds, and variances that noise "
    "could have made were raised to a floor.",
    "KMeans": "After every pass the noisy sums were divided by the noisy counts, and centres were kept inside the "
    "bounds.",
    "LinearRegression": "The noisy matrix of products was made symmetric, its eigenvalues were raised above what noise "
    "could have made, and the equations were solved.",
    "LogisticRegression": "The weights were computed from noisy numbers alone, and brought back to the units of the "
    "features.",
    "PCA": "Means were cut at the bounds, the noisy covariance was replaced by the nearest matrix without negative "
    "eigenvalues, and its eigenvectors were computed.",
    "PNSGDClassifier": "The weights after the last step were brought back to the units of the features.",
    "PNSGDRegressor": "The weights after the last step were brought back to the units of the features.",
    "Ridge": "The noisy matrix of products was made symmetric, its eigenvalues were raised above what noise could have "
    "made, the penalty was added, and the equations were solved.",
    "StandardScaler": "Means were cut at the bounds, and variances that noise could have made were raised to a floor.",
    "federated SGD": "Weights of later rounds were averaged, and brought back to the units of the features.",
    "federated proximal": "Weights of later rounds were averaged, and brought back to the units of the features.",
}
_PROOF: Final[dict[str, str]] = {
    "CategoricalNB": "class-moments",
    "FunctionalMechanism": "functional",
    "FuzzyCMeans": "clustering",
    "GaussianNB": "class-moments",
    "KMeans": "clustering",
    "LinearRegression": "least-squares",
    "LogisticRegression": "noisy-gradient",
    "PCA": "pca",
    "PNSGDClassifier": "pnsgd",
    "PNSGDRegressor": "pnsgd",
    "Ridge": "least-squares",
    "StandardScaler": "class-moments",
    "federated SGD": "federated-sgd",
    "federated proximal": "proximal",
}


def card(model: "PrivateEstimator", format: str = "markdown", *, rows: int | None = None) -> str:  # noqa: A002 - the field's word
    """Return the card of a fitted model, in Markdown or as an HTML page.

    ``rows`` is a number of rows that is public, for the forecast of what the noise costs; without it the model's own
    noisy or public one is taken, if it has one.
    """
    if format not in ("markdown", "html"):
        raise ParameterError("learn.unknown_card_format", value=safe_repr(format))
    known = None if rows is None else int(exact_integer(rows, name="rows"))
    check_is_fitted(model)
    try:
        return _write(model, format, known)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, CelosiaError):
            raise
        raise FormatError("learn.card_of_invalid_model") from None


def _write(model: "PrivateEstimator", format: str, known: int | None) -> str:  # noqa: A002 - the field's word
    private = model.guarantee_ is not None
    name = type(model).__name__
    title = f"{name}, fitted {'with differential privacy' if private else 'without privacy'}"
    sections = [
        *_guarantee(model),
        _bounds(model),
        *_noise(model),
        *_accuracy(model, known),
        *_made(model),
        _origin(model),
    ]
    return markdown(title, sections) if format == "markdown" else html_page(title, sections)


# ----------------------------------------------------------------------------------------------------------- guarantee


def _guarantee(model: "PrivateEstimator") -> list[Section]:
    stated, event = model.guarantee_, model.event_
    if stated is None or event is None:
        told = (
            "Fitted with epsilon=inf, for comparison: the model may reveal the records that it was fitted on. Do not "
            "publish it."
        )
        return [Section(title="No guarantee", paragraphs=(told,), warning=True)]
    guarantee = price_event(event, stated)  # the price of the event, not the number stated beside it
    sections = [Section(title="Guarantee", paragraphs=(*_in_words(guarantee), f"Guarantee: {guarantee}."))]
    if model.seeded_:
        told = (
            "The noise came from a stream that can be repeated (a seeded source): anyone who knows the seed can "
            "remove it. The model protects nobody. It is for tests and teaching."
        )
        sections.insert(0, Section(title="Seeded noise", paragraphs=(told,), warning=True))
    if _method(model) == "published":
        told = (
            "These are the published formulas, for comparison: they need more noise for the same guarantee than the "
            "default, and repair less of what noise breaks."
        )
        sections.append(Section(title="Method", paragraphs=(told,), warning=True))
    if event.arithmetic != "integer":
        told = (
            "The proof is about real numbers, and the fit was computed with floating-point numbers, whose gaps it does "
            "not cover. A ledger refuses such an event unless its policy allows it."
        )
        sections.append(Section(title="Arithmetic", paragraphs=(told,), warning=True))
    return sections


def _in_words(guarantee: Guarantee) -> tuple[str, ...]:
    whose = f"any one {guarantee.unit}{'' if guarantee.unit == 'row' else ', with all its rows,'}"
    if guarantee.adjacency is AddRemove:
        common = f"A reader of the model comes to nearly the same conclusions whether or not {whose} was in the data."
    else:
        common = (
            f"A reader of the model comes to nearly the same conclusions whatever {whose} held; how many there were "
            "is public."
        )
    rest, spent, slack = "", getattr(guarantee, "epsilon", None), getattr(guarantee, "delta", None)
    if isinstance(guarantee, ZCDP):
        spent, slack = float(guarantee.rho) + 2 * math.sqrt(float(guarantee.rho) * -math.log(_DELTA)), _DELTA
    elif not isinstance(guarantee, PureDP | ApproxDP) or spent is None:
        return (common,)
    if slack:
        rest = f", except with a probability of at most {_format_number(slack)}"
    odds = f"The odds of any conclusion change by a factor of at most {_factor(spent)}"
    return common, f"{odds}, which is e to {_format_number(spent)}{rest}."


def _factor(epsilon: "Fraction | float") -> str:
    return "more than 10^100" if epsilon > 230 else _up(math.exp(float(epsilon)))


def _format_number(number: "Fraction | float") -> str:
    text = format_exact(number).strip("'") if isinstance(number, Fraction) else ""
    return text if 0 < len(text) <= _MAX_NUMBER_LENGTH else _up(float(number))


def _up(number: float) -> str:
    """A number with three digits, rounded up: it is a bound."""
    if number <= 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(number)) - 2)
    return f"{math.ceil(number / unit * (1 + 1e-12)) * unit:.3g}"


# -------------------------------------------------------------------------------------------------------------- bounds


def _bounds(model: "PrivateEstimator") -> Section:
    columns = _columns(model)
    if not columns:
        return Section(title="Data bounds", paragraphs=("No bounds were given; nothing was clipped.",))
    listed = list(columns.items())[:_MAX_LISTED_FEATURES]
    more = (f"And {len(columns) - _MAX_LISTED_FEATURES} more.",) if len(columns) > _MAX_LISTED_FEATURES else ()
    told = "Stated by the owner of the data, and not read from them. Values outside were clipped."
    return Section(title="Data bounds", paragraphs=(told, *more), header=("Column", "What it may be"), rows=listed)


def _columns(model: "PrivateEstimator") -> dict[str, str]:
    """What is publicly known of the columns, from the schema of a table or from the parameters."""
    schema = getattr(model, "provenance_", {}).get("schema")
    if isinstance(schema, str):
        return {name: repr(kind) for name, kind in Schema.from_toml(schema).items()}
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    shown = names or [f"feature {place}" for place in range(model.n_features_in_)]
    found: list[str] = []
    if getattr(model, "domains_", None):  # categories
        found = [f"one of {', '.join(map(repr, domain))}" for domain in vars(model)["domains_"]]
    elif model.bounds is not None:
        found = [repr(kind) for kind in feature_kinds(model.bounds, model.n_features_in_, names or None)]
    target = getattr(model, "bounds_y", None)
    told = {} if target is None else {"the target": repr(target_kind(target))}
    return dict(zip(shown, found, strict=False)) | told


# --------------------------------------------------------------------------------------------------- noise and accuracy


def _noise(model: "PrivateEstimator") -> list[Section]:
    if model.event_ is None:
        return []
    scale = np.asarray(model.noise_scale_, dtype=np.float64)
    size = f"{scale.max(initial=0):.4g}" if scale.size < 2 or np.ptp(scale) == 0 else _between(scale)
    told = f"Its standard deviation in the normalised statistics is {size}. What was run, and paid for:"
    return [Section(title="Noise", paragraphs=(told,), code=str(model.event_))]


def _between(scale: Any) -> str:
    return f"between {scale.min():.4g} and {scale.max():.4g}"


def _accuracy(model: "PrivateEstimator", rows: int | None) -> list[Section]:
    if model.guarantee_ is None:
        return []
    own = _rows(model) if rows is None else rows
    forecasts = [found for count in ([own] if own else _STATED) if (found := _forecast(model, count)) is not None]
    if not forecasts:
        return []
    first = forecasts[0]
    told = (
        "What the noise costs, beside what any fit on the same rows is off: the error of "
        f"{first.what.rstrip(',')}, supposing {first.assumption}. It was computed without the data."
    )
    table = [[f"{found.rows:,}", f"{found.error:.3g}"] for found in forecasts]
    return [
        Section(title="Expected loss of accuracy", paragraphs=(told,), header=("Rows", "Expected error"), rows=table)
    ]


def _rows(model: "PrivateEstimator") -> int | None:
    """The number of rows, if the model has one: its own noisy number, or sum of noisy numbers."""
    for name in ("n_samples_seen_", "n_samples_", "class_count_"):
        found = getattr(model, name, None)
        if found is not None and math.isfinite(count := float(np.sum(found))):
            return max(1, round(count))
    return None


def _forecast(model: "PrivateEstimator", rows: int) -> "Forecast | None":
    given = model.get_params(deep=False) | {"budget": None, "source": None, "adjacency": _adjacency(model)}
    if "method" in given:
        given["method"] = _method(model)
    schema = getattr(model, "provenance_", {}).get("schema")
    if isinstance(schema, str):
        kinds = dict(Schema.from_toml(schema))
        names = [str(name) for name in getattr(model, "feature_names_in_", ())]
        given["bounds"] = Schema({name: kinds[name] for name in names})
        target = next((kind for name, kind in kinds.items() if name not in names), None)
        given |= {"bounds_y": target} if "bounds_y" in given else {}
    twin: Any = type(model)(**given)
    if hasattr(model, "classes_"):
        twin.classes_ = model.classes_
    twin.n_features_in_ = model.n_features_in_
    try:
        found: Forecast = twin.preview(rows, n_features=model.n_features_in_)
    except (CelosiaError, AttributeError):  # a model that makes no forecasts, or none of this kind
        return None
    return found


def _in_one_pass(model: "PrivateEstimator") -> bool:
    """Whether what is usually fitted in memory was fitted in a session, where another method is the default."""
    return type(model).__name__ == "LogisticRegression" and "table" in getattr(model, "provenance_", {})


def _method(model: "PrivateEstimator") -> str:
    if _in_one_pass(model):
        return "functional"
    return str(getattr(model, "method_", getattr(model, "method", "auto")))


def _adjacency(model: "PrivateEstimator") -> Any:
    return model.adjacency if model.guarantee_ is None else model.guarantee_.adjacency


# ---------------------------------------------------------------------------------------------------- where it is from


def _made(model: "PrivateEstimator") -> list[Section]:
    name = type(model).__name__
    if model.event_ is None:
        return []
    method = _method(model)
    proof = "functional" if _in_one_pass(model) or method in ("functional", "published") else _PROOF.get(method)
    proof = proof or _PROOF.get(name)
    import celosia

    cited = () if proof is None else (f"Read, and cite, proofs/{proof}.md of celosia {celosia.__version__}.",)
    after = _AFTERWARDS.get(method) or _AFTERWARDS.get(name, "")
    told = "All that follows the noise is computed from noisy numbers, and costs no privacy."
    return [
        Section(title="Post-processing", paragraphs=(f"{told} {after}".strip(),)),
        *([Section(title="Proof", paragraphs=cited)] if cited else []),
    ]


def _origin(model: "PrivateEstimator") -> Section:
    import sklearn

    import celosia

    given: Mapping[str, str] = getattr(model, "provenance_", {})
    rows = {
        "Table": given.get("table"),
        "Rows where": given.get("where"),
        "Federation": given.get("federation"),
        "Method": ": ".join(filter(None, [_method(model), getattr(model, "method_reason_", "")])),
        "Features": str(model.n_features_in_),
        "celosia": given.get("celosia", celosia.__version__),
        "scikit-learn": given.get("scikit_learn", sklearn.__version__),
        "Stored": given.get("written"),
    }
    listed = [[name, text] for name, text in rows.items() if text is not None]
    return Section(title="Provenance", header=("What", "Which"), rows=listed)
