"""signoff completion: the script that lets a shell complete our command lines."""

import click
from click.shell_completion import ShellComplete, get_completion_class

from signoff.cli.app import COMPLETION_VARIABLE, NAME, application
from signoff.cli.output import Output

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_obj
def completion(output: Output, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    Examples:
      signoff completion bash > ~/.local/share/bash-completion/completions/signoff
      signoff completion zsh > ~/.zfunc/_signoff
      signoff completion fish > ~/.config/fish/completions/signoff.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    # not bash's own source(): it would start a bash to ask for its version
    script = ShellComplete.source(kind(application, {}, NAME, COMPLETION_VARIABLE))
    output.text(script.replace('string split ","', 'string split -m 1 ","'))  # a summary may have a comma
