"""Which layer wins, what a project may do, and what a mistake is answered with."""

import itertools
import re
from pathlib import Path

import pytest

from signoff.config import locations, trust
from signoff.config.layers import OTHER_VARIABLES, SHORT_VARIABLES, Configuration, Layer, load
from signoff.config.schema import KEYS
from signoff.domain.errors import ConfigError, UsageError
from signoff.domain.settings import Settings
from tests.clauses import requirement


class Machine:
    """A machine with a system file, a user's file and a project, all in one temporary directory."""

    def __init__(self, root: Path) -> None:
        self.system, self.project, home = root / "etc", root / "home" / "app", root / "home"
        self.environ = {"HOME": str(home)}
        self.user = locations.user_config(self.environ)
        for folder in (self.system, self.user, self.project / ".signoff"):
            folder.mkdir(parents=True)

    def write(self, layer: Layer, text: str, *, trusted: bool = True) -> None:
        match layer:
            case Layer.ENVIRONMENT:
                self.environ |= dict([text.split("=")])
            case Layer.PROJECT:
                (self.project / ".signoff" / "config.toml").write_text(text, encoding="utf-8")
                if trusted:
                    trust.trust(self.environ, self.project, trust.contents(self.project))
            case _:
                folder = self.system if layer is Layer.SYSTEM else self.user
                (folder / "config.toml").write_text(text, encoding="utf-8")

    def load(self, **flags: str) -> Configuration:
        return load(
            self.environ, self.project, {key.replace("__", "."): v for key, v in flags.items()}, system=self.system
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_nothing_configured_gives_the_defaults(machine: Machine) -> None:
    loaded = machine.load()
    assert (loaded.settings, loaded.warnings, loaded.project) == (Settings(), (), machine.project)
    assert {setting.layer for setting in loaded.origins.values()} == {Layer.DEFAULT}


# memory.limit may be set freely by every layer, so it shows the order alone
WRITTEN = {
    Layer.SYSTEM: "[memory]\nlimit = 1\n",
    Layer.USER: "[memory]\nlimit = 2\n",
    Layer.PROJECT: "[memory]\nlimit = 3\n",
    Layer.ENVIRONMENT: "SIGNOFF_MEMORY_LIMIT=4",
}
STRENGTH = list(WRITTEN)


@requirement("ACP-012")
@pytest.mark.parametrize(
    "present",
    [chosen for size in range(5) for chosen in itertools.combinations(STRENGTH, size)],
    ids=lambda c: "+".join(c),
)
@pytest.mark.parametrize("flag", [False, True])
def test_the_strongest_layer_that_speaks_wins(machine: Machine, present: tuple[Layer, ...], flag: bool) -> None:
    for layer in present:
        machine.write(layer, WRITTEN[layer])
    loaded = machine.load(**({"memory__limit": "5"} if flag else {}))
    winner = Layer.FLAG if flag else max(present, key=STRENGTH.index, default=Layer.DEFAULT)
    value = {Layer.DEFAULT: 6, Layer.FLAG: 5}.get(winner) or STRENGTH.index(winner) + 1
    assert (loaded.settings.memory.limit, loaded.origins["memory.limit"].layer) == (value, winner)


@requirement("MEM-127")
@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("memory.enabled", "off", False),
        ("memory.inject_mode", "both", "both"),
        ("memory.gatekeeper", "hard", "hard"),
        ("policy.audit", "auto", "auto"),
        ("ledger.redact", "strict", "strict"),
        ("memory.limit", "20", 20),
        ("memory.min_score", "0.75", 0.75),
        ("memory.session_file", "/tmp/session.jsonl", "/tmp/session.jsonl"),
        ("memory.query_sources", "prompt", ("prompt",)),
    ],
)
def test_what_memory_and_audit_need_can_be_configured_by_flag_and_by_variable(
    machine: Machine, key: str, text: str, value: object
) -> None:
    assert machine.load(**{key.replace(".", "__"): text}).origins[key].value == value
    machine.write(Layer.ENVIRONMENT, f"{KEYS[key].variable}={text}")
    assert machine.load().origins[key].value == value


def test_a_project_counts_only_when_trusted_and_only_as_it_was_seen(machine: Machine) -> None:
    machine.write(Layer.PROJECT, '[sandbox]\nmode = "read-only"\n', trusted=False)
    untrusted = machine.load()
    assert untrusted.settings == Settings()
    assert "signoff config trust" in untrusted.warnings[0]
    machine.write(Layer.PROJECT, '[sandbox]\nmode = "read-only"\n', trusted=True)
    assert (machine.load().settings.sandbox.mode, machine.load().warnings) == ("read-only", ())
    machine.write(Layer.PROJECT, '[sandbox]\nmode = "read-only" # changed\n', trusted=False)
    assert machine.load().settings == Settings()


def test_an_untrusted_project_cannot_even_cause_an_error(machine: Machine) -> None:
    machine.write(Layer.PROJECT, "nonsense = [", trusted=False)
    assert machine.load().settings == Settings()


@pytest.mark.parametrize(
    "text",
    [
        '[sandbox]\nmode = "danger-full-access"\n',
        '[sandbox]\nnetwork = "on"\n',
        '[sandbox]\nwritable_roots = ["/"]\n',
        "[sandbox]\nmax_processes = 100000\n",
        '[policy]\ndefault_action = "allow"\n',
        '[ledger]\nredact = "off"\n',
        '[memory]\nurl = "http://collector.example"\n',
        '[model]\nkey_file = "/home/ada/.ssh/id_ed25519"\n',
        'project_id = "another-project"\n',
    ],
)
def test_a_trusted_project_still_cannot_widen_anything(machine: Machine, text: str) -> None:
    machine.write(Layer.PROJECT, text)
    loaded = machine.load()
    assert (loaded.settings, len(loaded.warnings)) == (Settings(), 1)


def test_a_project_narrows_what_the_user_chose_and_not_only_the_default(machine: Machine) -> None:
    machine.write(Layer.USER, '[sandbox]\nmode = "read-only"\nnetwork = "on"\n')
    machine.write(Layer.PROJECT, '[sandbox]\nmode = "workspace-write"\nnetwork = "limited"\n')
    loaded = machine.load()
    assert (loaded.settings.sandbox.mode, loaded.settings.sandbox.network) == ("read-only", "limited")
    assert [loaded.origins[key].layer for key in ("sandbox.mode", "sandbox.network")] == [Layer.USER, Layer.PROJECT]


@pytest.mark.parametrize(
    ("text", "place", "complaint", "hint"),
    [
        ('# note\naproval = "never"\n', ":2", "there is no setting 'aproval'", "Did you mean approval?"),
        ('[sandbox]\n\nmod = "x"\n', ":3", "there is no setting 'sandbox.mod'", "Did you mean sandbox.mode?"),
        ("[sandbx]\nmode = 1\n", ":1", "there is no setting 'sandbx'", "Did you mean sandbox?"),
        ("network = 'off'\n", ":1", "there is no setting 'network'", "Did you mean sandbox.network?"),
        (
            "sandbox = 3\n",
            ":1",
            "sandbox is a group of settings, not a setting",
            '"signoff config list" shows what is in sandbox.',
        ),
        ('"sandbox.mode" = "read-only"\n', ":1", "sandbox.mode must be written without quotes", None),
        ("[memory]\nlimit = 0\n", ":2", "memory.limit does not fit: expected int >= 1 (it is 0)", None),
        ("[memory]\nlimit = '6'\n", ":2", "memory.limit does not fit: expected int, got str (it is '6')", None),
        ("[memory]\ntoken = 12345\n", ":2", "memory.token does not fit: expected str | null, got int", None),
        (
            "approval = 'on-requst'\n",
            ":1",
            "approval takes one of untrusted, on-failure, on-request, never, not 'on-requst'; did you mean on-request?",
            None,
        ),
    ],
)
def test_a_mistake_in_a_file_is_named_with_its_line_and_what_was_meant(
    machine: Machine, text: str, place: str, complaint: str, hint: str | None
) -> None:
    machine.write(Layer.USER, text)
    with pytest.raises(ConfigError) as refused:
        machine.load()
    assert (refused.value.message, refused.value.hint) == (f"{machine.user}/config.toml{place}: {complaint}", hint)


@pytest.mark.parametrize(
    ("variable", "complaint", "hint"),
    [
        (
            "SIGNOFF_APROVAL=never",
            "the environment variable SIGNOFF_APROVAL is no setting",
            "Did you mean SIGNOFF_APPROVAL?",
        ),
        ("SIGNOFF_HOM=/x", "the environment variable SIGNOFF_HOM is no setting", "Did you mean SIGNOFF_HOME?"),
        (
            "SIGNOFF_MEMORY_LIMIT=many",
            "the environment variable SIGNOFF_MEMORY_LIMIT does not fit: expected int, got str (it is 'many')",
            None,
        ),
    ],
)
def test_a_mistake_in_a_variable_is_named(machine: Machine, variable: str, complaint: str, hint: str | None) -> None:
    machine.write(Layer.ENVIRONMENT, variable)
    with pytest.raises(ConfigError) as refused:
        machine.load()
    assert (refused.value.message, refused.value.hint) == (complaint, hint)


def test_an_empty_variable_and_those_that_are_no_settings_are_left_alone(machine: Machine) -> None:
    machine.environ |= {"SIGNOFF_APPROVAL": "", "SIGNOFF_EVENT_FD": "7"}
    assert machine.load().settings == Settings()


def test_a_mistake_in_a_flag_is_a_mistake_in_the_arguments(machine: Machine) -> None:
    for flags in ({"sandbox__mod": "x"}, {"sandbox__mode": "x"}):
        with pytest.raises(UsageError):
            machine.load(**flags)


def test_every_setting_has_a_variable_of_its_own() -> None:
    assert len({key.variable for key in KEYS.values()}) == len(KEYS)


def test_every_variable_we_use_ourselves_is_known() -> None:
    source = Path(__file__).parents[2] / "src" / "signoff"
    used = {name for path in source.rglob("*.py") for name in re.findall(r"\bSIGNOFF_[A-Z_]+", path.read_text("utf-8"))}
    assert used - {key.variable for key in KEYS.values()} == OTHER_VARIABLES | set(SHORT_VARIABLES)
