"""Ignoring is what git says it is."""

import pathlib
import subprocess

import pytest

from signoff.files.ignore import walk

FILES = (
    "a.py",
    "b.log",
    "keep.log",
    "out/x",
    "d/out/y",
    "d/b.log",
    "d/e/f.tmp",
    "d/e/g",
    "sp ace",
    "[x]",
    "d/only/z",
    "#h",
)


@pytest.mark.parametrize(
    "rules",
    [
        {"": "*.log\n!keep.log\n"},
        {"": "/out/\n"},
        {"": "out\n"},
        {"": "d/**/*.tmp\n"},
        {"": "**/e\n"},
        {"": "d/*\n!d/e\n"},
        {"": "sp\\ ace\n\\#h\n# comment\n\n"},
        {"": "[[]x]\n?.py\n"},
        {"": "*\n!*.py\n"},
        {"": "[!a].py\n[a-c].log\n"},
        {"": "*.log\n", "d": "!b.log\nonly/\n"},
        {"": "d/\n", "d": "!b.log\n"},
        {"": "trailing   \nb.log   \n"},
    ],
)
def test_what_is_left_out_is_what_git_leaves_out(tmp_path: pathlib.Path, rules: dict[str, str]) -> None:
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for directory, text in rules.items():
        (tmp_path / directory / ".gitignore").write_text(text)
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=tmp_path, env=environ, check=True, capture_output=True
        ).stdout.decode()

    git("init", "-q")
    expected = git("ls-files", "-z", "--others", "--exclude-standard").split("\0")
    found = [path for path, entry in walk(str(tmp_path)) if entry.is_file()]
    assert sorted(found) == sorted(name for name in expected if name)
