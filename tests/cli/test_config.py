"""signoff config, as a person uses it."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from signoff.config.schema import KEYS
from tests.clauses import requirement
from tests.cli.program import signoff

SHOWN = ("approval", "sandbox.max_processes", "ledger.redact", "memory.limit", "model.key")
"""A golden file holds these, so that a new setting changes none of them."""

SECRET = "s3cr3t-never-to-be-seen"


@pytest.fixture
def project(home: Path) -> Path:
    root = home / "app"
    (root / ".signoff").mkdir(parents=True)
    return root


def some_lines(listing: str) -> str:
    return "".join(line + "\n" for line in listing.splitlines() if line.split(" =")[0] in SHOWN)


@requirement("ACP-010")
def test_what_is_set_is_what_is_got(home: Path) -> None:
    assert signoff("config", "get", "sandbox.mode") == (0, "workspace-write\n", "")
    done = signoff("config", "set", "sandbox.mode", "read-only")
    assert (done.status, done.out) == (0, "")
    assert signoff("config", "get", "sandbox.mode") == (0, "read-only\n", "")
    assert signoff("--quiet", "config", "unset", "sandbox.mode") == (0, "", "")
    assert signoff("config", "get", "sandbox.mode") == (0, "workspace-write\n", "")


@requirement("ACP-002")
def test_golden_list_is_for_people_and_with_json_for_scripts(home: Path, golden: Callable[[str, str], None]) -> None:
    signoff("config", "set", "approval", "untrusted")
    text, described = signoff("config", "list"), signoff("config", "list", "--json", SIGNOFF_MODEL_KEY=SECRET)
    golden("cli/config.list.txt", some_lines(text.out))
    settings = json.loads(described.out)["settings"]
    assert [setting["key"] for setting in settings] == list(KEYS)
    document = {"settings": [setting for setting in settings if setting["key"] in SHOWN]}
    golden("cli/config.list.json", json.dumps(document, indent=2).replace(str(home), "HOME") + "\n")
    assert text.err + described.err == ""


def test_golden_list_with_origin_names_the_layer_of_every_value(
    project: Path, home: Path, golden: Callable[[str, str], None]
) -> None:
    (project / ".signoff" / "config.toml").write_text("[sandbox]\nmax_processes = 8\n", encoding="utf-8")
    signoff("config", "trust", cwd=project)
    signoff("config", "set", "approval", "untrusted")
    shown = signoff("-c", "memory.limit=3", "config", "list", "--origin", cwd=project, SIGNOFF_LEDGER_REDACT="strict")
    golden("cli/config.origin.txt", some_lines(shown.out).replace(str(home), "HOME"))


def test_golden_get_as_json(home: Path, golden: Callable[[str, str], None]) -> None:
    golden(
        "cli/config.get.json", signoff("-c", "sandbox.mode=read-only", "config", "get", "sandbox.mode", "--json").out
    )


def test_golden_path_as_json_names_every_place(project: Path, home: Path, golden: Callable[[str, str], None]) -> None:
    assert signoff("config", "path").out == f"{home}/.config/signoff/config.toml\n"
    golden("cli/config.path.json", signoff("config", "path", "--json", cwd=project).out.replace(str(home), "HOME"))


def test_the_schema_accepts_what_loads_and_nothing_else(home: Path) -> None:
    described = json.loads(signoff("config", "schema").out)
    jsonschema.Draft202012Validator.check_schema(described)
    jsonschema.validate({"approval": "never", "sandbox": {"mode": "read-only", "max_processes": 4}}, described)
    for wrong in ({"aproval": "never"}, {"approval": "maybe"}, {"sandbox": {"max_processes": 0}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, described)


def test_a_secret_is_taken_from_stdin_and_never_shown(home: Path) -> None:
    assert signoff("config", "set", "model.key", "-", stdin=f"{SECRET}\n").status == 0
    signoff("config", "set", "memory.url", f"https://ada:{SECRET}@memory.example/v1")
    written = (home / ".config/signoff/config.toml").read_text(encoding="utf-8")
    assert f'key = "{SECRET}"' in written
    for words in (["get", "model.key"], ["get", "memory.url"], ["list"], ["list", "--origin"], ["list", "--json"]):
        shown = signoff("--debug", "config", *words)
        assert (shown.status, SECRET in shown.out + shown.err) == (0, False), words
    for words in (["get", "model.key", "--json"], ["get", "memory.url", "--json"]):
        assert SECRET not in signoff("config", *words).out


def test_a_project_is_trusted_as_it_stands_and_says_what_it_sets(project: Path) -> None:
    file = project / ".signoff" / "config.toml"
    file.write_text('approval = "untrusted"\n', encoding="utf-8")
    before = signoff("config", "get", "approval", cwd=project)
    assert (before.out, "is not in force" in before.err) == ("on-request\n", True)
    trusted = signoff("config", "trust", cwd=project)
    assert (trusted.status, 'approval = "untrusted"' in trusted.err) == (0, True)
    assert signoff("config", "get", "approval", cwd=project) == (0, "untrusted\n", "")
    assert signoff("config", "trust", "--remove", str(project)).status == 0
    assert signoff("config", "get", "approval", cwd=project).out == "on-request\n"


def test_trust_shows_what_a_project_hides(project: Path) -> None:
    (project / ".signoff" / "config.toml").write_text('project_id = "a\u202eb"\n', encoding="utf-8")
    (project / ".signoff" / "rules").mkdir()
    (project / ".signoff" / "rules" / "\x1b[2J.rules").write_text("", encoding="utf-8")
    told = signoff("config", "trust", cwd=project).err
    assert "‹ESC›[2J.rules" in told
    assert not {"\x1b", "\u202e"} & set(told)


def test_an_error_names_a_hostile_file_without_obeying_it(home: Path) -> None:
    hostile = home / "\x1b[2Jclear"
    (hostile / "config.toml").mkdir(parents=True)
    ended = signoff("config", "list", SIGNOFF_HOME=str(hostile))
    assert (ended.status, "\x1b" in ended.err) == (3, False)


def test_set_in_the_project_writes_the_projects_file(project: Path) -> None:
    assert signoff("config", "set", "--project", "approval", "untrusted", cwd=project).status == 0
    assert (project / ".signoff" / "config.toml").read_text(encoding="utf-8") == 'approval = "untrusted"\n'
    assert signoff("config", "get", "approval", cwd=project).out == "on-request\n"


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (["get", "sandbox.mod"], 2, "signoff: there is no setting 'sandbox.mod'\n  Did you mean sandbox.mode?\n"),
        (["set", "memory.limit", "many"], 2, "signoff: memory.limit does not fit: expected int, got str (it is 'many')\n"),
        (["unset", "memory.limt"], 2, "signoff: there is no setting 'memory.limt'\n  Did you mean memory.limit?\n"),
        (["gt", "approval"], 2, "signoff: \"signoff config\" has no command 'gt'\n  Did you mean \"signoff config get\"?\n"),
    ],
)  # fmt: skip
def test_a_mistake_is_answered_with_what_was_meant(words: list[str], status: int, sentence: str, home: Path) -> None:
    assert signoff("config", *words) == (status, "", sentence)
    assert not (home / ".config/signoff/config.toml").exists()


def test_nothing_to_trust_is_said(home: Path) -> None:
    ended = signoff("config", "trust", str(home))
    assert (ended.status, ended.out) == (1, "")
    assert "nothing to trust" in ended.err


def test_reading_does_not_wait_for_what_only_writing_needs(home: Path) -> None:
    spy = "import sys; sys.argv = ['signoff', 'config', 'list']\nfrom signoff.cli.main import main\ntry: main()\nfinally: print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", spy], capture_output=True, text=True, check=True, timeout=60)
    imported = set(ended.stdout.splitlines()[-1].split())
    assert imported & {"tomlkit", "asyncio", "httpx", "sqlite3", "tree_sitter", "opentelemetry", "subprocess"} == set()


def test_a_project_that_is_not_there_is_a_wrong_argument(home: Path) -> None:
    ended = signoff("config", "trust", str(home / "nowhere"), cwd=home)
    assert (ended.status, "is no directory" in ended.err) == (2, True)
