"""Heads kept elsewhere, and signatures on them."""

import pathlib

import msgspec
import pytest

from signoff.domain.errors import ConfigError, ConfigUnreadable, LedgerEdited, LedgerMissing
from signoff.ledger.anchor import Head, head_of, keep, kept
from signoff.ledger.sign import sign, signed_with
from tests.ledger.books import RUN

HEAD = Head(count=3, head="ab" * 32, run_id=RUN, ts="2026-03-01T09:00:00+00:00")


@pytest.fixture(scope="module", params=["openssl", "ssh"])
def keys(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A private and a public key as people make them."""
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    directory = tmp_path_factory.mktemp("keys")
    private, public = directory / "key", directory / "key.pub"
    key = Ed25519PrivateKey.generate()
    pem = request.param == "openssl"
    shape = form.PrivateFormat.PKCS8 if pem else form.PrivateFormat.OpenSSH
    private.write_bytes(key.private_bytes(form.Encoding.PEM, shape, form.NoEncryption()))
    encoding, look = (
        (form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
        if pem
        else (form.Encoding.OpenSSH, form.PublicFormat.OpenSSH)
    )
    public.write_bytes(key.public_key().public_bytes(encoding, look))
    return str(private), str(public)


def test_heads_are_kept_in_order_and_found_by_run(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "heads")
    other = head_of("01900000-0000-7000-8000-00000000ffff", 9, "cd" * 32)
    later = msgspec.structs.replace(HEAD, count=5)
    for head in (HEAD, other, later):
        keep(path, head)
    assert kept(path, RUN) == [HEAD, later]
    assert kept(path, other.run_id) == [other]


def test_a_file_that_vouches_for_nothing_is_no_comfort(tmp_path: pathlib.Path) -> None:
    with pytest.raises(LedgerMissing):
        kept(str(tmp_path / "absent"), RUN)
    (tmp_path / "empty").touch()
    with pytest.raises(LedgerMissing):
        kept(str(tmp_path / "empty"), RUN)
    (tmp_path / "junk").write_text("{}\n")
    with pytest.raises(ConfigError, match="junk:1 is not a kept head"):
        kept(str(tmp_path / "junk"), RUN)
    with pytest.raises(ConfigUnreadable):
        kept(str(tmp_path), RUN)
    with pytest.raises(ConfigUnreadable):
        keep(str(tmp_path / "no" / "such"), HEAD)


def test_a_signature_holds_for_its_key_and_its_statement_only(keys: tuple[str, str], tmp_path: pathlib.Path) -> None:
    private, public = keys
    signed = sign(HEAD, private)
    assert signed_with([HEAD, signed], public) == signed_with([signed], private) == [signed]
    for changed in ({"count": 4}, {"head": "0" * 64}, {"ts": "2027-03-01T09:00:00+00:00"}, {"signature": "AAAA"}):
        with pytest.raises(LedgerEdited):
            signed_with([msgspec.structs.replace(signed, **changed)], public)
    with pytest.raises(LedgerMissing):
        signed_with([HEAD], public)


def test_two_people_may_vouch_for_one_run(keys: tuple[str, str], tmp_path: pathlib.Path) -> None:
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    second = tmp_path / "second"
    shape = (form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    second.write_bytes(Ed25519PrivateKey.generate().private_bytes(*shape))
    first, other = sign(HEAD, keys[0]), sign(HEAD, str(second))
    assert signed_with([first, other], keys[1]) == [first]
    assert signed_with([first, other], str(second)) == [other]
    with pytest.raises(LedgerEdited):
        signed_with([other], keys[1])
    posing = msgspec.structs.replace(other, public_key=first.public_key)
    with pytest.raises(LedgerEdited):
        signed_with([first, posing], keys[1])


@pytest.mark.parametrize(
    "content",
    [b"", b"junk", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"],
    ids=["empty", "junk", "bad pem"],
)
def test_a_key_that_is_none_is_refused_in_words(content: bytes, tmp_path: pathlib.Path) -> None:
    (tmp_path / "key").write_bytes(content)
    with pytest.raises(ConfigError, match="not a key in PEM or OpenSSH form"):
        sign(HEAD, str(tmp_path / "key"))
    with pytest.raises(ConfigUnreadable):
        sign(HEAD, str(tmp_path / "absent"))


def test_only_an_open_private_ed25519_key_signs(keys: tuple[str, str], tmp_path: pathlib.Path) -> None:
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    with pytest.raises(ConfigError, match="no Ed25519 private key"):
        sign(HEAD, keys[1])
    wrong = ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "ec").write_bytes(wrong.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()))
    with pytest.raises(ConfigError, match="not an Ed25519 key"):
        sign(HEAD, str(tmp_path / "ec"))
    locked = ed25519.Ed25519PrivateKey.generate()
    shut = form.BestAvailableEncryption(b"secret")
    (tmp_path / "locked").write_bytes(locked.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, shut))
    with pytest.raises(ConfigError, match="passphrase"):
        sign(HEAD, str(tmp_path / "locked"))
