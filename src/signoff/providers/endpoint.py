"""Where a vendor is reached and with which key: from its usual variables, the configuration, or a private file."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from signoff.domain.errors import ConfigError, ConfigUnreadable, NoModel
from signoff.domain.late import late, late_pattern
from signoff.domain.settings import ModelSettings
from signoff.files import regular
from signoff.providers.vendors import Vendor

if TYPE_CHECKING:
    import ipaddress
else:
    ipaddress = late("ipaddress")

LARGEST_FILE = 64 * 1024
_KEY = late_pattern(r"[\x21-\x7e]+")
_ASSIGNMENT = late_pattern(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*((?s:.*))")


class Endpoint(msgspec.Struct, frozen=True):
    url: str  # without a slash at the end
    key: str = ""
    key_source: str = ""  # where it was found, for people
    bearer: bool = False

    @property
    def host(self) -> str:
        """Without user name, password and path."""
        parts = urlsplit(self.url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)

    @property
    def is_local(self) -> bool:
        host = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")

    def __repr__(self) -> str:
        return f"Endpoint({self.host}, key {'present' if self.key else 'absent'})"


def endpoint(vendor: Vendor, settings: ModelSettings, environ: Mapping[str, str]) -> Endpoint:
    """Raises ConfigError where the configuration contradicts itself, NoModel where a key is needed and not there."""
    kept = read_file(settings.key_file, vendor, settings) if settings.key_file else {}
    mine = settings.provider == vendor.name
    if settings.provider is None and (settings.key or settings.base_url):
        name = "model.key" if settings.key else "model.base_url"
        raise ConfigError(
            f"{name} is set, but not whose it is", hint="Set model.provider to the provider it belongs to."
        )
    given = {**kept, **{name: value for name, value in environ.items() if value}}
    url = next((given[name] for name in vendor.url_variables if name in given), "")
    url = (settings.base_url if mine and settings.base_url else "") or url or vendor.url
    place = vendor.address(url)
    for name in vendor.key_variables:
        if name in given:
            source = name if environ.get(name) else str(settings.key_file)
            return Endpoint(place, sound(given[name], source), source, bearer=name == vendor.token_variable)
    if mine and settings.key:
        return Endpoint(place, sound(settings.key, "model.key"), "model.key")
    if vendor.needs_key and place == vendor.address(vendor.url):
        raise NoModel(
            f"there is no key for {vendor.name}",
            hint=f"Set {vendor.key_variables[0]}, or model.key_file to a file that holds it. docs/providers.md says more.",
        )
    return Endpoint(place)


def read_file(path: str, vendor: Vendor, settings: ModelSettings) -> dict[str, str]:
    """`NAME=value` lines with the vendors' own names, or one bare key, which belongs to `model.provider`."""
    values: dict[str, str] = {}
    for number, line in enumerate(map(str.strip, private_text(path).splitlines()), 1):
        if not line or line.startswith("#"):
            continue
        if found := _ASSIGNMENT.fullmatch(line):
            values[found[1]] = found[2].strip().strip("\"'")
        elif _KEY.fullmatch(line) and settings.provider is not None:
            if settings.provider == vendor.name:
                values[vendor.key_variables[0]] = line
        else:
            why = "is no NAME=value" if settings.provider else "is a bare key: set model.provider to say whose"
            raise ConfigError(f"{path}:{number}: this {why}")
    return values


def private_text(path: str, what: str = "key file") -> str:
    """The contents of a file that nobody else may read."""
    try:
        with open(os.path.expanduser(path), "rb", opener=regular.following) as file:
            state = os.fstat(file.fileno())
            if state.st_mode & 0o077 or state.st_uid not in (os.geteuid(), 0):
                raise ConfigError(f"the {what} {path} can be read by others", hint=f"chmod 600 {path}")
            return file.read(LARGEST_FILE).decode("utf-8")
    except OSError as error:
        raise ConfigUnreadable(f"the {what} {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise ConfigUnreadable(f"the {what} {path} is not UTF-8") from None


def sound(key: str, source: str) -> str:
    """A key that can stand in a header; a broken one is never shown."""
    key = key.strip()
    if not _KEY.fullmatch(key):
        raise ConfigError(f"the key from {source} holds characters that no key has")
    return key
