"""The model a command talks to: what -m, SIGNOFF_MODEL or the configuration names, with its key and address."""

import os
import stat
from collections.abc import Mapping
from typing import TYPE_CHECKING

from signoff.config.layers import Configuration, Layer
from signoff.domain.errors import ConfigError, NoModel, UsageError
from signoff.domain.settings import ModelSettings
from signoff.policy.rules.path import inside
from signoff.providers import names
from signoff.providers.endpoint import Endpoint, endpoint
from signoff.providers.names import ModelName
from signoff.providers.provider import Provider
from signoff.providers.vendors import VENDORS, Speaks, Vendor

if TYPE_CHECKING:
    from signoff.providers.dialect import Dialect

SHIPPED = (names.ECHO, names.SCRIPTED, names.REPLAY)


def model_name(spec: str | None, configuration: Configuration) -> ModelName:
    """Which model is meant; `spec` is what -m said."""
    chosen = spec or configuration.settings.model.name
    if chosen is None:
        raise NoModel(
            "no model is chosen", hint='Use -m PROVIDER/MODEL or set SIGNOFF_MODEL; "signoff models" lists them.'
        )
    return names.parse(chosen)


def provider_for(
    spec: str | None, configuration: Configuration, environ: Mapping[str, str], *, record: str | None = None
) -> Provider:
    """Whoever gets it closes it. `record` is a file for the exchanges, before the one that is configured."""
    settings = configuration.settings
    name = model_name(spec, configuration)
    provider, key = _made(name, configuration, environ)
    if settings.model.input_price is not None and settings.model.output_price is not None:
        from signoff.providers.priced import Priced, Prices

        prices = Prices(settings.model.input_price, settings.model.output_price, settings.model.cached_price)
        provider = Priced(provider, prices)
    if path := record or settings.model.record:
        from signoff.providers.recording import Recording

        provider = Recording(provider, path, settings.ledger.redact, (key,))
    return provider


def vendor_named(name: str) -> Vendor:
    if name not in VENDORS:
        import difflib

        near = difflib.get_close_matches(name, (*VENDORS, *SHIPPED), n=1)
        known = ", ".join((*VENDORS, names.SCRIPTED, names.ECHO))
        hint = f"Did you mean {near[0]}?" if near else f"There are {known}."
        raise UsageError(f"there is no provider {name!r}", hint=hint)
    return VENDORS[name]


def endpoint_for(vendor: Vendor, configuration: Configuration, environ: Mapping[str, str]) -> Endpoint:
    _refuse_shown_keys(configuration)
    _refuse_reachable_keys(configuration)
    return endpoint(vendor, configuration.settings.model, environ)


def remote(vendor: Vendor, place: Endpoint, settings: ModelSettings, *, attempts: int | None = None) -> Provider:
    from signoff.providers.remote import Remote
    from signoff.providers.retries import Retries

    return Remote(
        vendor.name,
        _dialect(vendor, place),
        place,
        silence_s=settings.timeout_ms / 1_000,
        retries=Retries(attempts=attempts or settings.attempts),
    )


def _dialect(vendor: Vendor, place: Endpoint) -> "Dialect":
    match vendor.speaks:
        case Speaks.CHAT:
            from signoff.providers.openai_chat import OpenAIChat

            return OpenAIChat(limit_name=vendor.limit_name)
        case Speaks.RESPONSES:
            from signoff.providers.openai_responses import OpenAIResponses

            return OpenAIResponses()
        case Speaks.MESSAGES:
            from signoff.providers.anthropic import Anthropic

            return Anthropic(bearer=place.bearer)


def _made(name: ModelName, configuration: Configuration, environ: Mapping[str, str]) -> tuple[Provider, str]:
    """The provider, and its key for whoever must keep it out of something."""
    if name.provider == names.ECHO:
        from signoff.providers.echo import Echo

        return Echo(), ""
    if name.provider in SHIPPED:
        from signoff.providers.scripted import Scripted

        return Scripted.read(name.model, faithful=name.provider == names.REPLAY), ""
    vendor = vendor_named(name.provider)
    place = endpoint_for(vendor, configuration, environ)
    return remote(vendor, place, configuration.settings.model), place.key


def _refuse_shown_keys(configuration: Configuration) -> None:
    """Everybody on a machine sees the words of a command line, and what is in a file that is open to all."""
    setting = configuration.origins["model.key"]
    if setting.layer is Layer.FLAG:
        raise UsageError("a key does not belong on the command line, where everybody can read it")
    file = setting.source if setting.layer in (Layer.USER, Layer.SYSTEM) else None
    if file and stat.S_IMODE(os.stat(file).st_mode) & 0o077:
        raise ConfigError(f"{file} holds model.key and can be read by others", hint=f"chmod 600 {file}")


def _refuse_reachable_keys(configuration: Configuration) -> None:
    """What lies in the project, or in a root that is open, the agent can read and its model hears of."""
    settings = configuration.settings
    if settings.model.key_file is None:
        return
    path = os.path.realpath(os.path.expanduser(settings.model.key_file))
    roots = (
        str(configuration.project),
        os.getcwd(),
        *settings.sandbox.writable_roots,
        *settings.sandbox.readable_roots,
    )
    if any(inside(path, os.path.realpath(root)) for root in roots):
        hint = "Move it, for example to the directory of your config.toml, which no agent sees."
        raise ConfigError(f"the key file {settings.model.key_file} lies where the agent can read it", hint=hint)
