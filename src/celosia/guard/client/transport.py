"""HTTP transport of the client: retries, timeouts, and errors of the guard as exceptions.

A request that may not have arrived is sent again, with the same idempotency key if it spends. A busy guard is retried
after the time that it names. Both are bounded. An error of the guard is raised as the exception that a session would
raise. The key is sent to the given address only: redirects are not followed, and without TLS only this machine is
allowed.
"""

import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from celosia.core import errors
from celosia.core.errors import CelosiaError, FormatError, GuardUnreachableError, NotAllowedError, ParameterError
from celosia.core.exact import exact_positive, safe_repr
from celosia.core.extras import require
from celosia.core.messages.message import Message
from celosia.core.strict_json import read_json
from celosia.query.serial.messages import message_from_json

if TYPE_CHECKING:
    import httpx

_TRIES: Final = 6
_FIRST_PAUSE_SECONDS: Final = 0.25
_MAX_PAUSE_SECONDS: Final = 30.0
_CONNECT_SECONDS: Final = 10.0
_READ_SECONDS: Final = 60.0
_OPEN_SECONDS: Final = 15.0
_MAX_DETAIL_LENGTH: Final = 2_000
_MAX_KEY_LENGTH: Final = 16_384
_NO_SUCH_ADDRESS: Final = "serving.no_such_address"
_BUSY_STATUSES: Final = (429, 503)
_PROXY_STATUSES: Final = (500, 502, 504)  # of a proxy, unless the guard sent problem details
_LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "::1")


class Transport:
    """HTTP access to one guard with a key. Threads may share it."""

    def __init__(
        self,
        url: str,
        *,
        key: str,
        timeout: float = 300.0,
        verify: bool | str = True,
        client: "httpx.Client | None" = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = _check_url(url, verify=verify)
        self._headers = {"Authorization": f"Bearer {_check_key(key)}", "Accept": "application/json"}
        self._timeout = float(exact_positive(timeout, name="timeout"))
        self._pause = pause
        self._client = _make_client(self._timeout, verify) if client is None else client

    def get(self, path: str, **parameters: str | int | None) -> Any:
        """Send GET; parameters that are None are omitted."""
        given = {name: str(value) for name, value in parameters.items() if value is not None}
        return self._send("GET", path, params=given)

    def open(self, path: str) -> Any:
        """Send the first GET; a server that does not answer soon, or not with JSON, is not a guard."""
        try:
            return self._send("GET", path, timeout_left=min(self._timeout, _OPEN_SECONDS), tries=2)
        except FormatError:
            raise GuardUnreachableError("guard.reply_not_from_guard", url=self.url) from None
        except CelosiaError as error:
            if error.code != _NO_SUCH_ADDRESS:
                raise
            raise GuardUnreachableError("guard.no_api_at_address", url=self.url) from None

    def post(self, path: str, body: Mapping[str, Any], *, key: str | None = None) -> Any:
        """Send POST; with a ``key`` retries are the same request."""
        return self._send("POST", path, json=dict(body), headers={} if key is None else {"Idempotency-Key": key})

    def delete(self, path: str) -> Any:
        """Send DELETE, which may be repeated."""
        return self._send("DELETE", path)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _send(
        self, method: str, path: str, *, timeout_left: float | None = None, tries: int = _TRIES, **content: Any
    ) -> Any:
        end, pause, failures = time.monotonic() + (timeout_left or self._timeout), _FIRST_PAUSE_SECONDS, 0
        while True:
            if timeout_left is not None:
                content["timeout"] = max(end - time.monotonic(), _FIRST_PAUSE_SECONDS)
            outcome = self._try(method, path, **content)
            if not isinstance(outcome, _Failure):
                return outcome
            wait = pause if outcome.wait is None else outcome.wait
            failures += outcome.counts
            if not outcome.again or failures >= tries or time.monotonic() + wait > end:
                raise outcome.error
            self._pause(wait)
            pause = min(2 * pause, _MAX_PAUSE_SECONDS)

    def _try(self, method: str, path: str, *, headers: Mapping[str, str] | None = None, **content: Any) -> Any:
        import httpx

        sent = {**self._headers, **(headers or {})}
        try:
            reply = self._client.request(method, f"{self.url}{path}", headers=sent, **content)
        except httpx.TransportError as error:
            return _unreachable(error, self.url)
        return _read_content(reply) if reply.status_code == 200 else _classify_reply(reply, self.url)


@dataclass(frozen=True, slots=True)
class _Failure:
    """An error to raise, whether to retry, after how many seconds, and whether it counts as a failure."""

    error: CelosiaError
    again: bool = True
    wait: float | None = None
    counts: bool = True


def _make_client(timeout_left: float, verify: bool | str) -> "httpx.Client":  # noqa: FBT001 - as httpx has it
    require("httpx", extra="guard")
    import httpx

    try:
        trusted = verify if isinstance(verify, bool) else ssl.create_default_context(cafile=str(verify))
    except OSError:
        raise ParameterError("guard.invalid_verify", verify=safe_repr(verify)) from None
    limits = httpx.Timeout(min(timeout_left, _READ_SECONDS), connect=min(timeout_left, _CONNECT_SECONDS))
    return httpx.Client(timeout=limits, verify=trusted, follow_redirects=False)


def _check_url(url: object, *, verify: bool | str) -> str:
    given = url if isinstance(url, str) else ""
    try:
        parts = urlsplit(given)
        _ = parts.port  # checked when read
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise ParameterError("guard.invalid_guard_address", url=safe_repr(url))
    if parts.scheme == "http" and verify is not False and parts.hostname not in _LOOPBACK_HOSTS:
        raise ParameterError("guard.address_not_https")
    return given.rstrip("/")


def _check_key(key: object) -> str:
    if isinstance(key, str) and 0 < len(key) <= _MAX_KEY_LENGTH and all("!" <= letter <= "~" for letter in key):
        return key
    raise ParameterError("guard.invalid_access_key")


def _read_content(reply: "httpx.Response") -> Any:
    return read_json(reply.content, name="core.the_reply")


def _unreachable(error: Exception, url: str) -> _Failure:
    """Classify a transport error by its causes."""
    import httpx

    secured = next((cause for cause in _causes(error) if isinstance(cause, ssl.SSLError)), None)
    if isinstance(secured, ssl.SSLCertVerificationError):
        problem = Message("guard.certificate_not_trusted", url=url, reason=secured.verify_message)
    elif secured is not None:
        problem = Message("guard.no_tls", url=url)
    elif any(isinstance(cause, socket.gaierror) for cause in _causes(error)):
        problem = Message("guard.unknown_machine", url=url)
    elif any(isinstance(cause, ConnectionRefusedError) for cause in _causes(error)):
        problem = Message("guard.nothing_listens", url=url)
    elif isinstance(error, httpx.TimeoutException):
        problem = Message("guard.no_answer_in_time", url=url)
    else:
        code = "guard.unreachable_over_http" if url.startswith("http://") else "guard.unreachable"
        problem = Message(code, url=url, reason=type(error).__name__)
    return _Failure(GuardUnreachableError(problem), again=secured is None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _classify_reply(reply: "httpx.Response", url: str) -> _Failure:
    """Classify a reply that is not 200."""
    status, wait = reply.status_code, _retry_after(reply)
    if status == 202:
        return _Failure(GuardUnreachableError("guard.still_answering", url=url), wait=wait, counts=False)
    problem = _read_problem(reply)
    if problem is not None and status == 401:
        return _Failure(NotAllowedError("guard.key_not_accepted", url=url), again=False)
    if problem is not None:
        return _Failure(_make_error(problem), again=status in _BUSY_STATUSES, wait=wait)
    code = "guard.not_a_guard_but_elsewhere" if 300 <= status < 400 else "guard.not_a_guard"
    kind = NotAllowedError if status in (401, 403) else GuardUnreachableError
    return _Failure(kind(code, url=url, status=status), again=status in (*_BUSY_STATUSES, *_PROXY_STATUSES), wait=wait)


def _read_problem(reply: "httpx.Response") -> dict[str, Any] | None:
    if not reply.headers.get("content-type", "").startswith("application/problem+json"):
        return None
    try:
        found = _read_content(reply)
    except FormatError:
        return None
    return found if isinstance(found, dict) else None


def _make_error(problem: Mapping[str, Any]) -> CelosiaError:
    name = problem.get("error")
    known = vars(errors).get(name) if isinstance(name, str) else None
    if not (isinstance(known, type) and issubclass(known, CelosiaError)):
        known = CelosiaError
    made: CelosiaError = known(_read_message(problem))
    return made


def _read_message(problem: Mapping[str, Any]) -> Message:
    """Return what a guard says, by its code; of a guard that sends no code, or an unknown one, the sentence."""
    detail = problem.get("detail")
    if not isinstance(detail, str):
        return Message("guard.refused_without_reason")
    text = detail[:_MAX_DETAIL_LENGTH]
    try:
        return message_from_json({"code": problem.get("code"), "fields": problem.get("fields"), "text": text})
    except FormatError:
        return Message(text)


def _retry_after(reply: "httpx.Response") -> float | None:
    given = reply.headers.get("retry-after", "")
    return min(float(given), _MAX_PAUSE_SECONDS) if given.isascii() and given.isdigit() and len(given) < 10 else None
