"""Reports are made and added up in batches: memory does not grow with their number."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SCRIPT = """
import json, sys
import numpy as np
from benchmarks.peers.stopwatch import peak_megabytes
from celosia.local import CountMeanSketch

protocol = CountMeanSketch(epsilon=2, hashes=64, width=1024)
aggregate = protocol.aggregate()
peaks = []
for reports in (1 << 16, 1 << 19):
    aggregate.absorb_all(protocol.batches(np.arange(reports, dtype=np.int64)))
    peaks.append(peak_megabytes())
print(json.dumps([aggregate.reports, *peaks]))
"""


def test_half_a_million_reports_take_no_more_memory_than_their_values(pytestconfig: pytest.Config) -> None:
    root: Path = pytestconfig.rootpath
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=root, check=True, capture_output=True, text=True)
    reports, few, many = json.loads(done.stdout)
    assert reports == (1 << 16) + (1 << 19)
    # All reports at once would be 65 MB; the values and their digests are 8 MB.
    assert many - few < 32
    assert many < 1024
