"""The client sends again what may be lost, waits when told, ends, and raises what a session would raise."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from celosia.core import errors
from celosia.core.errors import (
    BudgetExceededError,
    CelosiaError,
    EngineError,
    FormatError,
    GuardUnreachableError,
    LedgerError,
    NotAllowedError,
    ParameterError,
    QueryError,
    TooManyRequestsError,
)
from celosia.core.messages.message import Message
from celosia.guard.client.transport import Transport
from celosia.query.serial.messages import message_to_json

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = "celosia_0123456789ab_0123"


class Far:
    """A guard that replies what it was told to, one after another, and remembers what it was sent."""

    def __init__(self, *replies: httpx.Response | Exception) -> None:
        self.replies, self.sent, self.pauses = list(replies), [], []  # type: ignore[var-annotated]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        return httpx.Response(reply.status_code, headers=reply.headers, content=reply.content)

    def transport(self, **options: Any) -> Transport:
        client = httpx.Client(transport=httpx.MockTransport(self))
        return Transport("https://guard.example/", key=KEY, client=client, pause=self.pauses.append, **options)


def ok(body: object = None) -> httpx.Response:
    return httpx.Response(200, json={} if body is None else body)


def problem(status: int, error: str, detail: object = "Because.", **headers: str) -> httpx.Response:
    body = json.dumps({"status": status, "detail": detail, "error": error})
    return httpx.Response(status, content=body, headers={"content-type": "application/problem+json", **headers})


def test_what_is_sent_carries_the_key_and_is_read_strictly() -> None:
    far = Far(ok({"answer": 1}))
    assert far.transport().post("/v1/queries", {"dataset": "deaths"}, key="k1") == {"answer": 1}
    [request] = far.sent
    assert str(request.url) == "https://guard.example/v1/queries"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["idempotency-key"] == "k1"
    assert json.loads(request.content) == {"dataset": "deaths"}
    far = Far(ok())
    far.transport().get("/v1/budget", dataset="a b&c", analyst=None)
    assert far.sent[0].url.query == b"dataset=a%20b%26c" or far.sent[0].url.query == b"dataset=a+b%26c"
    assert "idempotency-key" not in far.sent[0].headers
    for wrong in (b"", b"NaN", b'{"a": 1, "a": 2}', b"<html>"):
        with pytest.raises(FormatError):
            Far(httpx.Response(200, content=wrong)).transport().get("/v1/datasets")


@pytest.mark.parametrize(
    "failure",
    [
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("slow"),
        httpx.RemoteProtocolError("cut off"),
        httpx.ReadError("reset"),
        problem(429, "TooManyRequestsError"),
        problem(503, "LedgerError"),
        httpx.Response(502, text="a proxy's page"),
        httpx.Response(503, text="a proxy's page"),
        httpx.Response(504),
        httpx.Response(500),
    ],
)
def test_what_may_pass_is_asked_again_with_the_same_key(failure: httpx.Response | Exception) -> None:
    far = Far(failure, failure, failure, ok({"answer": 1}))
    assert far.transport().post("/v1/queries", {}, key="k1") == {"answer": 1}
    assert [request.headers["idempotency-key"] for request in far.sent] == ["k1"] * 4
    assert far.pauses == [0.25, 0.5, 1.0]


def test_asking_again_has_an_end() -> None:
    cases: list[tuple[httpx.Response | Exception, type[CelosiaError]]] = [
        (httpx.ConnectError("refused"), GuardUnreachableError),
        (problem(429, "TooManyRequestsError"), TooManyRequestsError),
        (problem(503, "LedgerError"), LedgerError),
        (httpx.Response(502), GuardUnreachableError),
    ]
    for failure, error in cases:
        far = Far(failure)
        with pytest.raises(error) as caught:
            far.transport().get("/v1/datasets")
        assert len(far.sent) == 6
        assert KEY not in str(caught.value)
        assert caught.value.__cause__ is None


def test_a_name_that_nobody_has_is_told() -> None:
    unknown = httpx.ConnectError("")
    unknown.__cause__ = socket.gaierror(-2, "")
    with pytest.raises(GuardUnreachableError, match="no machine of the name in https://guard"):
        Far(unknown).transport().open("/v1/datasets")


def test_a_guard_says_when_to_come_back() -> None:
    far = Far(problem(429, "TooManyRequestsError", **{"retry-after": "7"}), ok())
    far.transport().get("/v1/datasets")
    assert far.pauses == [7.0]
    for odd in ("Wed, 21 Oct 2026 07:28:00 GMT", "-1", "1e9", "²", ""):
        far = Far(problem(503, "LedgerError", **{"retry-after": odd} if odd.isascii() else {}), ok())
        far.transport().get("/v1/datasets")
        assert far.pauses == [0.25]
    far = Far(problem(429, "TooManyRequestsError", **{"retry-after": "999999"}), ok())
    far.transport(timeout=1_000).get("/v1/datasets")
    assert far.pauses == [30.0]
    far = Far(problem(429, "TooManyRequestsError", **{"retry-after": "20"}), ok())
    with pytest.raises(TooManyRequestsError):
        far.transport(timeout=10).get("/v1/datasets")
    assert far.pauses == []


def test_a_question_that_is_being_answered_is_waited_for() -> None:
    waiting = httpx.Response(202, json={"id": "0f"}, headers={"retry-after": "1"})
    far = Far(*[waiting] * 20, ok({"answer": 1}))
    assert far.transport().post("/v1/queries", {}, key="k1") == {"answer": 1}
    assert far.pauses == [1.0] * 20
    with pytest.raises(GuardUnreachableError, match="still answering"):
        Far(waiting).transport(timeout=0.5).post("/v1/queries", {}, key="k1")


def test_every_error_of_the_house_comes_back_as_itself() -> None:
    cases: list[str] = [
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.CelosiaError)
    ]
    for name in cases:
        with pytest.raises(getattr(errors, name), match="Because"):
            Far(problem(422, name)).transport().get("/v1/datasets")


def test_no_other_class_is_ever_raised() -> None:
    cases: list[Any] = [
        "KeyboardInterrupt",
        "TuningWarning",
        "SystemExit",
        "os",
        "__all__",
        "__name__",
        "",
        None,
        7,
        ["x"],
    ]
    for name in cases:
        with pytest.raises(CelosiaError) as caught:
            Far(problem(400, name)).transport().get("/v1/datasets")
        assert type(caught.value) is CelosiaError


def test_an_error_has_the_code_and_the_fields_that_the_guard_sends() -> None:
    told = Message("guard.no_dataset", name="'zz'")
    written = message_to_json(told)
    body = {"status": 404, "error": "QueryError", "detail": written["text"]}
    for more, code in (
        ({"code": told.code, "fields": written["fields"]}, told.code),
        ({"code": told.code, "fields": {"other": 1}}, str(told)),  # the sentence, where the fields do not fit
        ({"code": "guard.of_a_newer_release", "fields": {}}, str(told)),
        ({}, str(told)),
    ):
        reply = httpx.Response(404, json=body | more, headers={"content-type": "application/problem+json"})
        with pytest.raises(QueryError) as refused:
            Far(reply).transport().get("/v1/datasets/zz")
        assert refused.value.code == code
        assert str(refused.value) == told
        spanish = refused.value.message.render("es")
        assert spanish == (told.render("es") if code == told.code else told)


def test_what_is_refused_is_not_asked_again() -> None:
    for refused, error in [
        (problem(403, "BudgetExceededError"), BudgetExceededError),
        (problem(401, "NotAllowedError"), NotAllowedError),
        (problem(502, "EngineError"), EngineError),
        (httpx.Response(401), NotAllowedError),
        (httpx.Response(404, text="nothing"), GuardUnreachableError),
        (httpx.Response(301, headers={"location": "https://elsewhere.example"}), GuardUnreachableError),
        (
            httpx.Response(422, content=b"{", headers={"content-type": "application/problem+json"}),
            GuardUnreachableError,
        ),
        (
            httpx.Response(422, content=b"[]", headers={"content-type": "application/problem+json"}),
            GuardUnreachableError,
        ),
    ]:
        far = Far(refused)
        with pytest.raises(error):
            far.transport().post("/v1/queries", {}, key="k1")
        assert len(far.sent) == 1
        assert far.sent[0].url.host == "guard.example"


def test_words_of_a_guard_are_cut_where_they_are_too_long() -> None:
    with pytest.raises(BudgetExceededError) as caught:
        Far(problem(403, "BudgetExceededError", "x" * 10**6)).transport().get("/v1/datasets")
    assert len(str(caught.value)) == 2_000
    with pytest.raises(BudgetExceededError, match="did not say why"):
        Far(problem(403, "BudgetExceededError", None)).transport().get("/v1/datasets")


def test_addresses_that_the_key_is_not_sent_to() -> None:
    cases: list[Any] = [
        "",
        None,
        7,
        "guard.example",
        "ftp://guard.example",
        "https://",
        "https://ana:secret@guard.example",
        "https://guard.example?key=1",
        "https://guard.example:99999",
        "https://guard.example#x",
        "http://guard.example",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com",
    ]
    for url in cases:
        with pytest.raises(ParameterError, match="url must"):
            Transport(url, key=KEY)


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("http://localhost:8750", {}),
        ("http://127.0.0.1", {}),
        ("http://[::1]:1", {}),
        ("http://guard", {"verify": False}),
    ],
)
def test_addresses_at_home_need_no_certificate(url: str, options: dict[str, Any]) -> None:
    transport = Transport(url, key=KEY, **options)
    assert transport.url == url
    transport.close()


def test_keys_that_are_none() -> None:
    cases: list[Any] = ["", None, 7, "a b", "a\nb", "ключ", "x" * 20_000]
    for key in cases:
        with pytest.raises(ParameterError, match="key must be") as caught:
            Transport("https://guard.example", key=key)
        assert len(str(caught.value)) < 200


def test_a_patience_is_a_positive_number() -> None:
    for wrong in (0, -1, float("nan"), "soon"):
        with pytest.raises(ParameterError, match="timeout"):
            Transport("https://guard.example", key=KEY, timeout=wrong)  # type: ignore[arg-type]


def test_a_certificate_that_is_not_there_is_told(tmp_path: Any) -> None:
    with pytest.raises(ParameterError, match="verify"):
        Transport("https://guard.example", key=KEY, verify=str(tmp_path / "nothing.pem"))


def _never(_: float) -> None:
    pytest.fail("it must not wait")


def test_nothing_waits_where_nothing_failed() -> None:
    pause: Callable[[float], None] = _never
    client = httpx.Client(transport=httpx.MockTransport(lambda _: ok()))
    Transport("https://guard.example", key=KEY, client=client, pause=pause).get("/v1/health")
