"""Presets are what was published, and light."""

from __future__ import annotations

import numpy as np
import pytest

from celosia.core import CelosiaError
from celosia.local import presets
from celosia.local.base.protocol import Protocol
from celosia.noise import Seeded


def test_apples_are_as_published() -> None:
    emoji, safari, words = presets.apple_emoji, presets.apple_safari, presets.apple_new_words
    assert (emoji.hashes, emoji.width, int(emoji.epsilon)) == (65_536, 1_024, 4)
    assert (safari.hashes, safari.width, int(safari.epsilon)) == (1_024, 32_768, 4)
    assert words.epsilon == 2 + 6
    assert emoji.memory == 8 * 65_536 * 1_025
    assert safari.bits == 26


def test_chromes_spends_by_its_hashes() -> None:
    rappor = presets.chrome_rappor
    assert [float(chance) for chance in (rappor.f, rappor.p, rappor.q)] == [0, 0.5, 0.75]
    assert float(rappor.epsilon) == pytest.approx(2 * np.log(3))  # q (1 - p) / (p (1 - q)) is 3, in two bits


def test_windows_sends_few_bits() -> None:
    for d in (1, 2, 4):
        protocol = presets.windows_telemetry(d)
        assert protocol.d == d
        aggregate = protocol.aggregate().absorb(protocol.privatize(np.arange(3200) % 32, source=Seeded(1)))
        assert aggregate.reports == 3200


def test_each_can_be_sent_to_a_client() -> None:
    for name in presets.__all__:
        preset = getattr(presets, name)
        protocol = preset if isinstance(preset, Protocol) else preset(2)
        assert Protocol.from_json(protocol.to_json()) == protocol
    with pytest.raises(CelosiaError):
        presets.windows_telemetry(0)


def test_a_large_table_works() -> None:
    protocol = presets.apple_safari
    aggregate = protocol.aggregate().absorb(protocol.privatize(["a.example"] * 2000, source=Seeded(1)))
    estimate = aggregate.estimate(["a.example", "b.example"])
    assert estimate.counts == pytest.approx([2000, 0], abs=250)
