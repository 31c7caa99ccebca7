"""A restriction reaches what is started, however it is dressed; a grant ends where a program is made to load or run more."""

import pytest

from signoff.domain.requirement import Forbidden, Skip
from tests.policy.judged import READ_ONLY, UNTRUSTED, context, judged, rules, script

FORBIDDEN = rules('prefix_rule(pattern=["evil"], decision="forbidden")')
DRESSED = [
    'echo "a`echo \\`evil x\\``"', "echo `echo \\`echo \\\\\\`evil x\\\\\\`\\``", "cat <<E\n`echo \\`evil x\\``\nE",
    "xargs -I{} sh -c 'evil {}'", "xargs -I{} sh -c 'echo; evil x'", "find . -exec sh -c 'evil {}' \\;", "ls | xargs -I % sh -c 'evil %'",
    "git bisect run sh -c 'evil x'", "git bisect run evil x", "git submodule foreach sh -c 'evil x'", "git submodule foreach --recursive 'evil x'",
    "export GIT_PAGER='evil x'; git log", "declare -x EDITOR='evil x'", "ssh -o 'ProxyCommand evil x' h", "ssh -oPROXYCOMMAND=evil h", "scp -o 'ProxyCommand evil x' a b:",
    "ip netns exec x evil x", "ip vrf exec x evil x", "fish -C 'evil x'", "fish --init-command='evil x'", "flatpak-spawn --host evil x", "distrobox enter x -- evil x", "rustup run stable evil x",
    "pixi run evil x", "foreman run evil x", "pwsh -Command 'evil x'", "cmd /c 'evil x'", "tcpdump -z 'evil x' -w y", "nano -s 'evil x' y", "repo forall -c 'evil x'", "cargo watch -s 'evil x'",
]  # fmt: skip
PROGRAMS = [
    "awk",
    "cargo",
    "cpio",
    "curl",
    "env",
    "gcc",
    "gdb",
    "gh",
    "git",
    "go",
    "hg",
    "less",
    "ls",
    "make",
    "mysql",
    "nano",
    "openssl",
    "patch",
    "pip",
    "ssh",
    "ssh-keygen",
    "sudo",
    "tar",
    "tcpdump",
    "terraform",
]
ALLOWED = rules("\n".join(f'prefix_rule(pattern=["{program}"])' for program in PROGRAMS))
BEYOND = [
    "git config core.pager 'touch x'", "git config set core.editor x", "git config core.hooksPath x", "git config unset x", "git maintenance start", "git lfs install",
    "env PATH=. ls", "env LD_PRELOAD=./x.so ls", "sudo LD_LIBRARY_PATH=. ls", "env -i NODE_OPTIONS=-r=x ls", "sudo --shell", "sudo --user root --login",
    "ssh -I ./x.so h", "ssh-keygen -D ./x.so", "ssh-keygen -w ./x.so -t ed25519-sk", "make CC='touch x'", "make RM=./x clean", "gcc -Wl,-plugin,./x.so x.c", "gcc -fuse-ld=./x x.c",
    "tcpdump -i lo -z x -w y", "tcpdump -zx -w y", "hg clone -e x ssh://h/y", "hg pull --remotecmd x", "cpio -iF h:x --rsh-command=y", "nano --speller=x y", "less --lesskey-content=x y",
    "gdb --command=x y", "gdb --init-command=x", "mysql -e '\\! id'", "mysql -e 'system id'", "mysql --pager='id'", "mysql -e \"select 1 into outfile 'x'\"", "mysql --defaults-file=x",
    "gh alias set x '!id'", "gh extension install x", "gh config set pager x", "gh auth token", "openssl engine ./x.so", "pip config set global.index-url x", "pip --python=x install y", "pip install -i http://x y",
    "curl -n https://h", "curl -x http://other https://h", "curl -w '%output{x}' https://h", "curl 'fil[e-e]:///home/u/.ssh/id_rsa'", "curl 'file:///home/u/.ss[h-h]/id_rsa'", "cargo -C x build", "go env -w CC=x",
    "patch -o x y", "patch -d / -i x", "terraform -chdir=x apply", "terraform init -plugin-dir=x", "tar cf x --index-file=y z", "tar cf x --remove-files y",
]  # fmt: skip
ORDINARY = [
    "git config --get user.name", "git config -l", "env A=1 ls", "make CC=clang", "make PREFIX=/usr", "gcc -Wl,-O1 x.c", "tcpdump -i lo -c 1",
    "mysql -e 'select 1'", "gh pr list", "pip install x", "curl https://h", "cargo test -p x", "go test ./...", "patch -p1 -i x", "ssh -p 22 h", "nano x", "hg log", "sudo ls",
]  # fmt: skip


@pytest.mark.parametrize("text", DRESSED)
def test_a_restriction_reaches(text: str) -> None:
    assert isinstance(judged(script(text), FORBIDDEN, context())[1], Forbidden)


def runs_unasked(text: str) -> bool:
    return isinstance(judged(script(text), ALLOWED, context(UNTRUSTED, READ_ONLY))[1], Skip)


def test_a_rule_for_a_program_does_not_cover_what_makes_it_load_or_run_more() -> None:
    assert [text for text in BEYOND if runs_unasked(text)] == []


def test_a_rule_for_a_program_covers_what_is_close_to_it() -> None:
    assert [text for text in ORDINARY if not runs_unasked(text)] == []


def test_a_reader_of_fields_that_connects_to_a_host_is_not_known_to_be_harmless() -> None:
    nothing, strict = rules(), context(UNTRUSTED, READ_ONLY)
    assert isinstance(judged(script("awk '{print $1}' f"), nothing, strict)[1], Skip)
    assert not isinstance(judged(script("awk '{print $1}' /inet/tcp/0/h/80"), nothing, strict)[1], Skip)
