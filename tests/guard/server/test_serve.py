"""The server as a whole: with TLS, in one process where nothing forks, and what it loads before it serves."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from celosia.guard.config.settings import Config
from celosia.guard.datasets.dataset import Dataset
from celosia.guard.datasets.places import find_places
from celosia.guard.server.serve import _choose_libraries, serve
from tests.reliability.serving import question, set_up, start_server

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return paths


def test_it_speaks_tls(tmp_path: Path) -> None:
    chain, key = certificate(tmp_path)
    with start_server(tmp_path, workers=1, certificate=chain, private_key=key) as served:
        assert served.url.startswith("https://")
        port = int(served.url.rpartition(":")[2])
        context = ssl.create_default_context(cafile=chain)
        with (
            socket.create_connection(("127.0.0.1", port), timeout=600) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as secure,
        ):
            secure.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            reply = b"".join(iter(lambda: secure.recv(4096), b""))
        assert reply.startswith(b"HTTP/1.1 200 ")
        assert b"strict-transport-security" in reply.lower()


def serve_without_fork(path: Path) -> None:
    del os.fork
    serve(path)


def test_where_nothing_forks_one_process_serves(tmp_path: Path) -> None:
    with start_server(tmp_path, serve=serve_without_fork, workers=2) as served:
        assert served.workers() == []
        assert served.client().send("GET", "/v1/datasets").status == 200
        served.process.send_signal(signal.SIGTERM)
        served.process.wait(600)
        assert served.errors.read_text() == f"Serving at {served.url}\n"


FIRST_QUERY = """
import json, sys
from celosia.guard.config.settings import Config
from celosia.guard.schema.requests import QueryRequest
from celosia.guard.server.app import create_app
from celosia.guard.server.serve import _choose_libraries, _preload_libraries
from celosia.guard.service import Guard
config = Config.read(sys.argv[1])
with _preload_libraries(_choose_libraries(config)), Guard.open(config, create=False) as guard:
    guard.open_datasets()
    create_app(guard)
    before = set(sys.modules)
    answer = guard.ask(guard.authenticate(sys.argv[3]), QueryRequest(**json.loads(sys.argv[2])), "first")
    assert answer.state == "committed"
    print(json.dumps([sorted(before), sorted(set(sys.modules) - before)]))
"""


def test_a_query_loads_no_library_that_the_server_has_not(tmp_path: Path) -> None:
    path, keys = set_up(tmp_path)
    command = [sys.executable, "-c", FIRST_QUERY, str(path), json.dumps(question(1)), keys["analyst"]]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    before, added = json.loads(printed)
    assert not {name.partition(".")[0] for name in added} - {"celosia", "encodings"}
    assert not {"pandas", "psycopg", "ibis.backends.sql.compilers.bigquery"} & set(before)


def test_a_data_set_in_a_database_has_its_driver_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = Config.read(set_up(tmp_path)[0])
    assert "psycopg" not in _choose_libraries(config)
    monkeypatch.setattr(Dataset, "places", lambda _: find_places("postgresql://127.0.0.1:1/nowhere", "people"))
    assert "psycopg" in _choose_libraries(config)
