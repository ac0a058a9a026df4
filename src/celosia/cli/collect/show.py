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

from celosia.cli.language import say, translate, write_number
from celosia.cli.terminal import has_width, print_line, print_whole, printable
from celosia.core.exact import format_exact
from celosia.core.messages.message import Message, Numeral

if TYPE_CHECKING:
    from celosia.local.base.protocol import Protocol
    from celosia.local.metrics import Metrics
    from celosia.local.simulation import Simulation

_BAR = 24
_BARS_FROM = 72  # columns of a terminal
_MAX_NUMBER_LENGTH = 20


def print_run(run: "Simulation", *, top: int) -> None:
    """Print the largest numbers of one simulation, true and estimated, and the errors of all of them."""
    console = Console(highlight=False)
    order = largest(run)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    table.add_column(say("cli_collect.value"), min_width=10)
    interval = say("cli_collect.interval", level=100 * run.level)
    for title in (say("cli_collect.true"), say("cli_collect.estimated"), interval):
        table.add_column(title, justify="right", no_wrap=True)
    counted = run.metrics is not None
    drawn = counted and console.width >= _BARS_FROM
    table.add_column(say("cli_collect.bar_marks") if drawn else "", no_wrap=True)
    most = max(1.0, float(np.max(run.estimated)), float(np.max(run.true)))
    for i in order[:top]:
        true, estimated, low, high = (float(side[i]) for side in (run.true, run.estimated, run.low, run.high))
        bar = _bar(estimated / most, true / most) if drawn else ""
        span = (
            say("cli_collect.missed")
            if i >= run.found
            else f"{_number(low, counted=counted)} – {_number(high, counted=counted)}"
        )
        cells = (
            key_text(run.keys[i]),
            *(_number(x, counted=counted) for x in (true, estimated)),
            span,
            bar,
        )
        table.add_row(*map(Text, cells))
    print_whole(table)
    if len(order) > top:
        console.print(Text(say("cli_collect.and_more", number=len(order) - top), "dim"))
    for quantile in run.quantiles:
        ends = {"low": str(quantile.low), "high": str(quantile.high), "level": 100 * run.level}
        found = {"estimated": str(quantile.estimated), "true": str(quantile.true), "share": 100 * quantile.share}
        print_line(Message("cli_collect.quantile", **found, **ends))
    if run.statement:
        print_sentence(console, run.statement)
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
    groups.add_column(say("cli_collect.by_frequency"))
    for code in ("cli_collect.values", "cli_collect.mean_count", "cli_collect.mean_error", "cli_collect.relative"):
        groups.add_column(say(code), justify="right")
    for group in run.metrics.groups:
        share = "–" if group.relative_error is None else f"{write_number(100 * group.relative_error, ',.1f')} %"
        last = say("cli_collect.least_frequent") if group is run.metrics.groups[-1] else ""
        name = say("cli_collect.most_frequent") if group.rank == 1 else last
        means = (write_number(number, ",.1f") for number in (group.mean_count, group.mean_error))
        groups.add_row(f"{group.rank:>2} {name}", write_number(group.keys), *means, share)
    print_whole(groups)


def _list_metrics(run: "Simulation") -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    if run.metrics is not None:
        found = run.metrics
        rows = [
            (say("cli_collect.total_error"), _format_total(found)),
            (
                say("cli_collect.mean_error"),
                say("cli_collect.of_people", error=found.mean_error, share=found.percent_error),
            ),
            (say("cli_collect.largest_error"), write_number(found.largest_error, ",.1f")),
            ("MSE", say("cli_collect.mse", mse=found.mse, share=_share(found.normalized_mse))),
            ("RMSE", _format_rmse(run, found.rmse)),
            (say("cli_collect.rmse_by_range"), _share(found.normalized_rmse)),
            (say("cli_collect.root_of_mse_by_range"), _share(found.root_normalized_mse)),
            ("Pearson", "–" if found.pearson is None else write_number(found.pearson, ".4f")),
            (say("cli_collect.intervals"), _format_coverage(run)),
        ]
        if run.task == "words":
            false = int((run.true[: run.found] == 0).sum())
            counts = {"found": run.found, "absent": false, "missed": len(run.keys) - run.found}
            rows.append((say("cli_collect.found"), say("cli_collect.found_values", **counts)))
    else:
        rows = [(say("cli_collect.error"), _format_error(run))]
    people = max(run.reports, 1)
    times = ((code, spent, _time(spent / people)) for code, spent in _list_durations(run)[:2])
    return [
        *rows,
        (say("cli_collect.report"), bytes_text(run)),
        *((say(code), say("cli_collect.time_a_report", time=_time(spent), each=each)) for code, spent, each in times),
        (say("cli_collect.estimate"), _time(run.seconds.estimate)),
    ]


def _list_durations(run: "Simulation") -> list[tuple[str, float]]:
    seconds = run.seconds
    codes = ("cli_collect.clients", "cli_collect.update", "cli_collect.estimate")
    return list(zip(codes, (seconds.client, seconds.update, seconds.estimate), strict=True))


def _format_total(found: "Metrics") -> str:
    if found.keys == 1:
        return say("cli_collect.over_one_value", error=found.total_error)
    return say("cli_collect.over_values", error=found.total_error, values=found.keys)


def _format_rmse(run: "Simulation", rmse: float) -> str:
    if run.expected_rmse is None:
        return write_number(rmse, ",.2f")
    return say("cli_collect.rmse_expected", rmse=rmse, expected=run.expected_rmse)


def _format_error(run: "Simulation") -> str:
    error = float(run.estimated[0] - run.true[0]) + 0.0
    if run.expected_rmse is None:
        return write_number(error, ",.6g")
    return say("cli_collect.error_expected", error=error, expected=run.expected_rmse)


def print_sweep(runs: "Sequence[Simulation]") -> None:
    """Print one column for each epsilon, in several tables if the terminal is narrow."""
    console = Console(highlight=False)
    columns = [_counts_cells(run) if run.metrics is not None else _number_cells(run) for run in runs]
    widest = max(len(cell) for column in columns for cell in column.values())
    side = max(1, (console.width - max(map(len, columns[0]))) // (widest + 3)) if has_width(console) else len(runs)
    for begin in range(0, len(runs), side):
        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
        table.add_column(say("cli_collect.epsilon"), no_wrap=True)
        for run in runs[begin : begin + side]:
            table.add_column(translate(epsilon_text(run)), justify="right", no_wrap=True)
        for name in columns[0]:
            table.add_row(name, *(column[name] for column in columns[begin : begin + side]))
        if begin:
            console.print()
        print_whole(table)


def _counts_cells(run: "Simulation") -> dict[str, str]:
    found = run.metrics
    assert found is not None  # noqa: S101 - of counts
    return {
        say("cli_collect.total_error"): write_number(found.total_error, ",.0f"),
        say("cli_collect.mean_error"): write_number(found.mean_error, ",.1f"),
        say("cli_collect.in_percent_of_people"): write_number(found.percent_error, ".3g"),
        "MSE": write_number(found.mse, ",.0f"),
        "RMSE": write_number(found.rmse, ",.1f"),
        say("cli_collect.expected"): "–" if run.expected_rmse is None else write_number(run.expected_rmse, ",.1f"),
        say("cli_collect.rmse_by_range"): _share(found.normalized_rmse),
        say("cli_collect.root_of_mse_by_range"): _share(found.root_normalized_mse),
        "Pearson": "–" if found.pearson is None else write_number(found.pearson, ".4f"),
        say("cli_collect.intervals_hold"): f"{write_number(100 * run.coverage, '.1f')} %" if run.found else "–",
        **_times(run),
    }


def _number_cells(run: "Simulation") -> dict[str, str]:
    return {
        say("cli_collect.true"): write_number(run.true[0], ",.6g"),
        say("cli_collect.estimated"): write_number(run.estimated[0], ",.6g"),
        say("cli_collect.interval_from"): write_number(run.low[0], ",.6g"),
        say("cli_collect.interval_to"): write_number(run.high[0], ",.6g"),
        say("cli_collect.standard_error"): _share(run.expected_rmse),
        **_times(run),
    }


def _times(run: "Simulation") -> dict[str, str]:
    times = {say(code): _time(seconds) for code, seconds in _list_durations(run)}
    return {**times, say("cli_collect.bytes_a_report"): write_number(run.protocol.bytes_per_report)}


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


def print_sentence(console: Console, text: str, style: str = "") -> None:
    """Print a sentence: wrapped at words on a terminal, in one line to a file."""
    console.print(Text(printable(translate(text)), style), soft_wrap=not console.is_terminal)


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
        return say("cli_collect.parameter_values", name=name, number=len(value))
    if name == "alphabet":
        return say("cli_collect.parameter_letters", name=name, number=len(value))
    return f"{name}={value}" if len(str(value)) <= _MAX_NUMBER_LENGTH else f"{name}≈{float(Fraction(value)):.5g}"


def epsilon_text(run: "Simulation") -> Numeral:
    """Return the epsilon of a report, exact if that is short."""
    exact = format_exact(run.protocol.guarantee.epsilon).strip("'")
    return Numeral(exact if len(exact) <= 8 else f"{float(run.protocol.guarantee.epsilon):.4g}")


def bytes_text(run: "Simulation") -> str:
    """Return the size of a report in words."""
    size = run.protocol.bytes_per_report
    return say("cli_collect.one_byte") if size == 1 else say("cli_collect.some_bytes", number=size)


def count_reports(number: int) -> Message:
    """Return a number of reports in words."""
    return Message("cli_collect.one_report") if number == 1 else Message("cli_collect.some_reports", number=number)


def _bar(estimated: float, true: float) -> str:
    """Return a bar with a mark where the true value is."""
    filled = min(_BAR, max(0, round(_BAR * estimated)))
    cells = ["█"] * filled + [" "] * (_BAR + 1 - filled)
    cells[min(_BAR, max(0, round(_BAR * true)))] = "│"
    return "".join(cells).rstrip()


def _format_coverage(run: "Simulation") -> str:
    if not run.found:
        return "–"
    code = "cli_collect.found_intervals_contain" if run.task == "words" else "cli_collect.intervals_contain"
    return say(code, share=100 * run.coverage)


def _time(seconds: float) -> str:
    """Return a duration in a unit that fits it."""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{brief(seconds / unit)} {name}"
    return f"{brief(1e9 * seconds)} ns"


def brief(number: float) -> str:
    """Return three digits, or all of a number above a thousand."""
    return write_number(number, ".3g" if abs(number) < 999.5 or abs(number) >= 1e9 else ",.0f")


def _share(number: float | None) -> str:
    return "–" if number is None else write_number(number, ",.4g")


def _number(number: float, *, counted: bool) -> str:
    return write_number(number, ",.0f" if counted else ",.6g")


def key_text(key: Any) -> str:
    """Return a value for display: escaped if it is not printable, quoted if it is blank."""
    text = printable(translate(key) if isinstance(key, str) else str(key))
    return text if text.strip() else f'"{text}"'


def _pairs() -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    return table
