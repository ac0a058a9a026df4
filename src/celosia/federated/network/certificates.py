"""The certificates and keys of a federation: who the server is, and who each party is.

One authority signs the server's certificate, and its key is never stored: nothing can be signed later. Each party has a
key pair of its own (ECDSA on P-384, as Flower's nodes need). The server knows parties by their public keys. These keys
keep names and transport honest; the guarantee does not rest on them.
"""

import datetime as dt
import ipaddress
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from celosia.noise.source import SYSTEM

if TYPE_CHECKING:
    from cryptography.x509 import GeneralName

AUTHORITY: Final = "authority.pem"
"""The certificate that parties check the server by."""

SERVER: Final = ("server.pem", "server.key")
"""The certificate and the key of the server."""

_DAYS: Final = 365
_ORDER: Final = int(  # of the group of P-384: FIPS 186-4, appendix D.1.2.4
    "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973", 16
)
_SKEW: Final = dt.timedelta(hours=1)  # clocks of two machines differ


def find_key(folder: Path, place: int) -> Path:
    """Return the file of a party's private key, by its place among the parties; beside it is the public one, .pub."""
    return folder / f"party-{place + 1}.key"


def write_certificates(folder: Path, parties: int, hosts: Sequence[str]) -> list[Path]:
    """Write the authority's and the server's certificate, and a key pair for each party; files that exist stay.

    ``hosts`` are the names and addresses by which parties reach the server; its own commands reach it by the loopback.
    """
    hosts = list(dict.fromkeys([*hosts, "127.0.0.1"]))
    authority, server = _make_key(), _make_key()
    root = _certify("celosia federation", authority, None, authority, [])
    leaf = _certify("celosia federation server", server, root, authority, [_name_host(host) for host in hosts])
    files = [
        (folder / AUTHORITY, root.public_bytes(Encoding.PEM)),
        (folder / SERVER[0], leaf.public_bytes(Encoding.PEM)),
    ]
    files.append((folder / SERVER[1], server.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())))
    for place in range(parties):
        key, file = _make_key(), find_key(folder, place)
        files.append((file, key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())))
        public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        files.append((file.with_suffix(".pub"), public + b"\n"))
    for path, content in files:
        _write(path, content)
    return [path for path, _ in files]


def _make_key() -> ec.EllipticCurvePrivateKey:
    """Return a new key, of bytes of the system's source: 128 bits more than the order has, so that none is likelier."""
    drawn = int.from_bytes(SYSTEM.words(8).tobytes(), "little")
    return ec.derive_private_key(1 + drawn % (_ORDER - 1), ec.SECP384R1())


def _certify(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
    signer: ec.EllipticCurvePrivateKey,
    hosts: "Sequence[GeneralName]",
) -> x509.Certificate:
    now, subject = dt.datetime.now(dt.UTC), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    found = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(1 + int.from_bytes(SYSTEM.words(2).tobytes(), "little"))
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + dt.timedelta(days=_DAYS))
        .add_extension(
            x509.BasicConstraints(ca=issuer is None, path_length=0 if issuer is None else None), critical=True
        )
    )
    if issuer is not None:
        server = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        found = found.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        found = found.add_extension(server, critical=False)
    return found.sign(signer, hashes.SHA384())


def _name_host(host: str) -> "GeneralName":
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _write(path: Path, content: bytes) -> None:
    """Write a new file that only its owner can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
