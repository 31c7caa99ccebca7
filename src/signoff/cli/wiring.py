"""The one place that puts objects together for a command."""

import os
from pathlib import Path

from signoff.cli.output import Output
from signoff.config.layers import Configuration, load


def configuration(output: Output) -> Configuration:
    """The settings of this call; what did not count is said once, on stderr."""
    loaded = load(os.environ, Path.cwd(), output.flags)
    for warning in loaded.warnings:
        output.warn(warning)
    return loaded
