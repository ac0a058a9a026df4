"""Model files: every estimator comes back as it was, and a file that was made up is refused."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import json
import stat
import warnings
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import celosia as cl
from celosia.core.errors import FormatError, ParameterError
from celosia.learn.io.model_file import MODELS, load, save
from celosia.learn.io.stored_values import encode
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded
from tests.learn.model_mutations import mutate

if TYPE_CHECKING:
    from pathlib import Path

RANDOM = np.random.default_rng(3)
X = pd.DataFrame(RANDOM.random((300, 3)), columns=["age", "dose", "weight|x"])
WHOLE = pd.DataFrame(RANDOM.integers(0, 3, (300, 2)), columns=["ward", "sex"])
NUMBER = (X["age"] * 0.5 + 0.2).to_numpy()
LABELS = np.where(X["age"] > 0.5, "old", "young")

CASES: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "CategoricalNB": ({"categories": [3, 3], "classes": ["old", "young"]}, WHOLE, LABELS),
    "FunctionalMechanism": ({"bounds": (0, 1), "bounds_y": (0, 1)}, X, NUMBER),
    "FuzzyCMeans": ({"bounds": (0, 1), "n_clusters": 2}, X, None),
    "GaussianNB": ({"bounds": (0, 1), "classes": ["old", "young"], "rho": "0.5"}, X, LABELS),
    "KMeans": ({"bounds": (0, 1), "n_clusters": 2, "delta": 1e-6}, X, None),
    "LinearRegression": ({"bounds": ([0, 0, 0], np.ones(3)), "bounds_y": (0, 1), "epsilon": "1/3"}, X, NUMBER),
    "LogisticRegression": ({"bounds": (0, 1), "classes": ["old", "young"], "delta": "1e-6"}, X, LABELS),
    "PCA": ({"bounds": (0, 1), "n_components": 2}, X, None),
    "PNSGDClassifier": ({"bounds": (0, 1), "classes": ["old", "young"], "delta": 1e-6}, X, LABELS),
    "PNSGDRegressor": ({"bounds": (0, 1), "bounds_y": (0, 1), "delta": 1e-6}, X, NUMBER),
    "Ridge": ({"bounds": (0, 1), "bounds_y": (0, 1), "alpha": 0.5}, X, NUMBER),
    "StandardScaler": ({"bounds": cl.Schema({str(name): cl.Real(0, 1) for name in X})}, X, None),
}


def fitted(name: str, **changed: Any) -> Any:
    parameters, features, target = CASES[name]
    model = getattr(cl.learn, name)(**({"source": Seeded(7)} | parameters | changed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.core.NotPrivateWarning)
        return model.fit(features) if target is None else model.fit(features, target)


@functools.cache
def shared_model(name: str) -> Any:
    """A fitted model that several tests look at, and none changes."""
    return fitted(name)


def told(model: Any, features: Any) -> list[Any]:
    """All that a model says about new records."""
    names = ("predict", "predict_proba", "decision_function", "transform", "predict_membership", "score_samples")
    return [getattr(model, name)(features) for name in names if hasattr(model, name)]


def test_every_estimator_is_tried() -> None:
    assert sorted(CASES) == sorted(MODELS)
    assert set(MODELS) <= set(cl.learn.__all__)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.sampled(3)
def test_it_comes_back_as_it_was(name: str, plain: bool, tmp_path: Path) -> None:  # noqa: FBT001 - a parameter
    inf: dict[str, Any] = {"epsilon": float("inf"), "rho": None, "delta": None, "source": None}
    model = fitted(name, **inf) if plain else shared_model(name)
    model.save(tmp_path / "model.json")
    back = cl.learn.load(tmp_path / "model.json")
    assert type(back) is type(model)
    assert (back.event_, back.guarantee_, back.seeded_) == (model.event_, model.guarantee_, model.seeded_)
    for one, other in zip(told(model, CASES[name][1]), told(back, CASES[name][1]), strict=True):
        assert np.array_equal(one, other)
    assert [str(each) for each in back.feature_names_in_] == list(CASES[name][1])
    given_, found = model.get_params(deep=False), back.get_params(deep=False)
    assert repr({**given_, "source": None}) == repr(found)
    learned = {key for key in vars(model) if key.endswith("_") and not key.startswith("_")}
    assert learned <= {key for key in vars(back) if key.endswith("_")}
    save(back, tmp_path / "again.json")
    first, second = (json.loads((tmp_path / file).read_text()) for file in ("model.json", "again.json"))
    assert first == second


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sampled(3)
def test_values_of_a_wrong_shape_or_kind_are_refused_and_never_crash(name: str, tmp_path: Path) -> None:
    save(shared_model(name), tmp_path / "model.json")
    sound = json.loads((tmp_path / "model.json").read_text())
    for key in sound["learned"]:
        for value in (None, "x", [], [1.0, [2.0]], {"float": "NaN"}, encode(np.full((2, 5), 1e300), "x")):
            changed = sound | {"learned": sound["learned"] | {key: value}}
            with contextlib.suppress(cl.CelosiaError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = read(tmp_path / "made.json", json.dumps(changed))
                told(model, CASES[name][1][:2])


def test_a_budget_and_a_seed_stay_at_home(tmp_path: Path) -> None:
    save(fitted("StandardScaler", budget=InMemoryBudget(cl.PureDP(epsilon=1))), tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text()
    assert "budget" not in text
    assert "source" not in text
    assert "Seeded" not in text
    assert json.loads(text)["provenance"]["seeded"] is True
    back = load(tmp_path / "model.json")
    assert (back.budget, back.source) == (None, None)


def test_provenance_is_inside(tmp_path: Path) -> None:
    table = cl.table(X.rename(columns={"weight|x": "weight"}), schema=cl.Schema(age=cl.Real(0, 1)), name="people")
    model = cl.Session(table, budget=cl.PureDP(epsilon=1)).fit(cl.learn.StandardScaler(), ["age"], where="age > 0.5")
    model.save(tmp_path / "model.json")
    found = json.loads((tmp_path / "model.json").read_text())["provenance"]
    assert found["celosia"] == cl.__version__
    assert (found["table"], found["where"], found["seeded"]) == ("people", "age > 0.5", False)
    assert (found["adjacency"], found["unit"]) == ("add-remove", "row")
    assert cl.Schema.from_toml(found["schema"]) == cl.Schema(age=cl.Real(0, 1))
    assert load(tmp_path / "model.json").provenance_["written"] == found["written"]


def test_the_file_is_whole_or_not_there(tmp_path: Path) -> None:
    place = tmp_path / "model.json"
    save(fitted("StandardScaler"), place)
    before = place.read_bytes()
    broken = fitted("StandardScaler")
    broken.mean_ = print
    with pytest.raises(ParameterError, match="mean_"):
        save(broken, place)
    assert place.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with pytest.raises(OSError, match="nowhere"):
            save(fitted("StandardScaler"), tmp_path / "nowhere" / "model.json")
    finally:
        tmp_path.chmod(stat.S_IRWXU)


def test_only_fitted_models_of_ours_are_stored(tmp_path: Path) -> None:
    from sklearn.preprocessing import StandardScaler

    with pytest.raises(NotFittedError):
        save(cl.learn.StandardScaler(bounds=(0, 1)), tmp_path / "x.json")
    with pytest.raises(ParameterError, match="Only estimators"):
        save(StandardScaler().fit(X), tmp_path / "x.json")

    class Own(cl.learn.StandardScaler):
        pass

    with pytest.raises(ParameterError, match="Only estimators"):
        save(Own(bounds=(0, 1)).fit(X), tmp_path / "x.json")
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------------- made-up files


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("models") / "model.json"
    save(fitted("LinearRegression"), place)
    found: dict[str, Any] = json.loads(place.read_text())
    return found


def read(place: Path, text: str | bytes) -> Any:
    place.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load(place)


CHANGES: dict[str, tuple[list[str], Any]] = {
    "There is no model": (["model"], "Popen"),
    "There is no model 'os.system'": (["model"], "os.system"),
    "no model \\['KMeans'\\]": (["model"], ["KMeans"]),
    "holds no model of celosia": (["format"], "pickle"),
    "is of version 2": (["version"], 2),
    "is of version True": (["version"], True),
    "exactly the fields": (["more"], 1),
    "has no parameter 'budget'": (["parameters", "budget"], None),
    "has no parameter 'source'": (["parameters", "source"], None),
    "has no parameter 'n_jobs'": (["parameters", "n_jobs"], 8),
    "parameters must be": (["parameters"], []),
    "learned must be": (["learned"], None),
    "no learned attribute '__class__'": (["learned", "__class__"], "x"),
    "no learned attribute '_held'": (["learned", "_held"], 1),
    "no learned attribute 'fit'": (["learned", "fit"], 1),
    "no learned attribute 'guarantee_'": (["learned", "guarantee_"], None),
    "how many features": (["learned", "n_features_in_"], 0),
    "does not say how many": (["learned", "n_features_in_"], True),
    "names others": (["learned", "n_features_in_"], 7),
    "repeated": (["learned", "seeded_"], 1),
    "event without a guarantee": (["event"], None),
    "without a guarantee, or": (["guarantee"], None),
    "needs exactly the fields": (["guarantee"], {"kind": "PureDP", "version": 1}),
    "not a Guarantee": (["guarantee"], "event"),
    "no record": (["event"], {}),
    "what the guarantee says": (["provenance", "seeded"], False),
    "and says what the": (["provenance", "adjacency"], "replace-one"),
    "The provenance has": (["provenance", "table"], 7),
    "The provenance has the texts": (["provenance", "author"], "me"),
    "coef_: the file holds": (["learned", "coef_"], {"call": "exit"}),
    "does not go together": (["learned", "coef_"], [1.0]),
    "go together: it was": (["learned", "coef_"], "three"),
    "together: it was changed": (["learned", "intercept_"], [[1.0, 2.0], [3.0, 4.0]]),
    "how large the noise was": (["learned", "noise_scale_"], "loud"),
    "not say how large": (["learned", "noise_scale_"], None),
    "schema of other columns": (["provenance", "schema"], cl.Schema(height=cl.Real(0, 1)).to_toml()),
}


def test_a_file_that_was_changed_is_refused(sound: dict[str, Any], tmp_path: Path) -> None:
    for words, (path, value) in CHANGES.items():
        changed = copy.deepcopy(sound)
        at = changed
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = sound["event"] if value == "event" else value
        with pytest.raises(FormatError, match=words):
            read(tmp_path / "model.json", json.dumps(changed))


def test_a_file_without_a_field_is_refused(sound: dict[str, Any], tmp_path: Path) -> None:
    for key in ("event", "format", "guarantee", "learned", "model", "parameters", "provenance"):
        with pytest.raises(FormatError):
            read(tmp_path / "model.json", json.dumps({name: sound[name] for name in sound if name != key}))


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    cases: list[bytes] = [
        b"",
        b"\xff\xfe",
        b"\x80\x04K\x01.",
        b"[]",
        b"null",
        b"{" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"format": "celosia model", "format": "celosia model"}',
        b'{"format": "celosia model", "version": ' + b"1" * 5000 + b"}",
        b'{"format": NaN}',
        b'{"format": 1e999}',
    ]
    for text in cases:
        with pytest.raises(FormatError):
            read(tmp_path / "model.json", text)


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, most = tmp_path / "model.json", 2**16
    monkeypatch.setattr("celosia.learn.io.model_file._MAX_FILE_BYTES", most)  # 2**28 zeros take seconds to read
    save(shared_model("LinearRegression"), place)
    text = place.read_bytes().rstrip()
    place.write_bytes(text.ljust(most))
    load(place)
    place.write_bytes(text.ljust(most + 1))
    with pytest.raises(FormatError, match="at most"):
        load(place)


@given(cut=st.floats(0, 1), noise=st.binary(min_size=1, max_size=20))
@settings(max_examples=25)
def test_bytes_that_were_changed_give_a_model_or_a_format_error(
    sound: dict[str, Any], tmp_path_factory: pytest.TempPathFactory, cut: float, noise: bytes
) -> None:
    text = json.dumps(sound).encode()
    at = int(cut * len(text))
    place = tmp_path_factory.mktemp("made") / "model.json"
    for made in (text[:at], text[:at] + noise + text[at:], text[:at] + noise + text[at + len(noise) :]):
        try:
            read(place, made)
        except FormatError:
            continue
        assert made.count(b'"format"') >= 1


@pytest.mark.parametrize("name", CASES)
def test_a_guarantee_that_is_not_the_price_of_the_event_is_refused(name: str, tmp_path: Path) -> None:
    model = shared_model(name)
    save(model, tmp_path / "model.json")
    made = json.loads((tmp_path / "model.json").read_text())
    number = "rho" if isinstance(model.guarantee_, cl.ZCDP) else "epsilon"
    for factor in (Fraction(1, 100), Fraction(9, 10), Fraction(10)):
        stated = dataclasses.replace(model.guarantee_, **{number: getattr(model.guarantee_, number) * factor})
        changed = made | {"guarantee": json.loads(stated.to_json())}
        with pytest.raises(FormatError, match="contradict each other"):
            read(tmp_path / "made.json", json.dumps(changed))


def test_a_search_and_a_session_leave_what_can_be_loaded(tmp_path: Path) -> None:
    inner = cl.learn.Ridge(bounds=(0, 1), bounds_y=(0, 1))
    found = cl.learn.PrivateSearchCV(inner, {"alpha": [0.1, 1.0]}, repetitions=2, source=Seeded(1)).fit(X, NUMBER)
    save(found.best_estimator_, tmp_path / "model.json")
    assert load(tmp_path / "model.json").guarantee_ == found.guarantee_


def test_a_file_of_a_session_without_its_names_is_refused(tmp_path: Path) -> None:
    table = cl.table(X[["age"]], schema=cl.Schema(age=cl.Real(0, 1)), name="people")
    model = cl.Session(table, budget=cl.PureDP(epsilon=1)).fit(cl.learn.StandardScaler(), ["age"])
    save(model, tmp_path / "model.json")
    made = json.loads((tmp_path / "model.json").read_text())
    assert load(tmp_path / "model.json").provenance_["schema"] == made["provenance"]["schema"]
    for names in (None, 7, {"tuple": [None]}):
        changed = made | {"learned": made["learned"] | {"feature_names_in_": names}}
        with pytest.raises(FormatError):  # and no TypeError
            read(tmp_path / "made.json", json.dumps(changed))
    for text in ("", "[table]\nperson = 'who'\n" + made["provenance"]["schema"]):
        changed = made | {"provenance": made["provenance"] | {"schema": text}}
        with pytest.raises(FormatError):
            read(tmp_path / "made.json", json.dumps(changed))


def _mutations(name: str, *, plain: bool, times: int, folder: Path) -> int:
    """Load so many changed files; each is a model, whose card is written or refused, or a FormatError."""
    inf: dict[str, Any] = {"epsilon": float("inf"), "rho": None, "delta": None, "source": None}
    save(fitted(name, **inf) if plain else shared_model(name), folder / "model.json")
    made, random, loaded = json.loads((folder / "model.json").read_text()), Random(f"{name} {plain}"), 0
    for _ in range(times):
        text = mutate(made, random)
        with contextlib.suppress(FormatError), warnings.catch_warnings(action="ignore"):  # and nothing else
            model = read(folder / "made.json", text)
            loaded += 1
            with contextlib.suppress(cl.CelosiaError):
                model.card()
    return loaded


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sampled(3)
def test_a_changed_file_is_a_model_or_a_format_error(name: str, tmp_path: Path) -> None:
    assert _mutations(name, plain=False, times=12, folder=tmp_path) < 12
    assert _mutations(name, plain=True, times=6, folder=tmp_path) < 6


@pytest.mark.thorough
@pytest.mark.parametrize("name", CASES)
def test_any_of_many_changed_files_is_a_model_or_a_format_error(name: str, tmp_path: Path) -> None:
    assert 0 < _mutations(name, plain=False, times=700, folder=tmp_path) < 700
    assert 0 < _mutations(name, plain=True, times=300, folder=tmp_path) < 300


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(field=st.sampled_from(["parameters", "learned", "event", "guarantee", "provenance", "model"]), value=JSON)
@settings(max_examples=25)
def test_any_json_in_any_place_is_read_or_refused(
    sound: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
    field: str,
    value: Any,
) -> None:
    place = tmp_path_factory.mktemp("made") / "model.json"
    key = next(iter(sound["learned"]))
    for changed in ({**sound, field: value}, {**sound, "learned": {**sound["learned"], key: value}}):
        with contextlib.suppress(FormatError):  # and nothing else
            assert type(read(place, json.dumps(changed))).__name__ in MODELS
