"""What an allow rule on a bare program name covers, and what is asked about all the same."""

import pytest

from signoff.domain.requirement import Forbidden, Skip
from signoff.policy.commands.credentials import is_credential as word_is_credential
from signoff.policy.rules.sensitive import IN_A_HOME, is_credential
from tests.policy.judged import READ_ONLY, UNTRUSTED, context, judged, rules, script

PROGRAMS = [
    "cat",
    "cp",
    "gcc",
    "git",
    "go",
    "less",
    "make",
    "node",
    "npm",
    "openssl",
    "perl",
    "psql",
    "python",
    "python3",
    "python3.12",
    "pytest",
    "rg",
    "ruby",
    "sqlite3",
    "tar",
    "tee",
    "xz",
    "zip",
]
ALLOWED = rules("\n".join(f'prefix_rule(pattern=["{program}"])' for program in PROGRAMS))
MODULE = rules('prefix_rule(pattern=["python", "-m", "pytest"])')

BEYOND = {
    "secrets by name": [
        *(
            "cat .env-prod",
            "cat .env_local",
            "cat .envrc",
            "cat /home/other/.aws/credentials",
            "cat /home/other/.kube/config",
        ),
        *(
            "cat ~/.claude/.credentials.json",
            "tar -T .env -cf -",
            "openssl enc -in .env",
            "perl -p x.pl .env",
            "xz -k .env",
        ),
        *("xz --files=.env", "gcc -E -include .env x.c", "gcc -I/etc/ssl/private x.c", "git ls-files -X .env"),
    ],
    "devices": ["cat /dev/tty", "cat /dev/sda", "xz /dev/sda", "cat < /dev/tty"],
    "places that programs take orders from": [
        *("gcc -o .git/hooks/pre-commit x.c", "tar --one-top-level=.git -xf x.tar", "xz -k .vscode/tasks.json"),
        *("python3 x.py --out=.claude/settings.json", "zip x.zip .bashrc"),
    ],
    "git verbs nobody expects": [
        *(
            "git my-alias",
            "git merge-index sh -a",
            "git hook run pre-commit",
            "git instaweb",
            "git daemon",
            "git credential fill",
        ),
        *(
            "git shell -c x",
            "git difftool",
            "git mergetool",
            "git for-each-repo --config=x y",
            "git checkout-index --prefix=/x/ -a",
        ),
    ],
    "single-dash options with a value": [
        *(
            "go test -exec=./x ./...",
            "go build -toolexec=./x",
            "go vet -vettool=./x",
            "go build --toolexec=./x",
            "go build -C=/x",
        ),
        *(
            "gcc -fplugin=./x.so x.c",
            "gcc -specs=x x.c",
            "gcc -B. x.c",
            "gcc @x",
            "openssl rsa --out=x",
            "openssl rsa -out=x",
        ),
    ],
    "programs in operands": [
        *(
            "perl -e x",
            "perl -lne x f",
            "ruby -e x",
            "ruby -ne x f",
            "make 'x=$(shell id)'",
            "make 'x!=id'",
            "less '+!id' x",
        ),
        *(
            "sqlite3 db '.shell id'",
            "sqlite3 db '.output x'",
            "sqlite3 db \"select writefile('a', 'b')\"",
            "psql -c '\\! id'",
        ),
        "psql -c \"copy t from program 'id'\"",
    ],
    "programs by standard input": [
        *(
            "cat x | python3",
            "cat x | python3.12",
            "cat x | node",
            "cat x | perl",
            "cat x | ruby",
            "python3 < x",
            "cat x | perl -w",
        ),
        "python3.12 -c x",
    ],
    "other hosts": ["tar cf host:/x .", "tar cf me@host:x .", "tar -cf host:x .", "tar --file=host:x -c ."],
    "absolute names": ["tar xPf x.tar", "tar -xPf x.tar"],
}
COVERED = [
    *("cat README.md", "cat .env.example", "cat .vscode/settings.json", "rg token .vscode", "git log -- .vscode", "git status"),
    *("git show HEAD:src/x.py", "tar xf x.tar", "tar czf x.tar.gz src", "tar cf ./a:b src", "make test", "make CC=gcc", "go test ./..."),
    *("gcc -O2 -o x x.c", "python3 x.py", "python3 --version", "node x.js", "perl x.pl", "sqlite3 db 'select 1'", "sqlite3 db .tables"),
    *("psql -c 'select 1'", "less +G x", "npm test", "pytest -q tests", "python3.12 x.py", "cat /dev/null"),
]  # fmt: skip


def runs_unasked(text: str, known: object = ALLOWED) -> bool:
    return isinstance(judged(script(text), known, context(UNTRUSTED, READ_ONLY))[1], Skip)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", BEYOND)
def test_a_rule_for_a_program_does_not_cover(kind: str) -> None:
    assert [text for text in BEYOND[kind] if runs_unasked(text)] == []


def test_a_rule_for_a_program_covers_its_ordinary_use() -> None:
    assert [text for text in COVERED if not runs_unasked(text)] == []


@pytest.mark.parametrize(
    "options", ["--junitxml=x", "--basetemp=/home/u", "-p evil", "--log-file=x", "--pdbcls=a:b", "-o python_files=x"]
)
def test_options_of_a_module_are_looked_at_as_those_of_the_program(options: str) -> None:
    assert runs_unasked("python -m pytest -q tests", MODULE)
    assert not runs_unasked(f"python -m pytest {options}", MODULE)


def test_a_pattern_that_names_the_secret_opens_it_to_its_program() -> None:
    known = rules('prefix_rule(pattern=["deploy", ".env"])\nprefix_rule(pattern=["git", "my-alias"])')
    assert runs_unasked("deploy .env", known)
    assert runs_unasked("git my-alias", known)


@pytest.mark.parametrize("name", IN_A_HOME)
def test_words_and_paths_agree_about_the_stores_in_a_home(name: str) -> None:
    for home in ("/home/u", "/root", "/home/other"):
        assert word_is_credential(f"{home}/{name}")
        assert is_credential(f"{home}/{name}", "/home/u")


@pytest.mark.parametrize(
    "text",
    [
        *(
            "faketime x git push",
            "cgexec -g cpu:x git push",
            "rbenv exec git push",
            "pyenv exec git push",
            "ssh-agent git push",
        ),
        *("dotenv git push", "dotenv -f x run git push", "cross-env A=1 git push", "env-cmd -f x git push"),
        *("git -c alias.x=push x", "git -c Alias.x='push --force' x", "git -c 'alias.x=!git push' x"),
    ],
)
def test_a_forbidden_command_is_found_behind_other_programs(text: str) -> None:
    known = rules('prefix_rule(pattern=["git", "push"], decision="forbidden")')
    assert isinstance(judged(script(text), known, context(UNTRUSTED, READ_ONLY))[1], Forbidden)
