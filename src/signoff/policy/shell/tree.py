"""Find every literal command in a script of any form, with tree-sitter. What is found here can only be restricted.

The grammar accepts texts that bash reads differently, so a byte that lies in no leaf and is no ordinary gap makes the
script unreadable: somebody has to look at it.
"""

import re
from collections.abc import Iterator

import tree_sitter
import tree_sitter_bash

from signoff.domain.late import late_pattern
from signoff.policy.shell.embedded import assigned_command
from signoff.policy.shell.examine import Findings
from signoff.policy.shell.plain import RESERVED, is_assignment
from signoff.policy.shell.script import follow_script, follow_segment, note_pipes
from signoff.policy.shell.segments import Join, Segment
from signoff.policy.shell.words import Dialect, Dynamic, Kind, Refused, read_word

_PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
_MAX_NESTING = 200
_GAP = late_pattern(rb"(?:[ \t\n]|\\\n)*")
_BLANK_INSIDE = late_pattern(rb"(?<!\\)[ \t\n]")
_LONE_DASH = late_pattern(r"(?<=[ \t])-(?=[ \t]*<<)")  # the grammar loses it
_WORD_AFTER_NEWLINE = late_pattern(r"(^|\n)([ \t]*)\\(?=[A-Za-z0-9_./-])")
_ARGUMENTS = frozenset(
    "word number string raw_string concatenation ansi_c_string translated_string simple_expansion expansion arithmetic_expansion "
    "command_substitution process_substitution brace_expression regex extglob_pattern test_operator { }".split()
)  # fmt: skip
_ESCAPED = late_pattern(r'\\([`$\\"])')
_LITERAL = late_pattern(r"[A-Za-z0-9_./:=@%+,-]+")
_WRITES = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<>"})
_OPERATORS = _WRITES | {"<", "<&", "<&-", ">&-"}
_DESCRIPTOR = late_pattern(r"[0-9]+-?|-")
_AFTER_BRACE = frozenset({b" ", b"\t", b"\n", b"("})
_OWN_BLANKS = frozenset(
    {
        "string",
        "heredoc_body",
        "heredoc_content",
        "expansion",
        "raw_string",
        "ansi_c_string",
        "comment",
        "arithmetic_expansion",
        "regex",
    }
)
_EXPRESSIONS = frozenset(
    "unary_expression binary_expression parenthesized_expression ternary_expression postfix_expression".split()
)
_OPENS = RESERVED - {"time", "coproc", "!", "in"}
_STARTS_SOMETHING = frozenset({"test_command", "declaration_command", "unset_command"})


def follow_tree(findings: Findings, script: str, depth: int) -> None:
    """Read the text as it is and, where that differs, with the forms written out that the grammar misreads."""
    script = _LONE_DASH.sub(r"\-", script)
    _walk_text(findings, script, depth)
    written_out = _WORD_AFTER_NEWLINE.sub(r"\1\2", script.replace("\\\n", ""))
    if written_out != script:
        _walk_text(findings, written_out, depth)


class _Tree:
    """One walk over one parse."""

    def __init__(self, findings: Findings, source: bytes, depth: int) -> None:
        self.findings, self.source, self.depth = findings, source, depth
        self.redirects: dict[int, list[tree_sitter.Node]] = {}  # of the last command of a pipe, by its node

    def text(self, node: tree_sitter.Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "surrogatepass")

    def walk(self, node: tree_sitter.Node, level: int = 0, join: Join = Join.START) -> None:
        if level > _MAX_NESTING:
            self.findings.ask("", "nested too deeply")
            return
        kind = node.type
        if kind == "command":
            self.command(node, self.redirects.get(node.id, []), join)
        elif kind == "redirected_statement":
            self.redirected(node, join, level)
            return
        elif kind == "pipeline":
            self.pipeline(node, level)
            return
        elif kind in _STARTS_SOMETHING or (kind == "variable_assignment" and not is_assignment(self.text(node))):
            self.other_command(node)
        elif kind == "function_definition":
            self.function(node)
        elif (
            kind == "compound_statement" and self.source[node.start_byte + 1 : node.start_byte + 2] not in _AFTER_BRACE
        ):
            self.findings.ask(self.text(node), "a brace that the shell takes for a word")
        elif kind in ("heredoc_body", "expansion"):
            self.hidden_substitutions(node)
        elif kind == "command_substitution":
            self.backquoted(node)
        elif kind == "variable_assignment":
            self.assignment(node)
        elif kind == "arithmetic_expansion" and self.text(node).count("(") != self.text(node).count(")"):
            self.findings.ask(self.text(node), "arithmetic that the shell may take for a command")
        for child in node.children:
            if child.child_count or child.type in ("heredoc_body",):
                self.walk(child, level + 1)

    def command(self, node: tree_sitter.Node, redirects: list[tree_sitter.Node], join: Join) -> None:
        segment = Segment([], self.text(node), join, [], [], fed=join is Join.PIPE)
        words = self.words([*node.children, *redirects], segment)
        self.start(words, segment)

    def words(self, nodes: list[tree_sitter.Node], segment: Segment) -> list[str]:
        """The words among these children; those that touch are one word, whatever the grammar says."""
        spans: list[tuple[int, int]] = []
        redirection_end = -1
        for node in nodes:
            if node.start_byte == redirection_end:
                self.findings.ask(segment.text, "a redirection that the shell reads differently")
            redirection_end = node.end_byte if node.type.endswith("_redirect") else -1
            if node.type == "file_redirect":
                spans.extend(self.file_redirect(node, segment))
            elif node.type == "herestring_redirect":
                self.herestring(node, segment)
            elif node.type == "heredoc_redirect":
                spans.extend(self.heredoc(node, segment))
            elif node.type == "variable_assignment" and not spans and is_assignment(self.text(node)):
                self.findings.not_plain("an assignment")
            else:
                spans.append((node.start_byte, node.end_byte))
        return [self.word(start, end) for start, end in _joined(spans)]

    def start(self, words: list[str], segment: Segment) -> None:
        """Follow the command; where the grammar took a word of the shell for a program, every suffix is one."""
        if not words:
            if segment.writes or segment.reads:
                segment.words = [":"]
                follow_segment(self.findings, segment, self.depth)
            return
        segment.words = words
        follow_segment(self.findings, segment, self.depth)
        begins = (
            words[1:3] if words[0] == "coproc" else words[1:2]
        )  # `coproc NAME case …`: the grammar knows none of it
        if words[0] in _OPENS or (words[0] in RESERVED and not _OPENS.isdisjoint(begins)):
            self.findings.ask(segment.text, "a construct that was not read as one")
        if words[0] in RESERVED or is_assignment(words[0]) or words[0] in ("function", "-"):
            for index in range(1, min(len(words), 20)):
                if words[index] not in RESERVED:
                    follow_segment(self.findings, Segment(words[index:], segment.text), self.depth)

    def other_command(self, node: tree_sitter.Node) -> None:
        segment = Segment([], self.text(node))
        self.start(self.words(list(_parts(node)), segment), segment)

    def redirected(self, node: tree_sitter.Node, join: Join, level: int) -> None:
        """The grammar hangs the redirections of a whole pipe's last command on the pipe."""
        body = node.child_by_field_name("body")
        redirects = [child for child in node.children if child.type.endswith("_redirect")]
        last = body
        while last is not None and last.type in ("pipeline", "list"):
            last = last.children[-1]
        if last is not None and last.type == "command":
            self.redirects[last.id] = redirects
        else:
            segment = Segment([], self.text(node), join, [], [])
            self.start(self.words(redirects, segment), segment)
        if body is not None:
            self.walk(body, level + 1, join)
        for child in redirects:
            self.walk(child, level + 1)

    def pipeline(self, node: tree_sitter.Node, level: int) -> None:
        join = Join.START
        members: list[Segment] = []
        for child in node.children:
            if child.child_count:
                self.walk(child, level + 1, join)
                inner = child.child_by_field_name("body") if child.type == "redirected_statement" else child
                if inner is not None and inner.type == "command":
                    member = Segment([], self.text(inner), join, [], [])
                    member.words = self.words(inner.children, member) or [":"]
                    members.append(member)
                join = Join.PIPE
        note_pipes(self.findings, members)

    def word(self, start: int, end: int) -> str:
        text = self.source[start:end].decode("utf-8", "surrogatepass")
        if _LITERAL.fullmatch(text):
            return text
        try:
            word, read = read_word(text, 0, self.findings.home, Dialect.BASH)
        except Refused:
            return Dynamic.of(Kind.UNKNOWN, text)
        return word if read == len(text) else Dynamic.of(Kind.UNKNOWN, text)

    def file_redirect(self, node: tree_sitter.Node, segment: Segment) -> list[tuple[int, int]]:
        """Note the target; the words behind it, which the grammar hangs below the redirection, are given back."""
        operator, spans = "", []
        for child in node.children:
            if child.type == "file_descriptor":
                if not self.text(child).isdecimal():
                    self.findings.ask(self.text(node), "a redirection that the shell reads differently")
            elif child.type in _OPERATORS and not operator:
                operator = child.type
            else:
                spans.append((child.start_byte, child.end_byte))
        spans = _joined(spans)
        if operator in (">&-", "<&-") or not spans:
            return spans
        target = self.word(*spans[0])
        if operator in _WRITES and not (operator == ">&" and _DESCRIPTOR.fullmatch(target)):
            if target != "/dev/null":
                segment.writes.append(target)
        elif operator == "<":
            segment.reads.append(target)
            segment.fed = True
        return spans[1:]

    def herestring(self, node: tree_sitter.Node, segment: Segment) -> None:
        segment.fed = True
        spans = _joined([(child.start_byte, child.end_byte) for child in node.children if child.type != "<<<"])
        word = self.word(*spans[0]) if len(spans) == 1 else Dynamic.of(Kind.UNKNOWN, "")
        segment.stdin = None if isinstance(word, Dynamic) else word

    def heredoc(self, node: tree_sitter.Node, segment: Segment) -> list[tuple[int, int]]:
        segment.fed = True
        if self.text(node).partition("\n")[0].replace("<<<", "").count("<<") > 1 or segment.stdin is not None:
            self.findings.ask(segment.text, "more than one here-document at once")
        spans: list[tuple[int, int]] = []
        for child in node.children:
            if child.type == "heredoc_body":
                segment.stdin = self.text(child)
            elif child.type == "file_redirect":
                spans.extend(self.file_redirect(child, segment))
            elif child.type in _ARGUMENTS:
                spans.append((child.start_byte, child.end_byte))
        return spans

    def function(self, node: tree_sitter.Node) -> None:
        self.findings.not_plain("a function")
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return
        word, inside = self.text(name), self.text(body)
        calls = re.findall(rf"(?:^|[\s;|&{{(]){re.escape(word)}(?=$|[\s;|&}})])", inside)
        if calls and ("&" in inside or (len(calls) > 1 and "|" in inside)):
            self.findings.ask(self.text(node), "a function that multiplies itself")

    def assignment(self, node: tree_sitter.Node) -> None:
        """`PAGER=…`: some variables name a command."""
        word = self.word(node.start_byte, node.end_byte)
        command = None if isinstance(word, Dynamic) else assigned_command(word)
        if command:
            follow_script(self.findings, command, self.depth + 1, Dialect.POSIX)

    def hidden_substitutions(self, node: tree_sitter.Node) -> None:
        """Backticks inside `${…}` and in here-documents are plain text to the grammar."""
        if node.type == "expansion" and "@P" in self.text(node):
            self.findings.ask(self.text(node), "runs what a variable holds")
        for match in re.finditer(r"`((?:[^`\\]|\\.)*)`", self.text(node), re.DOTALL):
            follow_script(self.findings, _ESCAPED.sub(r"\1", match[1]), self.depth + 1, Dialect.BASH)

    def backquoted(self, node: tree_sitter.Node) -> None:
        """What is escaped between backquotes is read a second time without the backslashes: another substitution, maybe."""
        text = self.text(node)
        if text[:1] == "`" and "\\" in text:
            follow_script(self.findings, _ESCAPED.sub(r"\1", text[1:-1]), self.depth + 1, Dialect.BASH)


def _parts(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The words of a test, which the grammar arranges as expressions."""
    for child in node.children:
        if child.type in _EXPRESSIONS:
            yield from _parts(child)
        else:
            yield child


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans that touch, made one."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


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
    for start, end, quoted in _leaves(root):
        if start > position and _GAP.fullmatch(source, position, start) is None:
            return False
        if not quoted and end - start > 1 and _BLANK_INSIDE.search(source, start, end):
            return False
        position = max(position, end)
    return _GAP.fullmatch(source, position) is not None


def _leaves(root: tree_sitter.Node) -> Iterator[tuple[int, int, bool]]:
    """Leaves in order, and whether white space is theirs: quoted text and here-documents are one leaf each."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.child_count and node.type not in _OWN_BLANKS:
            stack.extend(reversed(node.children))
        else:
            yield node.start_byte, node.end_byte, node.type in _OWN_BLANKS
