"""signoff models: which providers are set up, and which models they offer right now."""

import asyncio
import os

import click
import msgspec

from signoff.cli import wiring
from signoff.cli.output import Output, Style, json_option
from signoff.cli.wiring_model import endpoint_for, remote, vendor_named
from signoff.config.layers import Configuration
from signoff.domain.errors import ModelTimeout, NoModel, SignoffError
from signoff.domain.visible import visible
from signoff.providers.vendors import VENDORS, Vendor


class Problem(msgspec.Struct, frozen=True):
    code: str
    message: str
    hint: str | None = None


class Listed(msgspec.Struct, frozen=True):
    """What became of asking one provider. `status`: ok, no_key (nothing was asked) or failed."""

    name: str
    title: str
    status: str
    host: str | None = None
    key: str | None = None  # where the key was found, never the key
    models: tuple[str, ...] = ()
    error: Problem | None = None


@click.command()
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 60),
    default=3.0,
    show_default=True,
    help="Seconds to wait for each provider.",
)
@json_option
@click.argument("provider", required=False)
@click.pass_obj
def models(output: Output, provider: str | None, timeout: float, as_json: bool) -> int:
    """See which model providers are set up, and what they offer.

    Each is shown with the place its key was found in and the models it has right now.

    Only providers with a key, with an address of your own or on this machine are asked. With PROVIDER only that one is,
    and the exit status is that of its error.

    \b
    Examples:
      signoff models
      signoff models ollama
      signoff models --json
    """
    loaded = wiring.configuration(output)
    chosen = [vendor_named(provider.lower())] if provider else list(VENDORS.values())
    found, errors = asyncio.run(_ask(chosen, loaded, timeout))
    if as_json:
        output.json({"default": loaded.settings.model.name, "providers": found})
    else:
        _print(output, found, loaded.settings.model.name, full=provider is not None)
    if provider and errors:
        raise errors[0]
    return 0


async def _ask(
    vendors: list[Vendor], loaded: Configuration, limit_s: float
) -> tuple[tuple[Listed, ...], list[SignoffError]]:
    errors: list[SignoffError] = []

    async def one(vendor: Vendor) -> Listed:
        try:
            return await _listed(vendor, loaded, limit_s)
        except SignoffError as error:
            errors.append(error)
            problem = Problem(error.code, error.message, error.hint)
            return Listed(
                vendor.name, vendor.title, "no_key" if isinstance(error, NoModel) else "failed", error=problem
            )

    return tuple(await asyncio.gather(*map(one, vendors))), errors


async def _listed(vendor: Vendor, loaded: Configuration, limit_s: float) -> Listed:
    place = endpoint_for(vendor, loaded, os.environ)
    provider = remote(vendor, place, loaded.settings.model, attempts=1)
    try:
        async with asyncio.timeout(limit_s):
            offered = await provider.models()
    except TimeoutError:
        raise ModelTimeout(f"{vendor.name} at {place.host} did not answer within {limit_s:g} s") from None
    finally:
        await provider.aclose()
    return Listed(vendor.name, vendor.title, "ok", place.host, place.key_source or None, offered)


def _print(output: Output, found: tuple[Listed, ...], default: str | None, *, full: bool) -> None:
    for listed in found:
        if listed.status == "ok":
            head = f"{listed.name:16} {len(listed.models)} models at {listed.host}"
            output.text(output.paint(head, Style.GOOD) + (f", key from {listed.key}" if listed.key else ""))
            shown = listed.models if full else listed.models[:20]
            for model in shown:
                output.text(f"  {listed.name}/{visible(model)}")
            if len(shown) < len(listed.models):
                rest = len(listed.models) - len(shown)
                output.text(output.paint(f"  … and {rest} more: signoff models {listed.name}", Style.FAINT))
        elif listed.error is not None and not full:
            mark = Style.FAINT if listed.status == "no_key" else Style.WARNING
            absent = f"no key: set {VENDORS[listed.name].key_variables[0]}"
            says = absent if listed.status == "no_key" else listed.error.message
            output.text(f"{output.paint(f'{listed.name:16}', mark)} {visible(says)}", 17)
    if not full:
        output.say(f"The default is {default}." if default else "No default is set: use -m, or set SIGNOFF_MODEL.")
