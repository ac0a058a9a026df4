"""The words that all rooms share: adjacency, guarantees, events, releases, errors, exact parameters, lazy extras."""

from celosia.core.adjacency import AddRemove, Adjacency, ReplaceOne
from celosia.core.errors import (
    CelosiaError,
    ConformanceError,
    Exhausted,
    FormatError,
    GuaranteeMismatch,
    InputError,
    MissingExtra,
    NoInterval,
    ParameterError,
)
from celosia.core.events import (
    AboveThresholdEvent,
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    NoisyMaxEvent,
    PermuteAndFlipEvent,
    RandomizedResponseEvent,
)
from celosia.core.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP
from celosia.core.mechanism import Mechanism, Source, Tabulated
from celosia.core.release import Release

__all__ = [
    "ZCDP",
    "AboveThresholdEvent",
    "AddRemove",
    "Adjacency",
    "ApproxDP",
    "CelosiaError",
    "ConformanceError",
    "Event",
    "Exhausted",
    "ExponentialEvent",
    "FormatError",
    "GaussianDP",
    "GaussianEvent",
    "Guarantee",
    "GuaranteeMismatch",
    "InputError",
    "LaplaceEvent",
    "Mechanism",
    "MissingExtra",
    "NoInterval",
    "NoisyMaxEvent",
    "ParameterError",
    "PermuteAndFlipEvent",
    "PureDP",
    "RandomizedResponseEvent",
    "Release",
    "RenyiDP",
    "ReplaceOne",
    "Source",
    "Tabulated",
]
