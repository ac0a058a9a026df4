"""The demonstration as one HTML page, to read, print and pass on.

The page stands alone: charts are pictures inside it, and its content policy forbids it to load or send anything or to
run a script, so that reading it reveals nothing. Every table and chart has a caption, every picture an alternative
text.
"""

import base64
import html
from collections.abc import Mapping
from typing import Final

from celosia.cli.costs import cost
from celosia.cli.demo.answers import Answer
from celosia.cli.demo.attack import Attack
from celosia.cli.demo.report_style import STYLE
from celosia.cli.demo.show import SYNTHETIC, WHAT, share_left
from celosia.cli.demo.story import Story

_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Private answers about {rows:,} synthetic deaths</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>Private answers about {rows:,} synthetic deaths</h1>
<p>{what}</p>
</header>
<main>
{sections}
</main>
</body>
</html>
"""

_NEIGHBOURS: Final = (
    "Two data sets that differ in one person, with 108 and 107 deaths, and how likely the Laplace mechanism is to "
    "release each number for the one and for the other. With ε = 1 the curves are narrow and lie apart by a step; with "
    "ε = 0.1 they are wide and nearly the same."
)
_LIMITS: Final = (
    "Intervals cover the noise only. They do not cover an incomplete register, and ages beyond the "
    "declared bounds would count as the bound."
)
_TWO_AVERAGES: Final = (
    "A database that answers averages only, but exactly, reveals a person by two of them: one over all rows, and "
    "one over all rows but hers."
)


def report(story: Story, pictures: Mapping[str, str]) -> str:
    """Return the page; ``pictures`` are the SVG texts of the charts, by name."""
    sections = [
        _section("The idea", _figure(pictures, "laplace-neighbours", _NEIGHBOURS)),
        _section("The answers", _answers(story), f"<p>{_text(SYNTHETIC)}</p>", *_answer_figures(story, pictures)),
        _section("The budget", *_budget(story)),
        _section("Two averages and one person", *_attack(story.attack, pictures)),
        _section("What the intervals do not cover", f"<p>{_text(_LIMITS)}</p>"),
    ]
    what = _text(WHAT.format(rows=story.rows))
    return _PAGE.format(rows=story.rows, style=STYLE, what=what, sections="\n".join(sections))


def _section(title: str, *parts: str) -> str:
    name = title.lower().replace(" ", "-")
    body = "\n".join(part for part in parts if part)
    return f'<section aria-labelledby="{name}">\n<h2 id="{name}">{_text(title)}</h2>\n{body}\n</section>'


def _figure(pictures: Mapping[str, str], name: str, words: str) -> str:
    """Return a chart as an image, with an alternative text; its names cannot clash with those of another."""
    if name not in pictures:
        return ""
    data = base64.b64encode(pictures[name].encode()).decode()
    image = f'<img src="data:image/svg+xml;base64,{data}" alt="{_text(words)}">'
    return f"<figure>{image}<figcaption>{_text(words)}</figcaption></figure>"


def _table(caption: str, head: list[str], groups: list[list[list[str]]]) -> str:
    """Return a table of HTML cells, in groups of rows; the first cell of a row names it.

    Cells that only the first row of a group has are for the whole group.
    """
    names = "".join(f'<th scope="col">{_text(name)}</th>' for name in head)
    bodies = "\n".join(
        f"<tbody>{''.join(map(_row, group, [len(group), *[1] * len(group)]))}</tbody>" for group in groups
    )
    table = f"<table><caption>{_text(caption)}</caption><thead><tr>{names}</tr></thead>\n{bodies}</table>"
    # Narrow screens scroll the table, not the page; the keyboard reaches it too.
    return f'<div class="wide" role="region" tabindex="0" aria-label="{_text(caption)}">{table}</div>'


def _row(cells: list[str], rows: int) -> str:
    numbers, notes = cells[1:4], cells[4:]
    whole = f' rowspan="{rows}"' if rows > 1 else ""
    return (
        f'<tr><th scope="row">{cells[0]}</th>'
        + "".join(f"<td>{cell}</td>" for cell in numbers)
        + "".join(f'<td class="note"{whole}>{cell}</td>' for cell in notes)
        + "</tr>"
    )


# ------------------------------------------------------------------------------------------------------------ answers


def _answers(story: Story) -> str:
    head = ["Question", "True", "Private", "95 % interval", "Cost", "How"]
    groups = [_answer(answer) for answer in (*story.answers, story.survey)]
    return _table("True and private answers side by side", head, groups)


def _answer(answer: Answer) -> list[list[str]]:
    """Return one row for each number; the cost and the mechanism stand once, beside all of them."""
    asked = f"<br>{_code(answer.asked)}" if answer.asked else ""
    rows = [
        [_text(question), _text(true), f"<strong>{_text(private)}</strong>", _text(interval)]
        for question, true, private, interval in answer.lines
    ]
    rows[0] += [_text(cost(answer.guarantee)), _text(answer.mechanism) + asked]
    return rows


def _answer_figures(story: Story, pictures: Mapping[str, str]) -> list[str]:
    figures = []
    for answer in story.answers:
        if answer.bars is not None:
            top = answer.bars.names[int(answer.bars.values.argmax())]
            words = (
                f"Deaths by violence in each decade of age, as bars with intervals. Most fall in the decade {top}; a "
                "decade without deaths can show a few, or fewer than 0: that is the noise."
            )
            figures.append(_figure(pictures, "age-histogram", words))
        if answer.ranks is not None:
            listed = "; ".join(
                f"{share} % did not outlive {age:g} (in truth {true:g})"
                for share, age, true in zip(answer.ranks.shares, answer.ranks.values, answer.ranks.true, strict=True)
            )
            figures.append(_figure(pictures, "age-quantiles", f"Quantiles of the age at death: {listed}."))
    return figures


# ------------------------------------------------------------------------------------------------------------- budget


def _budget(story: Story) -> list[str]:
    rows = []
    for answer in story.answers:
        share = share_left(story.budget, answer.left)
        left = cost(answer.left) if answer.left is not None else ""
        bar = f'<meter min="0" max="1" value="{share:.4f}">{share:.0%}</meter>'
        rows.append([[_text(answer.title), _text(cost(answer.guarantee)), f"{bar} {_text(left)}"]])
    question, refusal = story.refused
    shared = (
        f"All queries of the table share one budget of {cost(story.budget)}. Their costs add up, "
        "for all analysts together."
    )
    survey = (
        f"The survey by randomized response ({cost(story.survey.guarantee)}) is not part of it: every reply was "
        "randomized before it was collected, which is another kind of guarantee."
    )
    return [
        f"<p>{_text(shared)}</p>",
        _table("The remaining budget after each query", ["Question", "Spent", "Left"], rows),
        f'<p class="refused">One more query, {_code(question)}, is refused: {_text(refusal)}</p>',
        f"<p>{_text(survey)}</p>",
    ]


# ------------------------------------------------------------------------------------------------------------- attack


def _attack(attack: Attack, pictures: Mapping[str, str]) -> list[str]:
    plain = [
        [[_code(question), f"{value:.8f}"]] for question, value in zip(attack.questions, attack.plain, strict=True)
    ]
    tries = [
        [[str(number), f"{attempt.age:,.1f}", f"{attempt.age - attack.revealed:+,.1f}"]]
        for number, attempt in enumerate(attack.tries, start=1)
    ]
    sum_of_both = f"{attack.rows:,} × {attack.plain[0]:.8f} − {attack.rows - 1:,} × {attack.plain[1]:.8f}"
    figure = (
        f"The ages that the attacker works out in {len(attack.tries)} tries, with intervals, beside the true age of "
        f"{attack.revealed:g}. {attack.verdict}"
    )
    return [
        f"<p>{_text(_TWO_AVERAGES)}</p>",
        _table("The plain database", ["Question", "Answer"], plain),
        f"<p>{sum_of_both} = <strong>{attack.revealed:g}</strong>: the age of {_text(attack.victim)}.</p>",
        f"<p>A session answers the same two questions with noise, for {_text(cost(attack.cost))} a try.</p>",
        _table("The session", ["Try", "Age found", "Off by"], tries),
        f"<p>{_text(attack.verdict)}</p>",
        _figure(pictures, "attack", figure),
    ]


def _text(words: str) -> str:
    return html.escape(words).replace(" = ", "&nbsp;=&nbsp;")


def _code(words: str) -> str:
    return f"<code>{html.escape(words)}</code>"
