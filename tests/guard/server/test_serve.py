"""The server as a whole: with TLS, and in one process where nothing forks."""

from __future__ import annotations

import datetime as dt
import os
import signal
import socket
import ssl
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from celosia.guard.server.serve import serve
from tests.reliability.serving import start_server

if TYPE_CHECKING:
    from pathlib import Path


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
