"""The models of ``celosia learn``, by their names on the command line.

Each name has an estimator, a target if it needs one, and methods. Models that learn from sums are fitted where the rows
are; the others read the columns that they need into memory.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A name, its estimator, its target, and its methods, the default first.

    ``sums`` are the methods that learn from sums, and are run where the rows are. ``about`` is the code of a message.
    """

    word: str
    estimator: str
    target: Literal["number", "classes"] | None
    methods: tuple[str, ...] = ("auto",)
    sums: tuple[str, ...] = ()
    about: str = ""

    def make(self, **parameters: Any) -> Any:
        """Return the estimator; refuse a parameter that it does not have."""
        from celosia import learn

        known: Any = getattr(learn, self.estimator)
        names = known().get_params(deep=False)
        unknown = [name for name in parameters if name not in names]
        if unknown:
            raise ParameterError(
                "cli.unknown_model_parameter",
                estimator=self.estimator,
                name=safe_repr(unknown[0]),
                known=", ".join(sorted(names)),
            )
        return known(**parameters)


MODELS: Final[dict[str, Model]] = {
    model.word: model
    for model in (
        Model(
            word="linear",
            estimator="LinearRegression",
            target="number",
            methods=("auto", "adassp", "functional", "published"),
            sums=("auto", "adassp", "functional", "published"),
            about="cli_learn.about_linear",
        ),
        Model(
            word="ridge",
            estimator="Ridge",
            target="number",
            methods=("auto", "adassp"),
            sums=("auto", "adassp"),
            about="cli_learn.about_ridge",
        ),
        Model(
            word="logistic",
            estimator="LogisticRegression",
            target="classes",
            methods=("auto", "gradient", "functional", "objective", "published"),
            sums=("functional", "published"),
            about="cli_learn.about_logistic",
        ),
        Model(
            word="gaussian-nb",
            estimator="GaussianNB",
            target="classes",
            sums=("auto",),
            about="cli_learn.about_gaussian_nb",
        ),
        Model(
            word="categorical-nb",
            estimator="CategoricalNB",
            target="classes",
            sums=("auto",),
            about="cli_learn.about_categorical_nb",
        ),
        Model(word="pnsgd-regressor", estimator="PNSGDRegressor", target="number", about="cli_learn.about_pnsgd"),
        Model(word="pnsgd-classifier", estimator="PNSGDClassifier", target="classes", about="cli_learn.about_pnsgd"),
        Model(word="kmeans", estimator="KMeans", target=None, about="cli_learn.about_kmeans"),
        Model(word="fuzzy-c-means", estimator="FuzzyCMeans", target=None, about="cli_learn.about_fuzzy"),
        Model(word="pca", estimator="PCA", target=None, sums=("auto",), about="cli_learn.about_pca"),
        Model(word="scaler", estimator="StandardScaler", target=None, sums=("auto",), about="cli_learn.about_scaler"),
    )
}
"""The models by word."""


def find_model(word: str) -> Model:
    """Return the model that a word means."""
    found = MODELS.get(word) or next((model for model in MODELS.values() if model.estimator == word), None)
    if found is None:
        raise ParameterError("cli.unknown_model", known=", ".join(MODELS), value=safe_repr(word))
    return found
