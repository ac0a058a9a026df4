"""Certificates and keys: whom they name, who can read them, and that nothing that is there is replaced."""

from __future__ import annotations

import datetime as dt
import ssl
import stat
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_ssh_private_key, load_ssh_public_key

from celosia.federated.network.certificates import AUTHORITY, SERVER, find_key, write_certificates

if TYPE_CHECKING:
    from pathlib import Path


def test_the_server_is_certified_for_its_hosts_and_parties_have_keys(tmp_path: Path) -> None:
    written = write_certificates(tmp_path, 3, ["fed.example.org", "127.0.0.1", "::1"])
    assert set(tmp_path.iterdir()) == set(written)
    assert {stat.S_IMODE(path.stat().st_mode) for path in written} == {0o600}
    root, leaf = (x509.load_pem_x509_certificate((tmp_path / name).read_bytes()) for name in (AUTHORITY, SERVER[0]))
    leaf.verify_directly_issued_by(root)
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["fed.example.org"]
    assert [str(one) for one in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]
    assert root.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert not leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert leaf.not_valid_before_utc < dt.datetime.now(dt.UTC) < leaf.not_valid_after_utc
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / SERVER[0], tmp_path / SERVER[1])
    publics = []
    for place in range(3):
        private = load_ssh_private_key(find_key(tmp_path, place).read_bytes(), None)
        public = load_ssh_public_key(find_key(tmp_path, place).with_suffix(".pub").read_bytes())
        assert isinstance(private, ec.EllipticCurvePrivateKey)
        assert isinstance(public, ec.EllipticCurvePublicKey)
        assert private.public_key() == public
        publics.append(public.public_numbers().x)
    assert len(set(publics)) == 3


def test_a_server_is_certified_for_its_own_commands_too(tmp_path: Path) -> None:
    write_certificates(tmp_path, 1, ["fed.example.org"])
    leaf = x509.load_pem_x509_certificate((tmp_path / SERVER[0]).read_bytes())
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(one) for one in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]


def test_what_is_there_stays(tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in write_certificates(tmp_path, 2, ["localhost"])}
    with pytest.raises(FileExistsError):
        write_certificates(tmp_path, 2, ["localhost"])
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
