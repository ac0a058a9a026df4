"""Output of ``celosia federated simulate``: what was trained, the table of methods, and what it means."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Console

from celosia.cli.collect.show import print_sentence
from celosia.cli.federated.parties import SimulatedRecords
from celosia.cli.guard.opening import print_table
from celosia.cli.language import say, write_number
from celosia.core.messages.message import Message, Numeral
from celosia.federated.comparison import CENTRAL, NON_PRIVATE, Comparison, MethodResult

if TYPE_CHECKING:
    from celosia.federated import FederationPreview

_NAMES = {CENTRAL: "federated.one_place", NON_PRIVATE: "federated.no_privacy"}


def print_comparison(
    found: Comparison, previews: "Mapping[str, FederationPreview]", records: SimulatedRecords, *, seed: int | None
) -> None:
    """Print what was trained at which cost, the table, and what it means."""
    console = Console(highlight=False)
    print_sentence(console, Message("cli_federated.simulated"), "bold")
    if records.remark is not None:
        print_sentence(console, records.remark)
    about = {"parties": found.parties, "records": records.count, "others": len(records.test[1])}
    print_sentence(console, Message("cli_federated.sizes", **about))
    if seed is not None:
        print_sentence(console, Message("cli_federated.seeded", seed=str(seed)), "yellow")
    console.print()
    first = next(iter(previews.values()))
    several = len({one.epsilon for one in found.results}) > 2  # one is None
    code = "cli_federated.guarantee_of_first" if several else "cli_federated.guarantee"
    print_sentence(console, Message(code, cost=first.guarantee))
    for name, preview in previews.items():
        told = {"method": name, "rounds": preview.rounds, "bytes": preview.bytes_per_party}
        told |= {"against": preview.against, "ratio": Numeral(f"{preview.noise_ratio:.3g}")}
        code = "cli_federated.one_round" if preview.rounds == 1 else "cli_federated.some_rounds"
        print_sentence(console, Message(code, **told))
    console.print()
    _print_results(found)
    console.print()
    for sentence in explain(found):
        print_sentence(console, sentence)


def _print_results(found: Comparison) -> None:
    titles = [
        Message("cli_federated.method"),
        "ε",
        _name_metric(found),
        Message("cli_federated.band"),
        Message("cli_federated.bytes"),
        Message("cli_federated.seconds"),
    ]
    rows = [
        [
            name_method(one),
            "–" if one.epsilon is None else write_number(float(one.epsilon), ".4g"),
            write_number(one.score, ".3f"),
            "–" if len(one.scores) == 1 else f"{write_number(one.band[0], '.3f')} – {write_number(one.band[1], '.3f')}",
            write_number(one.bytes_sent, ","),
            write_number(one.seconds, ".3f"),
        ]
        for one in found.results
    ]
    print_table(titles, rows)


def explain(found: Comparison) -> list[Message]:
    """Return what the table means: for each epsilon the best method, beside the models of one place."""
    plain = next(one for one in found.results if one.method == NON_PRIVATE)
    sentences = []
    for epsilon in dict.fromkeys(one.epsilon for one in found.results if one.epsilon is not None):
        ways = [one for one in found.results if one.epsilon == epsilon]
        central = next(one for one in ways if one.method == CENTRAL)
        best = max((one for one in ways if one is not central), key=lambda one: one.score)
        sentences.append(
            Message(
                "cli_federated.best",
                epsilon=Numeral(f"{float(epsilon):.4g}"),
                method=best.method,
                metric=_name_metric(found),
                score=_write(best.score),
                central=_write(central.score),
                plain=_write(plain.score),
            )
        )
    sentences.append(Message("cli_federated.band_means", repetitions=found.repetitions))
    return sentences


def name_method(result: MethodResult) -> str:
    """Return the name of a method, or what a fit in one place is called."""
    return say(_NAMES[result.method]) if result.method in _NAMES else result.method


def _name_metric(found: Comparison) -> str:
    return "R²" if found.metric == "R²" else Message("cli_federated.accuracy")


def _write(score: float) -> Numeral:
    return Numeral(f"{score:.3f}")


def comparison_object(
    found: Comparison, previews: "Mapping[str, FederationPreview]", records: SimulatedRecords, *, seed: int | None
) -> dict[str, object]:
    """Return a comparison for JSON."""
    return {
        "note": Message("cli_federated.simulated"),
        "seed": seed,
        "parties": found.parties,
        "records": records.count,
        "test_records": len(records.test[1]),
        "repetitions": found.repetitions,
        "metric": found.metric,
        "previews": {
            name: {
                "guarantee": json.loads(preview.guarantee.to_json()),
                "rounds": preview.rounds,
                "bytes_per_party": preview.bytes_per_party,
                "noise_ratio": preview.noise_ratio,
            }
            for name, preview in previews.items()
        },
        "results": [
            {
                "method": one.method,
                "epsilon": None if one.epsilon is None else float(one.epsilon),
                "rounds": one.rounds,
                "score": one.score,
                "band": list(one.band),
                "scores": list(one.scores),
                "round_scores": list(one.round_scores),
                "bytes_sent": one.bytes_sent,
                "seconds": one.seconds,
            }
            for one in found.results
        ],
    }
