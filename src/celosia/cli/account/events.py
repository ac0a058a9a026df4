"""Events from the options of ``celosia account``, and a sentence that describes each.

Noise is always on a grid, and the grid changes the price: Laplace noise on whole counts is randomized response, on a
fine grid it is nearly the textbook's. So the sentence names the grid, the sampling and the neighbours.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from celosia.cli.account.options import NoiseOptions, PopulationOption, SampleSizeOption, SamplingOption
from celosia.core import (
    AddRemove,
    Adjacency,
    Event,
    ExponentialEvent,
    FixedSampledEvent,
    FormatError,
    GaussianEvent,
    GuaranteedEvent,
    LaplaceEvent,
    ParameterError,
    PoissonSampledEvent,
    PureDP,
    RandomizedResponseEvent,
    RepeatedEvent,
    ReplaceOne,
    ShuffledEvent,
)
from celosia.core.exact import exact_integer, exact_positive, exact_probability, format_exact, safe_repr
from celosia.core.messages.message import Message, Numeral
from celosia.core.messages.system_errors import describe_os_error

_POWER = re.compile(r"2\^-(\d{1,2})", re.ASCII)
_SHORT = 12
_MIN_AMOUNT, _MAX_AMOUNT = Fraction(1, 10**100), Fraction(10**100)
_MAX_FILE_LENGTH = 5_000_000
_LONGEST_WORDS = 200
_FINEST = 2**99


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedEvent:
    """An event and its description."""

    event: Event
    sentence: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How the records of each step are sampled, as given on the command line; no sampling by default."""

    probability: SamplingOption = None
    size: SampleSizeOption = None
    population: PopulationOption = None

    def adjacency(self, given: str | None) -> Adjacency:
        """Return the adjacency of the sampling, or the given one."""
        if self.probability is not None and (self.size is not None or self.population is not None):
            raise ParameterError("cli.both_kinds_of_sampling")
        if (self.size is None) != (self.population is None):
            missing = "population" if self.population is None else "sample-size"
            raise ParameterError("cli.incomplete_fixed_sample", missing=missing)
        natural = AddRemove if self.size is None else ReplaceOne
        if given is None:
            return natural
        asked = _adjacency(given)
        if asked is not natural and (self.probability is not None or self.size is not None):
            code = "cli.adjacency_unfit_for_poisson" if self.size is None else "cli.adjacency_unfit_for_fixed_sample"
            raise ParameterError(code, wanted=natural.value, value=asked.value)
        return asked

    def of(self, event: Event, what: Message) -> tuple[Event, Message]:
        """Return the sampled event, and its description from that of the event."""
        if self.probability is not None:
            probability = exact_probability(self.probability, name="sampling")
            if probability == 0:
                raise ParameterError("cli.sampling_not_positive", value=safe_repr(self.probability))
            words = Message("cli_account.on_poisson_sample", what=what, probability=plain_number(probability))
            return PoissonSampledEvent(event=event, probability=probability), words
        if self.size is None or self.population is None:
            return event, what
        size, population = (
            exact_integer(self.size, name="sample-size"),
            exact_integer(self.population, name="population"),
        )
        if size > population:
            raise ParameterError("cli.sample_exceeds_population", population=population, size=size)
        words = Message("cli_account.on_fixed_sample", what=what, size=size, population=population)
        return FixedSampledEvent(event=event, size=size, population=population), words


def _adjacency(given: str) -> Adjacency:
    if given not in (AddRemove.value, ReplaceOne.value):
        raise ParameterError("cli.unknown_adjacency", value=safe_repr(given))
    return Adjacency(given)


def gaussian(sigma: Fraction, options: NoiseOptions, sampling: Sampling) -> PricedEvent:
    """Return Gaussian noise of ``sigma`` times the L2 sensitivity, on a sample if there is one, repeated."""
    steps = _steps(options.grid)
    noise = GaussianEvent(
        variance=(sigma * steps) ** 2,
        sensitivity_squared=steps**2,
        grid=Fraction(1, steps),
        adjacency=sampling.adjacency(options.adjacency),
    )
    what = Message("cli_account.gaussian_noise", sigma=plain_number(sigma), grid=_grid(steps))
    return _repeated(*sampling.of(noise, what), options.times)


def laplace(scale: Fraction, options: NoiseOptions, *, by_scale: bool = False) -> PricedEvent:
    """Return Laplace noise of ``scale`` times the L1 sensitivity, repeated, named by its epsilon or scale."""
    steps = _steps(options.grid)
    noise = LaplaceEvent(
        scale=scale * steps,
        sensitivity=steps,
        grid=Fraction(1, steps),
        adjacency=Sampling().adjacency(options.adjacency),
    )
    if by_scale:
        what = Message("cli_account.laplace_noise_of_scale", scale=plain_number(scale), grid=_grid(steps))
    else:
        what = Message("cli_account.laplace_noise_of_epsilon", epsilon=plain_number(1 / scale), grid=_grid(steps))
    return _repeated(noise, what, options.times)


def one_epsilon(
    kind: str, *, epsilon: str, times: int, adjacency: str | None = None, categories: int = 2
) -> PricedEvent:
    """Return a mechanism whose privacy has one parameter: ``randomized-response``, ``exponential`` or ``pure``."""
    value = amount(epsilon, name="epsilon")
    number = plain_number(value)
    if kind == "randomized-response":
        event: Event = RandomizedResponseEvent(epsilon=value, categories=categories)
        what = Message("cli_account.randomized_response", epsilon=number, categories=categories)
        return _repeated(event, what, times)
    asked = Sampling().adjacency(adjacency)
    if kind == "exponential":
        what = Message("cli_account.exponential_mechanism", epsilon=number)
        return _repeated(ExponentialEvent(epsilon=value, adjacency=asked), what, times)
    event = GuaranteedEvent(guarantee=PureDP(epsilon=value, adjacency=asked))
    return _repeated(event, Message("cli_account.any_mechanism", epsilon=number), times)


def shuffle(*, epsilon: str, reports: int, times: int, categories: int | None) -> PricedEvent:
    """Return shuffled reports of a local randomizer: randomized response if ``categories`` are given, else any."""
    value = amount(epsilon, name="epsilon")
    if categories is None:
        local: Event = GuaranteedEvent(guarantee=PureDP(epsilon=value, adjacency=ReplaceOne))
        randomizer = Message("cli_account.any_randomizer")
    else:
        local = RandomizedResponseEvent(epsilon=value, categories=categories)
        randomizer = Message("cli_account.response_over_answers", categories=categories)
    event = ShuffledEvent(event=local, reports=exact_integer(reports, name="reports"))
    code = "cli_account.one_shuffled_report" if reports == 1 else "cli_account.shuffled_reports"
    fields = {"randomizer": randomizer, "epsilon": plain_number(value)} | ({} if reports == 1 else {"reports": reports})
    return _repeated(event, Message(code, **fields), times)


def read(path: Path, *, times: int = 1) -> PricedEvent:
    """Return the event whose JSON is in a file, or on standard input if the path is ``-``."""
    import sys

    import celosia.core.iterations  # noqa: F401 - its kinds are known once it is imported

    try:
        text = sys.stdin.read(_MAX_FILE_LENGTH + 1) if str(path) == "-" else _content(path)
    except OSError as error:
        raise ParameterError("cli.unreadable_file", path=repr(str(path)), reason=describe_os_error(error)) from error
    except UnicodeDecodeError as error:
        raise ParameterError("cli.file_not_utf8", path=repr(str(path))) from error
    try:
        event = Event.from_json(text)
    except FormatError as error:
        if str(path) == "-":
            raise FormatError("cli.input_without_event", reason=error) from error
        raise FormatError("cli.file_without_event", path=repr(str(path)), reason=error) from error
    words = repr(event)
    shown = words if len(words) <= _LONGEST_WORDS else type(event).__name__
    return _repeated(event, Message("cli_account.given_event", event=shown), times)


def _content(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.read(_MAX_FILE_LENGTH + 1)  # the reader of records refuses what is longer


def _repeated(event: Event, what: Message, times: int) -> PricedEvent:
    number = exact_integer(times, name="times")
    often = Message("cli_account.once") if number == 1 else Message("cli_account.times", number=number)
    code = "cli_account.releases_of_real_noise" if event.arithmetic == "real" else "cli_account.releases"
    return PricedEvent(
        event=event if number == 1 else RepeatedEvent(event=event, times=number),
        sentence=Message(code, what=what, often=often, adjacency=event.adjacency.value),
    )


def amount(text: str, *, name: str) -> Fraction:
    """Read an amount of noise or privacy: positive, and of a size that leaves room for its square."""
    number = exact_positive(text, name=name)
    if not _MIN_AMOUNT <= number <= _MAX_AMOUNT:
        raise ParameterError("cli.number_out_of_range", name=name, value=safe_repr(text))
    return number


def _steps(grid: str) -> int:
    """Return the sensitivity in steps of the grid."""
    power = _POWER.fullmatch(grid.strip())
    try:
        step = Fraction(1, 2 ** int(power[1])) if power else exact_positive(grid, name="grid")
    except ParameterError:
        step = Fraction(0)
    if step.numerator != 1 or step.denominator > _FINEST:
        raise ParameterError("cli.grid_not_a_fraction", grid=safe_repr(grid))
    return step.denominator


def _grid(steps: int) -> Message:
    if steps == 1:
        return Message("cli_account.on_whole_counts")
    exponent = steps.bit_length() - 1
    size = f"2^-{exponent}" if steps == 2**exponent else f"1/{steps}"
    return Message("cli_account.on_fine_grid" if steps >= 1000 else "cli_account.on_grid", size=size)


def plain_number(number: Fraction) -> Numeral:
    """Write a number for a sentence: exact if it is short, else rounded."""
    text = format_exact(number).strip("'").replace("e-0", "e-")
    if len(text) <= _SHORT:
        return Numeral(text)
    rounded = f"{float(number):.6g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    return Numeral(rounded if Fraction(rounded) == number else f"≈{rounded}")
