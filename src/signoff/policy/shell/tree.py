"""Find every literal command in a script of any form, with tree-sitter. What is found here can only be restricted.

The grammar accepts texts that bash reads differently, so a byte that lies in no leaf and is no ordinary gap makes the
script unreadable: somebody has to look at it.
"""

import re
from collections.abc import Iterator

import tree_sitter
import tree_sitter_bash

from signoff.policy.shell.examine import Findings
from signoff.policy.shell.plain import RESERVED, is_assignment
from signoff.policy.shell.script import follow_script, follow_segment, note_pipes
from signoff.policy.shell.segments import Join, Segment
from signoff.policy.shell.words import Dialect, Dynamic, Kind, Refused, read_word

_PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
_MAX_NESTING = 200
_GAP = re.compile(rb"(?:[ \t\n]|\\\n)*")
_WORD_AFTER_NEWLINE = re.compile(r"(^|\n)([ \t]*)\\(?=[A-Za-z0-9_./-])")
_ARGUMENTS = frozenset(
    "word number string raw_string concatenation ansi_c_string translated_string simple_expansion expansion arithmetic_expansion "
    "command_substitution process_substitution brace_expression regex extglob_pattern test_operator { }".split()
)  # fmt: skip
_WRITES = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<>"})
_DESCRIPTOR = re.compile(r"[0-9]+-?|-")
_DECLARATIONS = frozenset({"declaration_command", "unset_command"})


def follow_tree(findings: Findings, script: str, depth: int) -> None:
    """Read the text as it is and, where that differs, with the forms written out that the grammar misreads."""
    _walk_text(findings, script, depth)
    written_out = _WORD_AFTER_NEWLINE.sub(r"\1\2", script.replace("\\\n", ""))
    if written_out != script:
        _walk_text(findings, written_out, depth)


class _Tree:
    """One walk over one parse."""

    def __init__(self, findings: Findings, source: bytes, depth: int) -> None:
        self.findings, self.source, self.depth = findings, source, depth

    def text(self, node: tree_sitter.Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "surrogatepass")

    def walk(self, node: tree_sitter.Node, level: int = 0, join: Join = Join.START) -> None:
        if level > _MAX_NESTING:
            self.findings.ask("", "nested too deeply")
            return
        kind = node.type
        if kind == "command":
            self.command(node, [], join)
        elif kind == "redirected_statement":
            self.redirected(node, join, level)
            return
        elif kind == "pipeline":
            self.pipeline(node, level)
            return
        elif kind in ("test_command", *_DECLARATIONS):
            self.other_command(node)
        elif kind == "function_definition":
            self.function(node)
        elif kind == "heredoc_body" or kind == "expansion":
            self.hidden_substitutions(node)
        for child in node.children:
            if child.child_count or child.type in ("heredoc_body",):
                self.walk(child, level + 1)

    def command(self, node: tree_sitter.Node, redirects: list[tree_sitter.Node], join: Join) -> None:
        words: list[str] = []
        segment = Segment([], self.text(node), join, [], [], fed=join is Join.PIPE)
        for child in node.children:
            kind = child.type
            if kind == "command_name":
                words.append(self.word(child.children[0] if child.child_count else child))
            elif kind == "file_redirect":
                words.extend(self.file_redirect(child, segment))
            elif kind == "herestring_redirect":
                self.herestring(child, segment)
            elif kind == "variable_assignment":
                self.findings.not_plain("an assignment")
            elif kind in _ARGUMENTS or kind not in ("heredoc_redirect",):
                words.append(self.word(child))
        for redirect in redirects:
            if redirect.type == "file_redirect":
                words.extend(self.file_redirect(redirect, segment))
            elif redirect.type == "herestring_redirect":
                self.herestring(redirect, segment)
            elif redirect.type == "heredoc_redirect":
                words.extend(self.heredoc(redirect, segment))
        self.start(words, segment)

    def start(self, words: list[str], segment: Segment) -> None:
        """Follow the command; where the grammar took a word of the shell for a program, every suffix is one."""
        if not words:
            if segment.writes or segment.reads:
                segment.words = [":"]
                follow_segment(self.findings, segment, self.depth)
            return
        segment.words = words
        follow_segment(self.findings, segment, self.depth)
        if words[0] in RESERVED or is_assignment(words[0]) or words[0] in ("function", "-"):
            for index in range(1, min(len(words), 20)):
                if words[index] not in RESERVED:
                    follow_segment(self.findings, Segment(words[index:], segment.text), self.depth)

    def other_command(self, node: tree_sitter.Node) -> None:
        words = [self.word(child) for child in node.children if child.type not in ("variable_assignment",)]
        if words:
            follow_segment(self.findings, Segment(words, self.text(node)), self.depth)

    def redirected(self, node: tree_sitter.Node, join: Join, level: int) -> None:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.children if child.type.endswith("_redirect")]
        if body is not None and body.type == "command":
            self.command(body, redirects, join)
        else:
            segment = Segment([], self.text(node), join, [], [])
            rest: list[str] = []
            for redirect in redirects:
                if redirect.type == "file_redirect":
                    rest.extend(self.file_redirect(redirect, segment))
                elif redirect.type == "heredoc_redirect":
                    rest.extend(self.heredoc(redirect, segment))
            self.start(rest, segment)
            if body is not None:
                self.walk(body, level + 1, join)
        for child in [*(body.children if body is not None and body.type == "command" else ()), *redirects]:
            if child.child_count:
                self.walk(child, level + 1)

    def pipeline(self, node: tree_sitter.Node, level: int) -> None:
        join = Join.START
        members: list[Segment] = []
        for child in node.children:
            if child.child_count:
                self.walk(child, level + 1, join)
                inner = child.child_by_field_name("body") if child.type == "redirected_statement" else child
                if inner is not None and inner.type == "command":
                    members.append(Segment(self.words(inner) or [":"], self.text(inner), join))
                join = Join.PIPE
        note_pipes(self.findings, members)

    def words(self, node: tree_sitter.Node) -> list[str]:
        return [
            self.word(child.children[0] if child.type == "command_name" and child.child_count else child)
            for child in node.children
            if child.type in _ARGUMENTS or child.type == "command_name"
        ]

    def word(self, node: tree_sitter.Node) -> str:
        text = self.text(node)
        try:
            word, end = read_word(text, 0, self.findings.home, Dialect.BASH)
        except Refused:
            return Dynamic.of(Kind.UNKNOWN, text)
        return word if end == len(text) else Dynamic.of(Kind.UNKNOWN, text)

    def file_redirect(self, node: tree_sitter.Node, segment: Segment) -> list[str]:
        """The target, and the words behind it, which the grammar hangs below the redirection."""
        operator, targets = "", []
        for child in node.children:
            if child.type == "file_descriptor":
                if not self.text(child).isdecimal():
                    targets_before = self.text(child)
                    self.findings.ask(targets_before, "a redirection that is read differently by the shell")
            elif child.type in _WRITES or child.type in ("<", "<&", "<&-", ">&-"):
                operator = child.type
            else:
                targets.append(self.word(child))
        if not targets:
            return []
        target = targets[0]
        if operator in _WRITES and not (operator == ">&" and _DESCRIPTOR.fullmatch(target)):
            if target != "/dev/null":
                segment.writes.append(target)
        elif operator == "<":
            segment.reads.append(target)
            segment.fed = True
        return targets[1:]

    def herestring(self, node: tree_sitter.Node, segment: Segment) -> None:
        segment.fed = True
        for child in node.children:
            if child.type != "<<<":
                word = self.word(child)
                segment.stdin = None if isinstance(word, Dynamic) else word

    def heredoc(self, node: tree_sitter.Node, segment: Segment) -> list[str]:
        segment.fed = True
        words: list[str] = []
        for child in node.children:
            if child.type == "heredoc_body":
                segment.stdin = self.text(child)
            elif child.type in _ARGUMENTS:
                words.append(self.word(child))
            elif child.type == "file_redirect":
                words.extend(self.file_redirect(child, segment))
        return words

    def function(self, node: tree_sitter.Node) -> None:
        self.findings.not_plain("a function")
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return
        word, inside = self.text(name), self.text(body)
        calls = re.findall(rf"(?:^|[\s;|&{{(]){re.escape(word)}(?=$|[\s;|&}})])", inside)
        if calls and ("&" in inside or (len(calls) > 1 and "|" in inside)):
            self.findings.ask(self.text(node), "a function that multiplies itself")

    def hidden_substitutions(self, node: tree_sitter.Node) -> None:
        """Backticks inside `${…}` and in here-documents are plain text to the grammar."""
        for match in re.finditer(r"`((?:[^`\\]|\\.)*)`", self.text(node), re.DOTALL):
            follow_script(self.findings, match[1], self.depth + 1, Dialect.BASH)


def _walk_text(findings: Findings, script: str, depth: int) -> None:
    source = script.encode("utf-8", "surrogatepass")
    root = _PARSER.parse(source).root_node
    if root.has_error:
        findings.ask(script, "not valid shell, or not read as such")
    elif not _gaps_are_gaps(root, source):
        findings.ask(script, "text that belongs to no part of a command")
    _Tree(findings, source, depth).walk(root)


def _gaps_are_gaps(root: tree_sitter.Node, source: bytes) -> bool:
    """Whether everything between two leaves is white space, and no leaf hides any at its start."""
    position = 0
    for start, end in _leaves(root):
        if start > position and _GAP.fullmatch(source, position, start) is None:
            return False
        if source[start : start + 1] in (b" ", b"\t") and end - start > 1:
            return False
        position = max(position, end)
    return _GAP.fullmatch(source, position) is not None


def _leaves(root: tree_sitter.Node) -> Iterator[tuple[int, int]]:
    """Leaves in order; quoted text and here-documents are one leaf each, since white space is theirs."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.child_count and node.type not in ("string", "heredoc_body", "expansion", "command_substitution"):
            stack.extend(reversed(node.children))
        else:
            yield node.start_byte, node.end_byte
