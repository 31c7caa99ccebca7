"""The model a command talks to: what -m, SIGNOFF_MODEL or the configuration names, with its key and address."""

from collections.abc import Mapping

from signoff.config.layers import Configuration
from signoff.domain.errors import NoModel, UsageError
from signoff.providers import names
from signoff.providers.names import ModelName
from signoff.providers.provider import Provider


def model_name(spec: str | None, configuration: Configuration) -> ModelName:
    """Which model is meant; `spec` is what -m said."""
    chosen = spec or configuration.settings.model.name
    if chosen is None:
        raise NoModel("no model is chosen", hint="Use -m PROVIDER/MODEL or set SIGNOFF_MODEL.")
    return names.parse(chosen)


def provider_for(spec: str | None, configuration: Configuration, environ: Mapping[str, str]) -> Provider:
    """Whoever gets it closes it."""
    name = model_name(spec, configuration)
    if name.provider == names.ECHO:
        from signoff.providers.echo import Echo

        return Echo()
    if name.provider in (names.SCRIPTED, names.REPLAY):
        from signoff.providers.scripted import Scripted

        return Scripted.read(name.model, faithful=name.provider == names.REPLAY)
    raise UsageError(f"there is no provider {name.provider!r}")
