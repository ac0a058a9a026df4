"""The demonstration as one HTML page, to read, print and pass on.

The page stands alone: charts are pictures inside it, and its content policy forbids it to load or send anything or to
run a script, so that reading it reveals nothing. Every table and chart has a caption, every picture an alternative
text.
"""

import base64
import html
from collections.abc import Mapping, Sequence
from typing import Final

from celosia.cli.costs import cost
from celosia.cli.demo.answers import Answer
from celosia.cli.demo.attack import Attack
from celosia.cli.demo.report_style import STYLE
from celosia.cli.demo.show import share_left, write_sum
from celosia.cli.demo.story import Story
from celosia.cli.language import current_language, say, translate, write_number
from celosia.core.messages.message import Message, join_messages, separate

_MARK: Final = "\N{OBJECT REPLACEMENT CHARACTER}"  # where a sentence has an element of the page
_PAGE: Final = """<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p>{what}</p>
</header>
<main>
{sections}
</main>
</body>
</html>
"""


def report(story: Story, pictures: Mapping[str, str]) -> str:
    """Return the page; ``pictures`` are the SVG texts of the charts, by name."""
    sections = [
        _section("cli_demo.the_idea", _figure(pictures, "laplace-neighbours", say("cli_demo.neighbours"))),
        _section(
            "cli_demo.the_answers",
            *(_answers(story), _paragraph("cli_demo.synthetic"), *_answer_figures(story, pictures)),
        ),
        _section("cli_demo.the_budget", *_budget(story)),
        _section("cli_demo.two_averages", *_attack(story.attack, pictures)),
        _section("cli_demo.not_covered", _paragraph("cli_demo.limits_of_intervals")),
    ]
    texts = {"title": say("cli_demo.title", rows=story.rows), "what": say("cli_demo.what", rows=story.rows)}
    escaped = {name: _text(text) for name, text in texts.items()}
    return _PAGE.format(**escaped, language=current_language(), style=STYLE, sections="\n".join(sections))


def _section(code: str, *parts: str) -> str:
    name = Message(code).lower().replace(" ", "-")  # the same address in every language
    body = "\n".join(part for part in parts if part)
    return f'<section aria-labelledby="{name}">\n<h2 id="{name}">{_text(say(code))}</h2>\n{body}\n</section>'


def _paragraph(code: str, /, **fields: object) -> str:
    return f"<p>{_text(say(code, **fields))}</p>"


def _figure(pictures: Mapping[str, str], name: str, words: str) -> str:
    """Return a chart as an image, with an alternative text; its names cannot clash with those of another."""
    if name not in pictures:
        return ""
    data = base64.b64encode(pictures[name].encode()).decode()
    image = f'<img src="data:image/svg+xml;base64,{data}" alt="{_text(words)}">'
    return f"<figure>{image}<figcaption>{_text(words)}</figcaption></figure>"


def _table(code: str, head: Sequence[str], groups: list[list[list[str]]]) -> str:
    """Return a table of HTML cells, in groups of rows; the first cell of a row names it. Caption and head are codes.

    Cells that only the first row of a group has are for the whole group.
    """
    names, caption = "".join(f'<th scope="col">{_text(say(name))}</th>' for name in head), _text(say(code))
    bodies = "\n".join(
        f"<tbody>{''.join(map(_row, group, [len(group), *[1] * len(group)]))}</tbody>" for group in groups
    )
    table = f"<table><caption>{caption}</caption><thead><tr>{names}</tr></thead>\n{bodies}</table>"
    # Narrow screens scroll the table, not the page; the keyboard reaches it too.
    return f'<div class="wide" role="region" tabindex="0" aria-label="{caption}">{table}</div>'


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
    head = ("cli_demo.question", "cli_demo.true", "cli_demo.private", "cli_demo.interval", "cli_demo.cost")
    groups = [_answer(answer) for answer in (*story.answers, story.survey)]
    return _table("cli_demo.side_by_side", (*head, "cli_demo.how"), groups)


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
            figures.append(_figure(pictures, "age-histogram", say("cli_demo.histogram", decade=top)))
        if answer.ranks is not None:
            listed = [
                Message("cli_demo.did_not_outlive", share=share, age=age, true=true)
                for share, age, true in zip(answer.ranks.shares, answer.ranks.values, answer.ranks.true, strict=True)
            ]
            words = say("cli_demo.quantiles_listed", quantiles=separate(listed, semicolon=True))
            figures.append(_figure(pictures, "age-quantiles", words))
    return figures


# ------------------------------------------------------------------------------------------------------------- budget


def _budget(story: Story) -> list[str]:
    rows = []
    for answer in story.answers:
        share = share_left(story.budget, answer.left)
        left = cost(answer.left) if answer.left is not None else ""
        bar = f'<meter min="0" max="1" value="{share:.4f}">{write_number(share, ".0%")}</meter>'
        rows.append([[_text(answer.title), _text(cost(answer.guarantee)), f"{bar} {_text(left)}"]])
    question, refusal = story.refused
    refused = _text(say("cli_demo.query_refused", query=_MARK, reason=refusal)).replace(_MARK, _code(question))
    return [
        _paragraph("cli_demo.one_budget", budget=cost(story.budget)),
        _table("cli_demo.remaining_budget", ("cli_demo.question", "cli_demo.spent", "cli_demo.left"), rows),
        f'<p class="refused">{refused}</p>',
        _paragraph("cli_demo.survey_apart", cost=cost(story.survey.guarantee)),
    ]


# ------------------------------------------------------------------------------------------------------------- attack


def _attack(attack: Attack, pictures: Mapping[str, str]) -> list[str]:
    plain = [
        [[_code(question), write_number(value, ".8f")]]
        for question, value in zip(attack.questions, attack.plain, strict=True)
    ]
    tries = [
        [[str(number), write_number(attempt.age, ",.1f"), write_number(attempt.age - attack.revealed, "+,.1f")]]
        for number, attempt in enumerate(attack.tries, start=1)
    ]
    age = f"<strong>{write_number(attack.revealed, 'g')}</strong>"
    sentence = _text(say("cli_demo.sum_is_her_age", sum=write_sum(attack), age=_MARK)).replace("&nbsp;=&nbsp;", " = ")
    found = Message("cli_demo.ages_found", tries=len(attack.tries), age=attack.revealed)
    return [
        _paragraph("cli_demo.averages_reveal"),
        _table("cli_demo.plain_database", ("cli_demo.question", "cli_demo.answer"), plain),
        f"<p>{sentence.replace(_MARK, age)}</p>",
        _paragraph("cli_demo.session_answers", cost=cost(attack.cost)),
        _table("cli_demo.session", ("cli_demo.try", "cli_demo.age_found", "cli_demo.off_by"), tries),
        f"<p>{_text(translate(attack.verdict))}</p>",
        _figure(pictures, "attack", translate(join_messages([found, attack.verdict]))),
    ]


def _text(words: str) -> str:
    return html.escape(words).replace(" = ", "&nbsp;=&nbsp;")


def _code(words: str) -> str:
    return f"<code>{html.escape(words)}</code>"
