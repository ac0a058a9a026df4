"""The socket: what cannot work is told at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from celosia.core.errors import ParameterError
from celosia.guard.config.settings import Config
from celosia.serving.listening import announce, listen

if TYPE_CHECKING:
    from pathlib import Path


def test_a_certificate_that_is_none_is_told_at_once(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.pem"
    nothing.write_text("nothing")
    config = Config(store="memory://", port=0, certificate=nothing, private_key=nothing)
    with pytest.raises(ParameterError, match="certificate"):
        listen(config)


def test_a_port_that_is_taken_is_told_at_once() -> None:
    with listen(Config(store="memory://", port=0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ParameterError, match=f"nothing can listen at 127.0.0.1:{port}"):
            listen(Config(store="memory://", port=port))


def test_the_address_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    config = Config(store="memory://", host="localhost", port=0)
    with listen(config) as listening:
        port = listening.getsockname()[1]
        for language, words in (("en", "Serving at"), ("es", "Servidor en")):
            announce(config, listening, language=language)
            told = capsys.readouterr()
            assert not told.out
            assert told.err in {f"{words} http://127.0.0.1:{port}\n", f"{words} http://[::1]:{port}\n"}
