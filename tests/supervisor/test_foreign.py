"""Somebody else's tool call as an intent."""

import pathlib
from typing import Any

import pytest

from signoff.domain.errors import ConfigError
from signoff.domain.intent import Action, Command, FileDelete, FileRead, FileWrite, Host, Opaque
from signoff.supervisor.foreign import Kind, foreign_intent, mapping_of

UNKNOWN = Opaque("unheard.of", "an unknown tool that runs something")

CASES: list[tuple[str, str, Any, list[object]]] = [
    ("fs.read", "read", {"path": "a.txt"}, [FileRead("/ws/a.txt")]),
    ("Read", "read", {"file_path": "/etc/passwd"}, [FileRead("/etc/passwd")]),
    ("fs.read", "read", "b.txt", [FileRead("/ws/b.txt")]),
    ("fs.write", "write", {"path": "../x"}, [FileWrite("/x")]),
    ("delete_file", "write", {"path": "x"}, [FileDelete("/ws/x")]),
    ("net.http", "net", {"url": "https://example.org:8443/a?b"}, [Host("example.org", 8443, "https")]),
    ("net.http", "net", {"url": "http://[::"}, [Opaque("http://[::", "an address without a host")]),
    ("unheard.of", "read", {"path": "a"}, [FileRead("/ws/a")]),
    ("unheard.of", "write", {"path": "a"}, [FileWrite("/ws/a")]),
    ("unheard.of", "exec", {"path": "a"}, [FileWrite("/ws/a"), UNKNOWN]),
    ("unheard.of", "write", {"edits": [{"path": "a"}, {"path": "b"}]}, [FileWrite("/ws/a"), FileWrite("/ws/b")]),
    ("fs.read", "write", {"path": "a"}, [FileWrite("/ws/a")]),
    ("copy", "write", {"path": "a", "dst": "/etc/x"}, [FileWrite("/ws/a"), FileWrite("/etc/x")]),
    ("copy", "write", {"path": "a", "where": "../../x"}, [FileWrite("/ws/a"), FileWrite("/x")]),
    ("copy", "write", {"newPath": "a", "absolute_path": "~/b"}, [FileWrite("/ws/a"), FileWrite("/home/u/b")]),
    ("fs.write", "write", {"path": "a", "content": "/etc/x"}, [FileWrite("/ws/a")]),
    ("fs.write", "write", {"path": "a\0b"}, [Opaque("a\0b", "a path that no system call takes")]),
    ("fs.read", "read", {"path": "\ud800"}, [Opaque("\ud800", "a path that no system call takes")]),
    (
        "apply_patch",
        "write",
        {"patch": "*** Begin Patch\n*** Add File: a\0b\n+x\n*** End Patch"},
        [Opaque("a\0b", "a path that no system call takes")],
    ),
    ("unheard.of", "exec", {"n": 1}, []),
    (
        "apply_patch",
        "write",
        {"patch_text": "*** Begin Patch\n*** Delete File: gone\n*** End Patch"},
        [FileWrite("/ws/gone")],
    ),
    ("display", "read", {"content": "hello"}, []),
    ("shell", "exec", {"nothing": 1}, [Opaque("{'nothing': 1}", "no command found in the arguments of shell")]),
]


@pytest.mark.parametrize(("tool", "action", "args", "aspects"), CASES)
def test_arguments_become_aspects(tool: str, action: str, args: Any, aspects: list[object]) -> None:
    assert list(foreign_intent(tool, Action(action), args, cwd="/ws", home="/home/u").aspects) == aspects


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("shell", {"command": "rm -rf build"}),
        ("Bash", {"command": "rm -rf build"}),
        ("exec", {"argv": ["bash", "-lc", "rm -rf build"]}),
        ("exec", {"cmd": ["rm", "-rf", "build"]}),
        ("shell", "rm -rf build"),
        ("shell", {"command": "rm", "args": ["-rf", "build"]}),
        ("shell", {"command": "bash", "args": ["-c", "rm -rf build"]}),
        ("unheard.of", {"deep": {"command": "rm -rf build"}}),
    ],
)
def test_a_command_is_found_wherever_a_tool_puts_it(tool: str, args: Any) -> None:
    intent = foreign_intent(tool, Action.EXEC, args, cwd="/ws", home="/home/u")
    commands = [aspect.words for aspect in intent.aspects if isinstance(aspect, Command)]
    assert ("rm", "-rf", "build") in commands
    assert intent.argv is not None


def test_links_are_resolved_and_the_given_directory_counts(tmp_path: pathlib.Path) -> None:
    (tmp_path / "link").symlink_to("/etc")
    intent = foreign_intent("fs.read", Action.READ, {"path": "link/passwd", "cwd": str(tmp_path)}, cwd="/ws", home="/h")
    assert intent.aspects == (FileRead("/etc/passwd"),)


def test_a_mapping_names_tools_nobody_knows() -> None:
    intent = foreign_intent(
        "acme.remove", Action.WRITE, {"path": "x"}, cwd="/ws", home="/h", mapping={"acme.remove": Kind.DELETE}
    )
    assert intent.aspects == (FileDelete("/ws/x"),)


def test_bottomless_arguments_are_opaque() -> None:
    args: Any = {"path": "x"}
    for _ in range(20):
        args = {"a": args}
    intent = foreign_intent("t", Action.EXEC, args, cwd="/ws", home="/h")
    assert any(isinstance(aspect, Opaque) for aspect in intent.aspects)
    many = foreign_intent("t", Action.EXEC, [{"path": str(n)} for n in range(5000)], cwd="/ws", home="/h")
    assert any(isinstance(aspect, Opaque) for aspect in many.aspects)


def test_variables_set_for_a_command_are_asked_about() -> None:
    args = {"command": "ls", "env": {"LD_PRELOAD": "./x.so"}}
    aspects = foreign_intent("shell", Action.EXEC, args, cwd="/ws", home="/h").aspects
    assert any(isinstance(aspect, Opaque) for aspect in aspects)


def test_the_settings_can_say_what_a_tool_does() -> None:
    assert mapping_of(["acme.remove=delete", "a=b=read"]) == {"acme.remove": Kind.DELETE, "a=b": Kind.READ}
    for wrong in ("acme", "=read", "acme=explode"):
        with pytest.raises(ConfigError):
            mapping_of([wrong])
