"""The demonstration as one HTML page, to read, print and pass on.

The page stands alone: charts are pictures inside it, and its content policy forbids it to load or send anything or to
run a script, so that reading it reveals nothing. Every table and chart has a caption, every picture an alternative
text.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from celosia.cli.costs import cost
from celosia.cli.demo.answers import Answer
from celosia.cli.demo.attack import Attack
from celosia.cli.demo.show import share_left, write_sum
from celosia.cli.demo.story import Story
from celosia.cli.language import current_language, say, translate, write_number
from celosia.core.html_page import (
    escape_text,
    write_code,
    write_figure,
    write_page,
    write_paragraph,
    write_section,
    write_table,
)
from celosia.core.messages.message import Message, join_messages, separate

_MARK: Final = "\N{OBJECT REPLACEMENT CHARACTER}"  # where a sentence has an element of the page


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
    title, lead = say("cli_demo.title", rows=story.rows), say("cli_demo.what", rows=story.rows)
    return write_page(title, lead, sections, language=current_language())


def _section(code: str, *parts: str) -> str:
    name = Message(code).lower().replace(" ", "-")  # the same address in every language
    return write_section(name, say(code), parts)


def _paragraph(code: str, /, **fields: object) -> str:
    return write_paragraph(say(code, **fields))


def _figure(pictures: Mapping[str, str], name: str, words: str) -> str:
    return write_figure(pictures[name], words) if name in pictures else ""


def _table(code: str, head: Sequence[str], groups: list[list[list[str]]]) -> str:
    """Return a table of HTML cells; caption and head are codes."""
    return write_table(say(code), [say(name) for name in head], groups)


# ------------------------------------------------------------------------------------------------------------ answers


def _answers(story: Story) -> str:
    head = ("cli_demo.question", "cli_demo.true", "cli_demo.private", "cli_demo.interval", "cli_demo.cost")
    groups = [_answer(answer) for answer in (*story.answers, story.survey)]
    return _table("cli_demo.side_by_side", (*head, "cli_demo.how"), groups)


def _answer(answer: Answer) -> list[list[str]]:
    """Return one row for each number; the cost and the mechanism stand once, beside all of them."""
    asked = f"<br>{write_code(answer.asked)}" if answer.asked else ""
    rows = [
        [escape_text(question), escape_text(true), f"<strong>{escape_text(private)}</strong>", escape_text(interval)]
        for question, true, private, interval in answer.lines
    ]
    rows[0] += [escape_text(cost(answer.guarantee)), escape_text(answer.mechanism) + asked]
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
        rows.append([[escape_text(answer.title), escape_text(cost(answer.guarantee)), f"{bar} {escape_text(left)}"]])
    question, refusal = story.refused
    refused = escape_text(say("cli_demo.query_refused", query=_MARK, reason=refusal)).replace(
        _MARK, write_code(question)
    )
    return [
        _paragraph("cli_demo.one_budget", budget=cost(story.budget)),
        _table("cli_demo.remaining_budget", ("cli_demo.question", "cli_demo.spent", "cli_demo.left"), rows),
        f'<p class="refused">{refused}</p>',
        _paragraph("cli_demo.survey_apart", cost=cost(story.survey.guarantee)),
    ]


# ------------------------------------------------------------------------------------------------------------- attack


def _attack(attack: Attack, pictures: Mapping[str, str]) -> list[str]:
    plain = [
        [[write_code(question), write_number(value, ".8f")]]
        for question, value in zip(attack.questions, attack.plain, strict=True)
    ]
    tries = [
        [[str(number), write_number(attempt.age, ",.1f"), write_number(attempt.age - attack.revealed, "+,.1f")]]
        for number, attempt in enumerate(attack.tries, start=1)
    ]
    age = f"<strong>{write_number(attack.revealed, 'g')}</strong>"
    sentence = escape_text(say("cli_demo.sum_is_her_age", sum=write_sum(attack), age=_MARK)).replace(
        "&nbsp;=&nbsp;", " = "
    )
    found = Message("cli_demo.ages_found", tries=len(attack.tries), age=attack.revealed)
    return [
        _paragraph("cli_demo.averages_reveal"),
        _table("cli_demo.plain_database", ("cli_demo.question", "cli_demo.answer"), plain),
        f"<p>{sentence.replace(_MARK, age)}</p>",
        _paragraph("cli_demo.session_answers", cost=cost(attack.cost)),
        _table("cli_demo.session", ("cli_demo.try", "cli_demo.age_found", "cli_demo.off_by"), tries),
        f"<p>{escape_text(translate(attack.verdict))}</p>",
        _figure(pictures, "attack", translate(join_messages([found, attack.verdict]))),
    ]
