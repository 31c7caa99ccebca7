"""Who vouches for a head: Ed25519 signatures. Needs the `cryptography` package, so it is imported only when asked for.

Keys are files in PEM (`openssl genpkey -algorithm ed25519`) or OpenSSH form (`ssh-keygen -t ed25519`), kept outside of
what an agent can reach. A signature says who, not that nothing is missing: for that the head must be kept elsewhere.
"""

import base64
import binascii

import msgspec
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from signoff.domain.errors import ConfigError, ConfigUnreadable, LedgerEdited, LedgerMissing
from signoff.files import regular
from signoff.ledger.anchor import Head

LARGEST_KEY = 64 * 1024


def sign(head: Head, key_file: str) -> Head:
    """The head with the signature of a private key."""
    key = _load(key_file)
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigError(f"{key_file} holds no Ed25519 private key to sign with")
    public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
    signature = base64.b64encode(key.sign(head.statement)).decode()
    return msgspec.structs.replace(head, public_key=public, signature=signature)


def signed_with(heads: list[Head], key_file: str) -> list[Head]:
    """The heads signed with the key whose public (or private) half is in the file. Other signers' heads say nothing
    here, but one that names this key must keep what it promises."""
    key = _load(key_file)
    public = key.public_key() if isinstance(key, Ed25519PrivateKey) else key
    signed = [head for head in heads if head.signature]
    if not signed:
        raise LedgerMissing("no head of this run was kept with a signature")
    name = base64.b64encode(public.public_bytes_raw()).decode()
    own = [head for head in signed if head.public_key == name]
    try:
        for head in own:
            public.verify(base64.b64decode(head.signature, validate=True), head.statement)
    except (InvalidSignature, binascii.Error):
        own = []
    if not own:
        raise LedgerEdited(f"the head of run {signed[0].run_id} was not signed with the key of {key_file}")
    return own


def holds(head: Head) -> bool:
    """Does the signature fit the key that the head names? Whose key that is, is another question."""
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(head.public_key, validate=True))
        key.verify(base64.b64decode(head.signature, validate=True), head.statement)
    except (InvalidSignature, ValueError):
        return False
    return True


def _load(path: str) -> Ed25519PrivateKey | Ed25519PublicKey:
    try:
        data = regular.content(path, LARGEST_KEY)
    except OSError as error:
        raise ConfigUnreadable(f"cannot read the key {path}: {error.strerror}") from error
    try:
        key = _parse(data)
    except TypeError as error:  # how the package says that a key is locked
        raise ConfigError(f"the key {path} is protected by a passphrase", hint="Use a key without one.") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ConfigError(f"{path} is not a key in PEM or OpenSSH form") from error
    if not isinstance(key, Ed25519PrivateKey | Ed25519PublicKey):
        raise ConfigError(f"{path} is not an Ed25519 key")
    return key


def _parse(data: bytes) -> object:
    if b"OPENSSH PRIVATE KEY" in data:
        return serialization.load_ssh_private_key(data, password=None)
    if b"PRIVATE KEY" in data:
        return serialization.load_pem_private_key(data, password=None)
    if b"PUBLIC KEY" in data:
        return serialization.load_pem_public_key(data)
    return serialization.load_ssh_public_key(data)
