"""The vectors that clients in other languages are held to: ``python -m tests.local.wire_vectors`` writes them anew.

Each says a protocol, a secret, a value and the record that comes of them, with the numbers on the way: the digest of
the value, or what else is drawn from, and for the first vectors every draw, so that whoever differs sees where. A draw
is ``["below", bound, number]`` or ``["coin", the first 64 binary digits of its probability in hexadecimal, what it
showed]``; between them stand the hashes that were needed, ``["column", row, column]``.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.local import (
    LOLOHA,
    CountMeanSketch,
    DBitFlip,
    DirectEncoding,
    DistinctCount,
    Duchi,
    HadamardCountMeanSketch,
    HadamardResponse,
    HierarchicalHistogram,
    Hybrid,
    LocalHashing,
    LocalLaplace,
    OneBitMean,
    OptimizedUnary,
    Piecewise,
    PrefixExtension,
    Rappor,
    SequenceFragmentPuzzle,
    SubsetSelection,
)
from celosia.local.base.memoised import Memoised
from celosia.noise.decide import exp_enclosure, leading, logistic_enclosure, ratio_enclosure
from celosia.noise.keyed import Keyed, derive
from celosia.noise.uniform import integer_below
from celosia.sketches.hashing.digest import digest
from celosia.sketches.hashing.family import HashFamily

if TYPE_CHECKING:
    from collections.abc import Iterator

    from celosia.local.base.protocol import Protocol

FOLDER = Path(__file__).parents[2] / "clients" / "vectors"
MESSAGE = b"celosia/vector/1"
SHOWN = 3  # vectors of each protocol that show their draws

OPEN = ["sun", "", "señal", "日本語のテキスト", "😀", "a" * 40, 0, -1, 2**53, -(2**63), 2**63 - 1, 1729]
COLOURS = ["red", "green", "añil", "白"]
NUMBERS = [-1.0, -0.5, 0.0, 0.125, 0.3333333333333333, 0.5, 0.75, 0.9, 0.999999, 1.0]
WORDS = ["sun", "sunshine", "a", "", "zebra", "rain", "rainforests", "q", "fog", "nieve"]
PLACES = [0, 1, 2, 3, 7, 19, 25, 31, 50, 99]

PROTOCOLS: dict[str, list[tuple[Protocol[Any], list[Any]]]] = {
    "count_mean_sketch": [
        (CountMeanSketch(epsilon=4, hashes=1024, width=64, seed=7), OPEN),
        (CountMeanSketch(epsilon="0.5", hashes=3, width=13, seed=2**64 - 1), OPEN[:4]),
    ],
    "d_bit_flip": [
        (DBitFlip(buckets=100, d=4, epsilon=1, seed=7), PLACES),
        (DBitFlip(buckets=COLOURS, d=4, epsilon="1/3"), COLOURS),
    ],
    "direct_encoding": [
        (DirectEncoding(domain=100, epsilon=4), PLACES),
        (DirectEncoding(domain=COLOURS, epsilon="0.5"), COLOURS),
    ],
    "distinct_count": [(DistinctCount(epsilon=2, buckets=1024, hashes=256, seed=7), OPEN)],
    "duchi": [(Duchi(low=-1, high=1, epsilon=1), NUMBERS), (Duchi(low="0.1", high=24, epsilon=4), [0.1, 7.3, 24.0])],
    "hadamard_count_mean_sketch": [
        (HadamardCountMeanSketch(epsilon=4, hashes=1024, width=32768, seed=7), OPEN),
        (HadamardCountMeanSketch(epsilon="0.5", hashes=1, width=2), OPEN[:4]),
    ],
    "hadamard_response": [
        (HadamardResponse(domain=100, epsilon=2), PLACES),
        (HadamardResponse(domain=COLOURS, epsilon=1), COLOURS),
    ],
    "hierarchical_histogram": [
        (HierarchicalHistogram(domain=100, epsilon=2, fanout=5), PLACES),
        (HierarchicalHistogram(domain=100, epsilon=1, fanout=10, oracle="hadamard"), PLACES),
    ],
    "hybrid": [
        (Hybrid(low=-1, high=1, epsilon=4), NUMBERS),
        (Hybrid(low=-1, high=1, epsilon="0.5", grid=1000), NUMBERS[:4]),
    ],
    "local_hashing": [
        (LocalHashing(domain=100, epsilon=1, seed=7), PLACES),
        (LocalHashing(domain=COLOURS, epsilon=2, hashes=1000, seed=7), COLOURS),
    ],
    "local_laplace": [(LocalLaplace(low=-1, high=1, epsilon=2, grid=1000), NUMBERS)],
    "loloha": [
        (LOLOHA(domain=100, epsilon=1, epsilon_infinity=2, g=2, seed=7), PLACES),
        (LOLOHA(domain=COLOURS, epsilon="0.5", epsilon_infinity=3, g=4, functions=100), COLOURS),
    ],
    "one_bit_mean": [(OneBitMean(low=-1, high=1, epsilon=1), NUMBERS)],
    "optimized_unary": [
        (OptimizedUnary(domain=100, epsilon=2), PLACES),
        (OptimizedUnary(domain=COLOURS, epsilon=1, symmetric=True), COLOURS),
    ],
    "piecewise": [
        (Piecewise(low=-1, high=1, epsilon=4), NUMBERS),
        (Piecewise(low="0.1", high=24, epsilon="0.5", grid=50), [0.1, 7.3, 24.0]),
    ],
    "prefix_extension": [
        (PrefixExtension(epsilon=2, domain=2**20, seed=7), [*PLACES, 2**20 - 1]),
        (PrefixExtension(epsilon=4, alphabet="abcdefghijklmnopqrstuvwxyz", length=8), WORDS),
    ],
    "rappor": [
        (Rappor(bits=64, hashes=2, cohorts=8, f="1/4", p="1/4", q="3/4", seed=7), OPEN),
        (Rappor(bits=10, hashes=3, cohorts=5, f=0, p="0.4", q="0.8"), OPEN[:4]),
    ],
    "sequence_fragment_puzzle": [
        (
            SequenceFragmentPuzzle(
                epsilon=8, hashes=16, width=32, fragment_hashes=16, fragment_width=32, length=10, fragment=2, seed=7
            ),
            WORDS,
        )
    ],
    "subset_selection": [
        (SubsetSelection(domain=100, epsilon=1), PLACES),
        (SubsetSelection(domain=COLOURS, epsilon=2), COLOURS),
    ],
}
"""The protocols of each file, with the values that vectors are made of."""


def secret_of(name: str, index: int) -> bytes:
    return hashlib.sha256(f"celosia/vector/{name}/{index}".encode()).digest()


@contextlib.contextmanager
def listened(draws: list[list[Any]]) -> Iterator[None]:
    """Write down what is drawn, one by one, while protocols draw."""
    modules = [module for name, module in sys.modules.items() if name.startswith("celosia.local.")]
    drawing = [module for module in modules if hasattr(module, "integer_below")]
    bernoulli: Any = importlib.import_module("celosia.noise.bernoulli")  # the room has a function of that name
    original = bernoulli._flip

    def below(bound: int, source: Any = None) -> int:
        number = integer_below(bound, source)
        draws.append(["below", bound, number])
        return number

    def coin(probability: Any, source: Any) -> bool:
        shown = bool(original(probability, source))
        draws.append(["coin", f"{leading(probability, 64)[0]:016x}", shown])
        return shown

    families: Any = HashFamily
    columns = families.columns

    def hashed(family: HashFamily, digests: Any, rows: Any) -> Any:
        found = columns(family, digests, rows)
        draws.append(["column", int(np.ravel(rows)[0]), int(found[0])])
        return found

    try:
        families.columns = hashed
        bernoulli._flip = coin
        for module in drawing:
            module.integer_below = below  # type: ignore[attr-defined]  # it has one
        yield
    finally:
        families.columns = columns
        bernoulli._flip = original
        for module in drawing:
            module.integer_below = integer_below  # type: ignore[attr-defined]  # likewise


def vector(name: str, index: int, protocol: Protocol[Any], value: Any, *, memoised: bool) -> dict[str, Any]:
    secret = secret_of(name, index)
    draws: list[list[Any]] = []
    source = Keyed(derive(secret, MESSAGE))
    given: dict[str, Any] = {"secret": secret} if memoised else {}
    with listened(draws):
        record = protocol.report(value, source=source, **given)
    made = written(value) | {"secret": secret.hex(), "memoised": memoised, "record": record.hex()}
    return made | {"read": _from(protocol, value), "draws": draws} if index < SHOWN else made


def _from(protocol: Protocol[Any], value: Any) -> str:
    """What a client draws from: a digest in hexadecimal, or a place, a part of an interval, a number."""
    item = protocol.encode([value])[0]
    if item.dtype.names:
        item = item["digest"]
    return _hex(item) if item.dtype == np.uint64 else str(int(item))


def written(value: Any) -> dict[str, Any]:
    """A value as JSON: integers as text, for not every language reads large ones exactly."""
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, int):
        return {"integer": str(value)}
    return {"text": value} if isinstance(value, str) else {"number": value}


def read(vector: dict[str, Any]) -> Any:
    """A value back from its JSON."""
    if "integer" in vector:
        return int(vector["integer"])
    return bytes.fromhex(vector["bytes"]) if "bytes" in vector else vector.get("text", vector.get("number"))


def of_protocol(name: str) -> dict[str, Any]:
    """What the file of a protocol holds."""
    parts, index = [], 0
    for protocol, values in PROTOCOLS[name]:
        vectors = []
        for value in values:
            for memoised in (False, True) if isinstance(protocol, Memoised) else (False,):
                vectors.append(vector(name, index, protocol, value, memoised=memoised))
                index += 1
        parts.append({"protocol": protocol.to_json(), "fingerprint": protocol.fingerprint.hex(), "vectors": vectors})
    return {"message": MESSAGE.decode(), "protocols": parts}


def hashing() -> dict[str, Any]:
    """Digests, coefficients and columns."""
    seeds = [0, 7, 2**64 - 1]
    lengths = [b"\x00" * 3, bytes(range(31)), bytes(range(32)), bytes(range(33)), bytes(range(255))]
    families = [(4, 1024, 3, 7), (3, 10, 2, 0), (2, 2**31, 4, 2**64 - 1)]
    return {
        "digests": [
            written(value) | {"seed": str(seed), "digest": _hex(digest([value], seed=seed)[0])}
            for value in [*OPEN, *lengths]
            for seed in seeds
        ],
        "families": [
            {
                "rows": rows,
                "width": width,
                "independence": independence,
                "seed": str(seed),
                "coefficients": [[_hex(number) for number in row] for row in family.coefficients],
                "columns": [
                    written(value) | {"columns": family.table(digest([value]))[:, 0].tolist()} for value in OPEN
                ],
            }
            for rows, width, independence, seed in families
            for family in [HashFamily(rows, width, independence=independence, seed=seed)]
        ],
    }


def draws() -> dict[str, Any]:
    """Keys, words, integers and coins."""
    key = derive(secret_of("draws", 0), MESSAGE)
    bounds = [1, 2, 3, 5, 64, 1000, 2**32, 2**52, 2**55, 2**56 - 1, 2**56, 2**63, 10**25]
    epsilons = ["1/2", "1", "2", "4", "1/3", "64"]
    odds = ["1", "3", "1023", "1/7", "19/5"]
    ratios = ["1/2", "1/3", "7/8", "1/1000"]
    source = Keyed(key)
    return {
        "message": MESSAGE.decode(),
        "secret": secret_of("draws", 0).hex(),
        "key": key.hex(),
        "words": [_hex(word) for word in Keyed(key).words(20)],
        "below": [{"bound": str(bound), "number": str(integer_below(bound, source))} for bound in bounds],
        "digits": [
            *(
                {"epsilon": one, "odds": two, "digits": _digits(logistic_enclosure(Fraction(one), Fraction(two)))}
                for one in epsilons
                for two in odds
            ),
            *({"exponent": one, "digits": _digits(exp_enclosure(Fraction(one)))} for one in epsilons),
            *({"ratio": one, "digits": _digits(ratio_enclosure(Fraction(one)))} for one in ratios),
        ],
    }


def files() -> dict[str, str]:
    """Every file by its name, as it is committed."""
    made = {"hashing": hashing(), "draws": draws()} | {name: of_protocol(name) for name in PROTOCOLS}
    return {f"{name}.json": _written(content) for name, content in made.items()}


def _hex(number: Any) -> str:
    return f"{int(number):016x}"


def _digits(probability: Any) -> str:
    return _hex(leading(probability, 64)[0])


def _written(content: dict[str, Any]) -> str:
    """JSON that a person can read: what is small on one line."""

    def lines(value: Any, indent: str) -> str:
        flat = json.dumps(value, ensure_ascii=False)
        if len(indent) + len(flat) <= 118 or not isinstance(value, dict | list):
            return flat
        inner = indent + "  "
        if isinstance(value, dict):
            rows = [f"{inner}{json.dumps(name)}: {lines(item, inner)}" for name, item in value.items()]
            return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
        return "[\n" + ",\n".join(inner + lines(item, inner) for item in value) + f"\n{indent}]"

    return lines(content, "") + "\n"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
