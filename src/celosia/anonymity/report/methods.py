"""What each step does, in a sentence for those who receive the file, and what a file does not protect against."""

from collections.abc import Sequence
from typing import Any, Final

from celosia.anonymity.microdata import Microdata
from celosia.core.messages.message import Message

_SENTENCES: Final = {
    "AddNoise": "anonymity_report.did_add_noise",
    "BottomCode": "anonymity_report.did_bottom_code",
    "Discretize": "anonymity_report.did_discretize",
    "DropRecords": "anonymity_report.did_drop_records",
    "FullDomain": "anonymity_report.did_full_domain",
    "Generalize": "anonymity_report.did_generalize",
    "HashIdentifiers": "anonymity_report.did_hash_identifiers",
    "InsensitiveMicroaggregation": "anonymity_report.did_insensitive_microaggregation",
    "LocalSuppression": "anonymity_report.did_local_suppression",
    "Microaggregate": "anonymity_report.did_microaggregate",
    "Mondrian": "anonymity_report.did_mondrian",
    "MultiplyNoise": "anonymity_report.did_multiply_noise",
    "NoisyHistogramSampling": "anonymity_report.did_noisy_histogram_sampling",
    "Pram": "anonymity_report.did_pram",
    "ProbabilisticSwap": "anonymity_report.did_probabilistic_swap",
    "RankSwap": "anonymity_report.did_rank_swap",
    "Recode": "anonymity_report.did_recode",
    "Round": "anonymity_report.did_round",
    "Shuffle": "anonymity_report.did_shuffle",
    "Suppress": "anonymity_report.did_suppress",
    "SuppressRisky": "anonymity_report.did_suppress_risky",
    "SwapHouseholds": "anonymity_report.did_swap_households",
    "TopCode": "anonymity_report.did_top_code",
}
_NAMES: Final = {
    "AddNoise": "anonymity_report.name_add_noise",
    "BottomCode": "anonymity_report.name_bottom_code",
    "Discretize": "anonymity_report.name_discretize",
    "DropRecords": "anonymity_report.name_drop_records",
    "FullDomain": "anonymity_report.name_full_domain",
    "Generalize": "anonymity_report.name_generalize",
    "HashIdentifiers": "anonymity_report.name_hash_identifiers",
    "InsensitiveMicroaggregation": "anonymity_report.name_insensitive_microaggregation",
    "LocalSuppression": "anonymity_report.name_local_suppression",
    "Microaggregate": "anonymity_report.name_microaggregate",
    "Mondrian": "anonymity_report.name_mondrian",
    "MultiplyNoise": "anonymity_report.name_multiply_noise",
    "NoisyHistogramSampling": "anonymity_report.name_noisy_histogram_sampling",
    "Pram": "anonymity_report.name_pram",
    "ProbabilisticSwap": "anonymity_report.name_probabilistic_swap",
    "RankSwap": "anonymity_report.name_rank_swap",
    "Recode": "anonymity_report.name_recode",
    "Round": "anonymity_report.name_round",
    "Shuffle": "anonymity_report.name_shuffle",
    "Suppress": "anonymity_report.name_suppress",
    "SuppressRisky": "anonymity_report.name_suppress_risky",
    "SwapHouseholds": "anonymity_report.name_swap_households",
    "TopCode": "anonymity_report.name_top_code",
}
_PERTURBING: Final = (
    *("AddNoise", "Microaggregate", "MultiplyNoise", "Pram", "ProbabilisticSwap", "RankSwap", "Shuffle"),
    "SwapHouseholds",
)


def describe_step(step: Any) -> Message:
    """Return a sentence on what a step does, without the parameters that would help to take it back.

    >>> from celosia.anonymity import Mondrian
    >>> print(describe_step(Mondrian(k=5)))
    Mondrian: similar records were put into classes, and their values replaced by what each class spans.
    """
    kind = type(step).__name__
    if kind in _SENTENCES:
        return Message(_SENTENCES[kind])
    return Message("anonymity_report.did_something", kind=kind)


def name_step(step: Any) -> str:
    """Return the name of a step for readers.

    >>> from celosia.anonymity import TopCode
    >>> print(name_step(TopCode(column="pay", at=5000)))
    top coding
    """
    kind = type(step).__name__
    return Message(_NAMES[kind]) if kind in _NAMES else kind


def list_columns(step: Any, data: Microdata) -> tuple[str, ...]:
    """Return the columns that a step changed: those that it names, or the quasi-identifiers."""
    for name in ("columns", "levels", "schema"):
        if found := getattr(step, name, None):
            return tuple(found)
    column = getattr(step, "column", None)
    return (column,) if isinstance(column, str) else data.roles.quasi_identifiers


def list_limits(original: Microdata, steps: Sequence[Any], *, synthetic: bool = False) -> list[Message]:
    """Return what a file that went through these steps does not protect against, in plain words."""
    if synthetic:
        return [Message("anonymity_report.limit_synthetic"), Message("anonymity_report.limit_groups")]
    kinds = {type(step).__name__ for step in steps}
    limits = [
        Message("anonymity_report.limit_not_private"),
        Message("anonymity_report.limit_knowledge"),
        Message("anonymity_report.limit_other_files"),
    ]
    if original.roles.sensitive:
        limits.append(Message("anonymity_report.limit_sensitive"))
    if original.roles.others:
        limits.append(Message("anonymity_report.limit_others", count=len(original.roles.others)))
    roles = original.roles
    if roles.weight is not None:
        limits.append(Message("anonymity_report.limit_weights"))
    if roles.stratum is not None and roles.stratum not in roles.quasi_identifiers:
        limits.append(Message("anonymity_report.limit_stratum", name=roles.stratum))
    if original.roles.household is not None:
        limits.append(Message("anonymity_report.limit_households"))
    if kinds & set(_PERTURBING):
        limits.append(Message("anonymity_report.limit_perturbed"))
    if "HashIdentifiers" in kinds:
        limits.append(Message("anonymity_report.limit_hashes"))
    return limits
