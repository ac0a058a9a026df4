"""Output of a simulation by ``celosia collect``: tables, CSV, or JSON only.

True numbers are beside the estimated ones, and every form of output states that this is a simulation.
"""

import csv
import io
import json
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from celosia.cli.terminal import has_width, print_whole, printable
from celosia.core.exact import format_exact

if TYPE_CHECKING:
    from celosia.local.base.protocol import Protocol
    from celosia.local.simulation import Simulation

SIMULATED = "Simulation: true values are shown, which no collector has."
"""The note on every output of a simulation."""

_BAR = 24
_BARS_FROM = 72  # columns of a terminal
_MAX_NUMBER_LENGTH = 20


def print_run(run: "Simulation", *, top: int) -> None:
    """Print the largest numbers of one simulation, true and estimated, and the errors of all of them."""
    console = Console(highlight=False)
    order = largest(run)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    table.add_column("Value", min_width=10)
    for title in ("True", "Estimated", f"{100 * run.level:g} % interval"):
        table.add_column(title, justify="right", no_wrap=True)
    counted = run.metrics is not None
    drawn = counted and console.width >= _BARS_FROM
    table.add_column("Estimated █, true │" if drawn else "", no_wrap=True)
    most = max(1.0, float(np.max(run.estimated)), float(np.max(run.true)))
    for i in order[:top]:
        true, estimated, low, high = (float(side[i]) for side in (run.true, run.estimated, run.low, run.high))
        bar = _bar(estimated / most, true / most) if drawn else ""
        span = "missed" if i >= run.found else f"{_number(low, counted=counted)} – {_number(high, counted=counted)}"
        cells = (key_text(run.keys[i]), *(_number(x, counted=counted) for x in (true, estimated)), span, bar)
        table.add_row(*map(Text, cells))
    print_whole(table)
    if len(order) > top:
        console.print(Text(f"… and {len(order) - top:,} more; --top shows more of them, --csv FILE writes all.", "dim"))
    for quantile in run.quantiles:
        words = f"{100 * quantile.share:g} % quantile: {quantile.estimated} (true {quantile.true}), "
        console.print(Text(f"{words}{100 * run.level:g} % interval {quantile.low} – {quantile.high}"))
    if run.statement:
        print_sentence(console, Text(run.statement))
    console.print()
    _print_metrics(run, console)


def _print_metrics(run: "Simulation", console: Console) -> None:
    table = _pairs()
    for name, value in _list_metrics(run):
        table.add_row(name, value)
    print_whole(table)
    if run.metrics is None or len(run.metrics.groups) < 2:
        return
    console.print()
    groups = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    groups.add_column("By frequency")
    for title in ("Values", "Mean count", "Mean error", "Relative"):
        groups.add_column(title, justify="right")
    for group in run.metrics.groups:
        share = "–" if group.relative_error is None else f"{100 * group.relative_error:,.1f} %"
        name = "most frequent" if group.rank == 1 else "least frequent" if group is run.metrics.groups[-1] else ""
        row = (f"{group.rank:>2} {name}", f"{group.keys:,}", f"{group.mean_count:,.1f}", f"{group.mean_error:,.1f}")
        groups.add_row(*row, share)
    print_whole(groups)


def _list_metrics(run: "Simulation") -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    if run.metrics is not None:
        found = run.metrics
        rows = [
            ("Total error", f"{found.total_error:,.1f} over {found.keys:,} value{'s'[: found.keys != 1]}"),
            ("Mean error", f"{found.mean_error:,.2f}, {found.percent_error:.3g} % of the people"),
            ("Largest error", f"{found.largest_error:,.1f}"),
            ("MSE", f"{found.mse:,.2f}; divided by the range {_share(found.normalized_mse)}"),
            ("RMSE", f"{found.rmse:,.2f}{_format_expected(run)}"),
            ("RMSE / range", _share(found.normalized_rmse)),
            ("√(MSE / range)", _share(found.root_normalized_mse)),
            ("Pearson", "–" if found.pearson is None else f"{found.pearson:.4f}"),
            ("Intervals", _format_coverage(run)),
        ]
        if run.task == "words":
            false = int((run.true[: run.found] == 0).sum())
            rows.append(
                ("Found", f"{run.found:,} values, {false:,} of which are absent; {len(run.keys) - run.found:,} missed")
            )
    else:
        error = "" if run.expected_rmse is None else f"; the standard error is {run.expected_rmse:,.3g}"
        rows = [("Error", f"{float(run.estimated[0] - run.true[0]) + 0.0:,.6g}{error}")]
    people = max(run.reports, 1)
    return [
        *rows,
        ("Report", bytes_text(run)),
        ("Clients", f"{_time(run.seconds.client)}, {_time(run.seconds.client / people)} a report"),
        ("Update", f"{_time(run.seconds.update)}, {_time(run.seconds.update / people)} a report"),
        ("Estimate", _time(run.seconds.estimate)),
    ]


def print_sweep(runs: "Sequence[Simulation]") -> None:
    """Print one column for each epsilon, in several tables if the terminal is narrow."""
    console = Console(highlight=False)
    columns = [_counts_cells(run) if run.metrics is not None else _number_cells(run) for run in runs]
    widest = max(len(cell) for column in columns for cell in column.values())
    side = max(1, (console.width - max(map(len, columns[0]))) // (widest + 3)) if has_width(console) else len(runs)
    for begin in range(0, len(runs), side):
        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
        table.add_column("Epsilon", no_wrap=True)
        for run in runs[begin : begin + side]:
            table.add_column(epsilon_text(run), justify="right", no_wrap=True)
        for name in columns[0]:
            table.add_row(name, *(column[name] for column in columns[begin : begin + side]))
        if begin:
            console.print()
        print_whole(table)


def _counts_cells(run: "Simulation") -> dict[str, str]:
    found = run.metrics
    assert found is not None  # noqa: S101 - of counts
    return {
        "Total error": f"{found.total_error:,.0f}",
        "Mean error": f"{found.mean_error:,.1f}",
        "… in % of people": f"{found.percent_error:.3g}",
        "MSE": f"{found.mse:,.0f}",
        "RMSE": f"{found.rmse:,.1f}",
        "… expected": "–" if run.expected_rmse is None else f"{run.expected_rmse:,.1f}",
        "RMSE / range": _share(found.normalized_rmse),
        "√(MSE / range)": _share(found.root_normalized_mse),
        "Pearson": "–" if found.pearson is None else f"{found.pearson:.4f}",
        "Intervals hold": f"{100 * run.coverage:.1f} %" if run.found else "–",
        **_times(run),
    }


def _number_cells(run: "Simulation") -> dict[str, str]:
    return {
        "True": f"{run.true[0]:,.6g}",
        "Estimated": f"{run.estimated[0]:,.6g}",
        "Interval from": f"{run.low[0]:,.6g}",
        "to": f"{run.high[0]:,.6g}",
        "Standard error": "–" if run.expected_rmse is None else f"{run.expected_rmse:,.4g}",
        **_times(run),
    }


def _times(run: "Simulation") -> dict[str, str]:
    seconds = run.seconds
    return {
        "Clients": _time(seconds.client),
        "Update": _time(seconds.update),
        "Estimate": _time(seconds.estimate),
        "Bytes a report": f"{run.protocol.bytes_per_report:,}",
    }


def run_object(run: "Simulation", *, top: int) -> dict[str, object]:
    """Return one simulation for JSON; the rows are the largest ones."""
    rows = run.to_arrow().take(largest(run)[:top].tolist()).to_pylist()
    times = run.seconds
    return {
        "epsilon": float(run.protocol.guarantee.epsilon),
        "protocol": json.loads(run.protocol.to_json()),
        "guarantee": json.loads(run.protocol.guarantee.to_json()),
        "reports": run.reports,
        "seeded": run.seeded,
        "bytes_per_report": run.protocol.bytes_per_report,
        "level": run.level,
        "rows": rows,
        "metrics": None if run.metrics is None else run.metrics.to_dict(),
        "expected_rmse": run.expected_rmse,
        "covered": run.coverage if run.found else None,
        "quantiles": [
            {"share": one.share, "true": one.true, "estimated": one.estimated, "low": one.low, "high": one.high}
            for one in run.quantiles
        ],
        "statement": run.statement,
        "seconds": {"client": times.client, "update": times.update, "estimate": times.estimate},
    }


def csv_text(runs: "Sequence[Simulation]") -> str:
    """Return all rows of all simulations as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["epsilon", *runs[0].to_arrow().column_names])
    for run in runs:
        columns = [column.to_pylist() for column in run.to_arrow().columns]
        if run.metrics is not None:
            columns[1] = [round(count) for count in columns[1]]
        writer.writerows((epsilon_text(run), *row) for row in zip(*columns, strict=True))
    return text.getvalue()


# ------------------------------------------------------------------------------------------------------------- values


def largest(run: "Simulation") -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Return the places of the rows, those with the largest true values first.

    Equal ones keep their order: an order by estimates would select the largest errors.
    """
    return np.argsort(-run.true, kind="stable")


def print_sentence(console: Console, text: Text) -> None:
    """Print a sentence: wrapped at words on a terminal, in one line to a file."""
    console.print(text, soft_wrap=not console.is_terminal)


def format_protocols(protocols: "Sequence[Protocol[Any]]") -> str:
    """Return the kind of protocols with their common parameters; long ones are abbreviated."""
    all_of = [json.loads(one.to_json()) for one in protocols]
    same = {name: value for name, value in all_of[0].items() if all(other[name] == value for other in all_of)}
    shown = [_parameter(name, value) for name, value in same.items() if name not in ("kind", "version")]
    return f"{all_of[0]['kind']}({', '.join(words for words in shown if words)})"


def _parameter(name: str, value: Any) -> str:
    if value is None or (name, value) == ("seed", 0):
        return ""
    if isinstance(value, list):
        return f"{name} of {len(value):,} values"
    if name == "alphabet":
        return f"{name} of {len(value)} letters"
    return f"{name}={value}" if len(str(value)) <= _MAX_NUMBER_LENGTH else f"{name}≈{float(Fraction(value)):.5g}"


def epsilon_text(run: "Simulation") -> str:
    """Return the epsilon of a report, exact if that is short."""
    exact = format_exact(run.protocol.guarantee.epsilon).strip("'")
    return exact if len(exact) <= 8 else f"{float(run.protocol.guarantee.epsilon):.4g}"


def bytes_text(run: "Simulation") -> str:
    """Return the size of a report in words."""
    size = run.protocol.bytes_per_report
    return f"{size:,} byte{'s'[: size != 1]}"


def _bar(estimated: float, true: float) -> str:
    """Return a bar with a mark where the true value is."""
    filled = min(_BAR, max(0, round(_BAR * estimated)))
    cells = ["█"] * filled + [" "] * (_BAR + 1 - filled)
    cells[min(_BAR, max(0, round(_BAR * true)))] = "│"
    return "".join(cells).rstrip()


def _format_expected(run: "Simulation") -> str:
    return "" if run.expected_rmse is None else f"; the standard errors predict {run.expected_rmse:,.2f}"


def _format_coverage(run: "Simulation") -> str:
    if not run.found:
        return "–"
    return f"{100 * run.coverage:.1f} %{' of those found' if run.task == 'words' else ''} contain the true value"


def _time(seconds: float) -> str:
    """Return a duration in a unit that fits it."""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{brief(seconds / unit)} {name}"
    return f"{brief(1e9 * seconds)} ns"


def brief(number: float) -> str:
    """Return three digits, or all of a number above a thousand."""
    return f"{number:.3g}" if abs(number) < 999.5 or abs(number) >= 1e9 else f"{number:,.0f}"


def _share(number: float | None) -> str:
    return "–" if number is None else f"{number:,.4g}"


def _number(number: float, *, counted: bool) -> str:
    return f"{number:,.0f}" if counted else f"{number:,.6g}"


def key_text(key: Any) -> str:
    """Return a value for display: escaped if it is not printable, quoted if it is blank."""
    text = printable(str(key))
    return text if text.strip() else f'"{text}"'


def _pairs() -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    return table
