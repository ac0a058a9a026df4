"""A client of every local protocol in plain Python, from ``docs/wire.md`` alone: what another language would do.

It takes nothing from the package. Words are the ChaCha20 keystream of a key (RFC 8439), keys are HMAC-SHA256 (RFC
2104), digests are XXH64, probabilities are decimals of 80 digits. It is slow and says nothing about bad input.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

MASK = 2**64 - 1
PRIME = 2**61 - 1
DECIMALS = Context(prec=80)

# ---------------------------------------------------------------------------------------------------- words


def chacha20_block(key: bytes, counter: int) -> bytes:
    """64 bytes of the keystream, with a nonce of zeros."""
    state = [int.from_bytes(part, "little") for part in (b"expa", b"nd 3", b"2-by", b"te k")]
    state += [int.from_bytes(key[i : i + 4], "little") for i in range(0, 32, 4)]
    state += [counter & 0xFFFFFFFF, counter >> 32, 0, 0]
    work = list(state)

    def quarter(a: int, b: int, c: int, d: int) -> None:
        for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            work[x] = (work[x] + work[y]) & 0xFFFFFFFF
            turned = work[z] ^ work[x]
            work[z] = (turned << turn | turned >> (32 - turn)) & 0xFFFFFFFF

    for _ in range(10):
        for column in range(4):
            quarter(column, 4 + column, 8 + column, 12 + column)
        for column in range(4):
            quarter(column, 4 + (column + 1) % 4, 8 + (column + 2) % 4, 12 + (column + 3) % 4)
    return b"".join(((a + b) & 0xFFFFFFFF).to_bytes(4, "little") for a, b in zip(work, state, strict=True))


class Stream:
    """The words of a key, one after the other, and the two ways of drawing from them."""

    def __init__(self, key: bytes) -> None:
        self.key, self.counter, self.ready = key, 0, b""

    def word(self) -> int:
        if not self.ready:
            self.ready, self.counter = chacha20_block(self.key, self.counter), self.counter + 1
        word, self.ready = int.from_bytes(self.ready[:8], "little"), self.ready[8:]
        return word

    def below(self, bound: int) -> int:
        words = -(-(bound.bit_length() + 8) // 64)
        usable = 2 ** (64 * words) - 2 ** (64 * words) % bound
        while True:
            number = 0
            for _ in range(words):
                number = number << 64 | self.word()
            if number < usable:
                return number % bound

    def coin(self, chance: Fraction | Decimal) -> bool:
        """True with this chance: a word below its first 64 binary digits; a word that equals them asks for 64 more."""
        drawn, bits = 0, 0
        while True:
            drawn, bits = drawn << 64 | self.word(), bits + 64
            digits, rest = digits_of(chance, bits)
            if drawn != digits or not rest:
                return drawn < digits


def digits_of(chance: Fraction | Decimal, bits: int) -> tuple[int, bool]:
    """The first binary digits of a chance, and whether there are more."""
    if isinstance(chance, Fraction):
        digits, rest = divmod(chance.numerator << bits, chance.denominator)
        return digits, rest > 0
    scaled = DECIMALS.multiply(chance, Decimal(2**bits))
    return int(scaled), True


def decimal(number: Fraction) -> Decimal:
    return DECIMALS.divide(Decimal(number.numerator), Decimal(number.denominator))


def exponential(x: Fraction) -> Decimal | Fraction:
    """exp(-x)."""
    return Fraction(1) if x == 0 else DECIMALS.exp(DECIMALS.minus(decimal(x)))


def truth(epsilon: Fraction | Decimal, odds: Fraction | int = 1) -> Decimal:
    """1 / (1 + odds exp(-epsilon)): the chance of the truth where the lies have these odds."""
    power = DECIMALS.exp(DECIMALS.minus(decimal(epsilon) if isinstance(epsilon, Fraction) else epsilon))
    return DECIMALS.divide(1, DECIMALS.fma(decimal(Fraction(odds)), power, 1))


# ---------------------------------------------------------------------------------------------------- hashing

P1, P2, P3, P4, P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)


def rotated(word: int, by: int) -> int:
    return (word << by | word >> (64 - by)) & MASK


def mixed(lane: int, word: int) -> int:
    return rotated((lane + word * P2) & MASK, 31) * P1 & MASK


def xxh64(data: bytes, seed: int = 0) -> int:
    def word(at: int, size: int = 8) -> int:
        return int.from_bytes(data[at : at + size], "little")

    at = 0
    if len(data) >= 32:
        lanes = [(seed + P1 + P2) & MASK, (seed + P2) & MASK, seed, (seed - P1) & MASK]
        while at + 32 <= len(data):
            lanes = [mixed(lane, word(at + 8 * place)) for place, lane in enumerate(lanes)]
            at += 32
        state = sum(rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & MASK
        for lane in lanes:
            state = ((state ^ mixed(0, lane)) * P1 + P4) & MASK
    else:
        state = (seed + P5) & MASK
    state = (state + len(data)) & MASK
    while at + 8 <= len(data):
        state, at = (rotated(state ^ mixed(0, word(at)), 27) * P1 + P4) & MASK, at + 8
    if at + 4 <= len(data):
        state, at = (rotated(state ^ (word(at, 4) * P1 & MASK), 23) * P2 + P3) & MASK, at + 4
    for byte in data[at:]:
        state = rotated(state ^ (byte * P5 & MASK), 11) * P1 & MASK
    state = (state ^ state >> 33) * P2 & MASK
    state = (state ^ state >> 29) * P3 & MASK
    return state ^ state >> 32


def octets(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    return value if isinstance(value, bytes) else int(value).to_bytes(8, "little", signed=True)


def digest(value: Any, seed: int = 0) -> int:
    return xxh64(octets(value), seed)


def pair(first: int, second: int) -> bytes:
    return first.to_bytes(8, "little") + second.to_bytes(8, "little")


def column(word: int, row: int, width: int, seed: int, independence: int = 3) -> int:
    """The column, below ``width``, of a digest under the polynomial of a row."""
    y = 0
    for i in reversed(range(independence)):
        y = (y * (word % PRIME) + xxh64(pair(row, i), seed) % PRIME) % PRIME
    return (y >> 29) * width >> 32


# ---------------------------------------------------------------------------------------------------- protocols


def size_of(domain: Any) -> int:
    return domain if isinstance(domain, int) else len(domain)


def place_of(value: Any, domain: Any) -> int:
    return int(value if isinstance(domain, int) else domain.index(value))


def field_width(count: int) -> int:
    return (count - 1).bit_length()


def respond(own: int, choices: int, epsilon: Fraction | Decimal, source: Stream) -> int:
    """Randomized response: whether the own one is told, and which other one else."""
    kept, other = source.coin(truth(epsilon, choices - 1)), source.below(choices - 1)
    return own if kept else other + (other >= own)


def part_of(value: float, low: str, high: str, parts: int) -> int:
    least, most = float(Fraction(low)), float(Fraction(high))
    return min(max(math.floor((value - least) / (most - least) * float(parts) + 0.5), 0), parts)


Answer = tuple[int, int]  # a report as a number, and its bits
Memo = Callable[[str, int], Stream]


def count_mean_sketch(p: dict[str, Any], word: int, source: Stream) -> Answer:
    row = source.below(p["hashes"])
    chance = truth(Fraction(p["epsilon"]) / 2)
    vector = sum((not source.coin(chance)) << bit for bit in range(p["width"]))
    vector ^= 1 << column(word, row, p["width"], p["seed"])
    return vector | row << p["width"], p["width"] + field_width(p["hashes"])


def hadamard_count_mean_sketch(p: dict[str, Any], word: int, source: Stream) -> Answer:
    row, coordinate = source.below(p["hashes"]), source.below(p["width"])
    told = source.coin(truth(Fraction(p["epsilon"])))
    even = (coordinate & column(word, row, p["width"], p["seed"])).bit_count() % 2 == 0
    first, second = field_width(p["hashes"]), field_width(p["width"])
    return row | coordinate << first | (told == even) << first + second, first + second + 1


def direct_encoding(p: dict[str, Any], value: Any, source: Stream) -> Answer:
    size = size_of(p["domain"])
    return respond(place_of(value, p["domain"]), size, Fraction(p["epsilon"]), source), field_width(size)


def optimized_unary(p: dict[str, Any], value: Any, source: Stream) -> Answer:
    size, own, vector = size_of(p["domain"]), place_of(value, p["domain"]), 0
    chance = truth(Fraction(p["epsilon"]) / (2 if p["symmetric"] else 1))
    for place in range(size):
        if place == own and not p["symmetric"]:
            vector |= source.coin(Fraction(1, 2)) << place
        else:
            vector |= (source.coin(chance) == (place == own)) << place
    return vector, size


def hadamard_response(p: dict[str, Any], value: Any, source: Stream) -> Answer:
    place, blocks = place_of(value, p["domain"]), p["blocks"]
    rows = 1 << (-(-size_of(p["domain"]) // blocks)).bit_length()
    own, sign = 2 * (place % blocks), 1 + place // blocks
    half = respond(own, 2 * blocks, Fraction(p["epsilon"]), source)
    row = source.below(rows)
    if (row & sign).bit_count() % 2 != half % 2:
        row ^= sign & -sign
    return row | half // 2 << field_width(rows), field_width(rows) + field_width(blocks)


def subset_selection(p: dict[str, Any], value: Any, source: Stream) -> Answer:
    size, own, chosen = size_of(p["domain"]), place_of(value, p["domain"]), p["chosen"]
    kept = source.coin(truth(Fraction(p["epsilon"]), Fraction(size - chosen, chosen)))
    others: set[int] = set()
    for last in range(size - 1 - chosen, size - 1):
        number = source.below(last + 1)
        others.add(last if number in others else number)
    gives_way = source.below(chosen)
    members = [number + (number >= own) for number in sorted(others)]
    if kept:
        members[gives_way] = own
    return sum(1 << member for member in members), size


def local_hashing(p: dict[str, Any], value: Any, source: Stream) -> Answer:
    functions = 2**32 if p["hashes"] is None else p["hashes"]
    row = source.below(functions)
    own = column(digest(value, p["seed"]), row, p["buckets"], p["seed"])
    said = respond(own, p["buckets"], Fraction(p["epsilon"]), source)
    return row | said << field_width(functions), field_width(functions) + field_width(p["buckets"])


def distinct_count(p: dict[str, Any], value: Any, source: Stream) -> Answer:
    bucket = column(digest(value), 0, p["buckets"], (p["seed"] + 1) % 2**64)
    choices = min(round(math.exp(float(Fraction(p["epsilon"])))) + 1, 2**31)
    oracle = {"epsilon": p["epsilon"], "hashes": p["hashes"], "buckets": choices, "seed": p["seed"]}
    return local_hashing(oracle, bucket, source)


def duchi(p: dict[str, Any], value: float, source: Stream) -> Answer:
    return true_bit(part_of(value, p["low"], p["high"], 2**52), 2**52, Fraction(p["epsilon"]), source), 1


def true_bit(part: int, parts: int, epsilon: Fraction, source: Stream) -> int:
    high = source.below(parts) < part
    return int(high == source.coin(truth(epsilon)))


def window(p: dict[str, Any], part: int, source: Stream) -> int:
    steps, width = p["grid"], p["width"]
    position = part + source.below(2**32) >> 32
    near = source.coin(truth(Fraction(p["epsilon"]), Fraction(steps, width)))
    inside, outside = source.below(width), source.below(steps)
    return position + inside if near else outside + width * (outside >= position)


def piecewise(p: dict[str, Any], value: float, source: Stream) -> Answer:
    part = part_of(value, p["low"], p["high"], p["grid"] << 32)
    return window(p, part, source), field_width(p["grid"] + p["width"])


def hybrid(p: dict[str, Any], value: float, source: Stream) -> Answer:
    part, epsilon = part_of(value, p["low"], p["high"], p["grid"] << 32), Fraction(p["epsilon"])
    flag = not source.coin(exponential(epsilon / 2)) and epsilon > Fraction(61, 100)
    bit, number = true_bit(part, p["grid"] << 32, epsilon, source), window(p, part, source)
    bits = field_width(p["grid"] + p["width"])
    return (number if flag else bit) | flag << bits, bits + 1


def local_laplace(p: dict[str, Any], value: float, source: Stream) -> Answer:
    grid, scale = p["grid"], p["grid"] / Fraction(p["epsilon"])
    position = part_of(value, p["low"], p["high"], grid << 32) + source.below(2**32) >> 32
    reach = math.ceil(45 * scale)
    t, s = scale.numerator, scale.denominator
    while True:
        u = source.below(t)
        if not source.coin(exponential(Fraction(u, t))):
            continue
        times = 0
        while source.coin(exponential(Fraction(1))):
            times += 1
        size, minus = (u + t * times) // s, source.coin(Fraction(1, 2))
        if size or not minus:
            break
    most = grid + 2 * reach
    return min(max(position + (-size if minus else size) + reach, 0), most), field_width(most + 1)


def hierarchical_histogram(p: dict[str, Any], value: Any, source: Stream) -> Answer:
    leaves, fanout, epsilon = size_of(p["domain"]), p["fanout"], Fraction(p["epsilon"])
    height = 1
    while fanout**height < leaves:
        height += 1
    sizes = [-(-leaves // fanout**below) for below in reversed(range(height))]
    level = source.below(height)
    node = place_of(value, p["domain"]) // fanout ** (height - 1 - level)
    if p["oracle"] == "unary":
        vector = 0
        for place in range(sizes[level]):
            one = source.coin(Fraction(1, 2)) if place == node else not source.coin(truth(epsilon))
            vector |= one << place
        return vector | level << leaves, leaves + field_width(height)
    index = 1 + source.below(max(2, 1 << field_width(sizes[level])) - 1)
    bit = ((index & node).bit_count() % 2 == 0) != source.coin(truth(epsilon))
    bits = field_width(leaves)
    return index | bit << bits | level << bits + 1, bits + 1 + field_width(height)


def spelt(value: Any, alphabet: Any, length: int) -> list[int]:
    letters = [alphabet.index(letter) + 1 for letter in value[:length]]
    return letters + [0] * (length - len(letters))


def prefix_extension(p: dict[str, Any], value: Any, source: Stream) -> Answer:
    if p["domain"] is None:
        letter = field_width(len(p["alphabet"]) + 1)
        bits, number = p["length"] * letter, 0
        for one in spelt(value, p["alphabet"], p["length"]):
            number = number << letter | one
    else:
        bits, number = field_width(p["domain"]), value
    groups = -(-bits // p["step"])
    width = min(round(math.exp(min(float(Fraction(p["epsilon"])), 16.0))) + 1, 2**16)
    group, row = source.below(groups), source.below(p["hashes"])
    length = -(-(group + 1) * bits // groups)
    beginning = number >> bits - length | 1 << length
    own = column(digest(beginning), row, width, p["seed"])
    said = respond(own, width, Fraction(p["epsilon"]), source)
    first, second = field_width(groups), field_width(p["hashes"])
    return group | row << first | said << first + second, first + second + field_width(width)


def sequence_fragment_puzzle(p: dict[str, Any], value: Any, source: Stream) -> Answer:
    letters, cut = spelt(value, p["alphabet"], p["length"]), value[: p["length"]]
    fragment_epsilon = Fraction(p["fragment_epsilon"])
    texts = {"epsilon": Fraction(p["epsilon"]) - fragment_epsilon, "hashes": p["hashes"], "width": p["width"]}
    pieces = {"epsilon": fragment_epsilon, "hashes": p["fragment_hashes"], "width": p["fragment_width"]}
    places = p["length"] // p["fragment"]
    place = source.below(places)
    number = place * 256 + (digest(cut, digest(2, p["seed"])) >> 56)
    for letter in letters[place * p["fragment"] : (place + 1) * p["fragment"]]:
        number = number * (len(p["alphabet"]) + 1) + letter
    text, first = count_mean_sketch({**texts, "seed": p["seed"]}, digest(cut), source)
    piece, second = count_mean_sketch({**pieces, "seed": digest(1, p["seed"])}, digest(number), source)
    first, second = -(-first // 8) * 8, -(-second // 8) * 8
    return text | piece << first | place << first + second, first + second + field_width(places)


# ------------------------------------------------------------------------------------- what stays


def rappor(p: dict[str, Any], value: Any, memo: Memo, source: Stream) -> Answer:
    word, client = digest(value, p["seed"]), memo("client", 0)
    half, cohort = client.below(2), client.below(p["cohorts"])
    kept = 0
    for row in range(cohort * p["hashes"], (cohort + 1) * p["hashes"]):
        kept |= 1 << column(word, row, p["bits"], p["seed"])
    f, chances = Fraction(p["f"]), (Fraction(p["p"]), Fraction(p["q"]))
    if f:
        answers = memo("value", word)
        kept ^= sum(answers.coin(f / 2) << bit for bit in range(p["bits"]))
    shown = sum(source.coin(chances[kept >> bit & 1]) << bit for bit in range(p["bits"]))
    bits = p["bits"] + field_width(p["cohorts"])
    return shown | cohort << p["bits"] | half << bits, bits + 1


def d_bit_flip(p: dict[str, Any], value: Any, memo: Memo, source: Stream) -> Answer:  # noqa: ARG001 - of the domain
    size, d, place = size_of(p["buckets"]), p["d"], place_of(value, p["buckets"])
    assignments = 64 * size if d < size else 1
    assignment = memo("client", 0).below(assignments) if d < size else 0
    if d < size:
        order = sorted(range(size), key=lambda bucket: xxh64(pair(assignment // size, bucket), p["seed"]))
        place = min((order.index(place) - assignment) % size, d)
    answers, chance = memo("value", place), truth(Fraction(p["epsilon"]) / 2)
    said = sum((not answers.coin(chance)) << bit for bit in range(d))
    if place < d:
        said ^= 1 << place
    return said | assignment << d, d + field_width(assignments)


def one_bit_mean(p: dict[str, Any], value: float, memo: Memo, source: Stream) -> Answer:  # noqa: ARG001 - all stays
    high = memo("client", 0).below(2**52) < part_of(value, p["low"], p["high"], 2**52)
    return int(high == memo("value", int(high)).coin(truth(Fraction(p["epsilon"])))), 1


def loloha(p: dict[str, Any], value: Any, memo: Memo, source: Stream) -> Answer:
    g, function = p["g"], memo("client", 0).below(p["functions"])
    cell = column(digest(place_of(value, p["domain"]), p["seed"]), function, g, p["seed"])
    long = Fraction(p["epsilon_infinity"])
    kept = respond(cell, g, long, memo("value", cell))
    first, both = DECIMALS.exp(decimal(long)), DECIMALS.exp(decimal(Fraction(p["epsilon"])))
    above = DECIMALS.fma(both, DECIMALS.add(first, g - 2), 1 - g)
    fresh = DECIMALS.ln(DECIMALS.divide(above, DECIMALS.subtract(first, both)))
    return respond(kept, g, fresh, source) | function << field_width(g), field_width(g) + field_width(p["functions"])


PLAIN: dict[str, Callable[[dict[str, Any], Any, Stream], Answer]] = {
    "CountMeanSketch": lambda p, value, source: count_mean_sketch(p, digest(value), source),
    "DirectEncoding": direct_encoding,
    "DistinctCount": distinct_count,
    "Duchi": duchi,
    "HadamardCountMeanSketch": lambda p, value, source: hadamard_count_mean_sketch(p, digest(value), source),
    "HadamardResponse": hadamard_response,
    "HierarchicalHistogram": hierarchical_histogram,
    "Hybrid": hybrid,
    "LocalHashing": local_hashing,
    "LocalLaplace": local_laplace,
    "OptimizedUnary": optimized_unary,
    "Piecewise": piecewise,
    "PrefixExtension": prefix_extension,
    "SequenceFragmentPuzzle": sequence_fragment_puzzle,
    "SubsetSelection": subset_selection,
}

MEMOISED: dict[str, Callable[[dict[str, Any], Any, Memo, Stream], Answer]] = {
    "DBitFlip": d_bit_flip,
    "LOLOHA": loloha,
    "OneBitMean": one_bit_mean,
    "Rappor": rappor,
}


def record(protocol: str, value: Any, key: bytes, secret: bytes | None = None) -> bytes:
    """The record of a value: fresh draws from the stream of a key, what stays from a secret, or else from the same."""
    parameters, source = json.loads(protocol), Stream(key)
    fingerprint = hashlib.sha256(protocol.encode()).digest()
    kind = parameters["kind"]
    if kind in PLAIN:
        number, bits = PLAIN[kind](parameters, value, source)
    else:

        def memo(purpose: str, number: int) -> Stream:
            if secret is None:
                return source
            message = f"celosia/{kind}/{purpose}/1/".encode() + fingerprint + number.to_bytes(8, "little")
            return Stream(hmac.digest(secret, message, "sha256"))

        number, bits = MEMOISED[kind](parameters, value, memo, source)
    return b"\x01" + fingerprint[:3] + number.to_bytes(-(-bits // 8), "little")
