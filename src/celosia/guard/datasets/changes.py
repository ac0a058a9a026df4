"""What a change of a data set means: which fields differ, and what it does to spending and to stored answers.

A data set keeps one budget through all its versions. A new source is a new version of the data: its number is in the
fingerprint of every query, so that no answer about the old rows is given for the new ones. The declarations are in the
fingerprint too, so that a new schema needs no new version.
"""

from typing import Any, Final, TypedDict

from celosia.core.messages.message import Message
from celosia.guard.datasets.dataset import Dataset
from celosia.serving.addresses import hide_secrets

_SHOWN: Final = ("title", "source", "relation", "schema", "version", "retired")
_LIMITS: Final = ("max_groups_per_person", "max_rows_per_group", "max_rows_per_person")


class Changes(TypedDict, total=False):
    """What an update replaces; None leaves a field as it is."""

    source: str | None
    table: str | None
    schema: str | None
    title: str | None
    retired: bool | None


def describe_change(before: Dataset, after: Dataset) -> dict[str, Any]:
    """Return the replaced fields as they were and as they are now, without passwords, and the notes on the change."""
    from celosia.query.serial.messages import message_to_json

    names = [name for name in _SHOWN if getattr(before, name) != getattr(after, name)]
    was, now = (
        {name: getattr(one, name) for name in names}
        | ({"source": hide_secrets(one.source)} if "source" in names else {})
        for one in (before, after)
    )
    return {"was": was, "now": now, "notes": [message_to_json(note) for note in explain_change(before, after)]}


def explain_change(before: Dataset, after: Dataset) -> tuple[Message, ...]:
    """Return what a change means for the spending so far, for stored answers and for the people."""
    notes = [Message("guard.spending_stays", name=after.name)]
    if after.version != before.version:
        notes.append(Message("guard.stored_answers_dropped", name=after.name, version=after.version))
        notes.append(Message("guard.old_and_new_people"))
    elif after.schema != before.schema:
        notes.append(Message("guard.answers_computed_again"))
    if after.schema != before.schema:
        old, new = before.schema_file, after.schema_file
        if any(getattr(old, name) != getattr(new, name) for name in _LIMITS):
            notes.append(Message("guard.person_limits_changed"))
    if after.retired != before.retired:
        notes.append(Message("guard.retirement_explained" if after.retired else "guard.restoring_explained"))
    return tuple(notes)
