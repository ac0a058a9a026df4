"""What is written fits the shapes that the document declares, and numbers are exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import celosia as cl
from celosia.core import ZCDP, PureDP
from celosia.guard.api import replies, serializers
from celosia.guard.auth.identity import Identity
from celosia.guard.config.settings import Config
from celosia.guard.service import Guard
from celosia.ledger import Policy, Window
from tests.reliability.serving import DATASET, set_up

if TYPE_CHECKING:
    from pathlib import Path


def test_budgets_with_and_without_a_window() -> None:
    with cl.open_ledger("memory://") as ledger:
        ledger.set_budget(PureDP(epsilon=3), dataset="deaths")
        window = Window(seconds=60, limit=ZCDP(rho="0.1"))
        ledger.set_budget(Policy(limit=ZCDP(rho=1), window=window), analyst="ana")
        lines = [line.to_json() for line in ledger.statement()]
    read = replies.BudgetReply.model_validate({"lines": lines})
    by_analyst = {line.analyst: line for line in read.lines}
    assert by_analyst[None].window is None
    assert by_analyst[None].remaining["epsilon"] == "3"
    window_line = by_analyst["ana"].window
    assert window_line is not None
    assert window_line.limit["rho"] == "1/10"
    assert window_line.renews is not None


def test_cards_users_lines_and_verifications(tmp_path: Path) -> None:
    path, keys = set_up(tmp_path)
    local = Identity.local()
    with Guard.open(Config.read(path)) as guard:
        auditor = guard.authenticate(keys["auditor"])
        replies.DatasetReply.model_validate(guard.dataset(local, DATASET).to_json())
        users = replies.UsersReply.model_validate({"users": [serializers.user(card) for card in guard.users(local)]})
        lines = replies.LogReply.model_validate({"lines": [serializers.log_line(line) for line in guard.log(auditor)]})
        found = replies.VerificationReply.model_validate(serializers.verification(guard.verify(auditor)))
    assert {user.name for user in users.users} == {"owner", "curator", "analyst", "auditor"}
    assert [line.sequence for line in lines.lines] == list(range(1, len(lines.lines) + 1))
    assert found.head == f"{lines.lines[-1].sequence}:{lines.lines[-1].hash}"
