"""What a command gets put together: its settings and its ledger."""

from pathlib import Path

import msgspec
import pytest

from signoff.cli import wiring
from signoff.cli.output import Output
from signoff.config.layers import Layer


def test_an_option_of_the_command_wins_over_a_setting_given_with_c(home: Path) -> None:
    output = Output(flags={"approval": "never", "sandbox.mode": "read-only"})
    loaded = wiring.configuration(output, {"approval": "untrusted", "sandbox.mode": None})
    assert (loaded.settings.approval, loaded.settings.sandbox.mode) == ("untrusted", "read-only")
    assert loaded.origins["approval"].layer is Layer.FLAG


def test_a_run_begins_with_the_circumstances_it_runs_under(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    loaded = wiring.configuration(Output(flags={"ledger.redact": "strict", "project_id": "demo"}))
    ledger = wiring.open_ledger(loaded, ("signoff", "run", "tidy up"), policy_sha256="ab" * 32)
    ledger.close()
    (file,) = (home / ".local/state/signoff/runs").iterdir()
    first = msgspec.json.decode(file.read_bytes().splitlines()[0])
    assert file.stem == ledger.run_id
    assert file.stat().st_mode & 0o777 == 0o600
    circumstances = {
        "command": ["signoff", "run", "tidy up"],
        "workspace": str(home),
        "project_id": "demo",
        "redact": "strict",
        "approval": "on-request",
        "sandbox": "workspace-write",
        "policy_sha256": "ab" * 32,
    }
    assert {name: first["what"][name] for name in circumstances} == circumstances
