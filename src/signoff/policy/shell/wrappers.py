"""Programs that start another program: how to read past their own options. Data; `unwrap.py` uses it."""

import msgspec

from signoff.policy.commands.options import Options


class Wrapper(msgspec.Struct, frozen=True):
    """`options`, then `NAME=VALUE` words if `assignments`, then `positionals` words of its own, then the command."""

    options: Options
    positionals: int = 0
    assignments: bool = False
    transparent: bool = False  # adds nothing of its own, so what it starts may be granted through it
    scripts: str = ""  # short options whose value is a script
    long_scripts: frozenset[str] = frozenset()


def _wrapper(
    flags: str = "", values: str = "", long: str = "", positionals: int = 0, *, transparent: bool = False, assignments: bool = False,
    scripts: str = "", long_scripts: str = "",
) -> Wrapper:  # fmt: skip
    options = Options.of(flags, values + scripts, long + "".join(f" {name}=" for name in long_scripts.split()))
    return Wrapper(options, positionals, assignments, transparent, scripts, frozenset(long_scripts.split()))


WRAPPERS: dict[str, Wrapper] = {
    "env": _wrapper("i0v", "uCa", "ignore-environment null debug unset= chdir= argv0=", assignments=True),
    "sudo": _wrapper(
        "AbBEHKklnPSVv", "CDghpRrTtUu",
        "askpass background bell preserve-env set-home login non-interactive preserve-groups stdin close-from= chdir= group= "
        "host= prompt= chroot= role= command-timeout= type= other-user= user=", assignments=True,
    ),
    "doas": _wrapper("Lns", "Cu"),
    "su": _wrapper("lmpPf-", "gGsw", "login preserve-environment fast pty group= supp-group= shell=", scripts="c", long_scripts="command session-command"),
    "runuser": _wrapper("lmpPf-", "gGsuw", "login preserve-environment fast pty group= supp-group= shell= user=", scripts="c", long_scripts="command session-command"),
    "sg": _wrapper("", "", "", 1, scripts="c"),
    "nohup": _wrapper(),
    "setsid": _wrapper("cfw", "", "ctty fork wait"),
    "pkexec": _wrapper("", "", "user= disable-internal-agent keep-cwd"),
    "torify": _wrapper(), "torsocks": _wrapper(), "eatmydata": _wrapper(), "fakeroot": _wrapper(), "unbuffer": _wrapper("p"),
    "proxychains": _wrapper("q", "f"), "proxychains4": _wrapper("q", "f"), "catchsegv": _wrapper(), "dbus-run-session": _wrapper(),
    "timeout": _wrapper("v", "ks", "foreground preserve-status verbose kill-after= signal=", 1, transparent=True),
    "nice": _wrapper("0123456789", "n", "adjustment=", transparent=True),
    "ionice": _wrapper("t", "cn", "ignore class= classdata="),
    "chrt": _wrapper("abdfiorRv", "TPD", "all-tasks batch deadline fifo idle other rr reset-on-fork verbose", 1),
    "taskset": _wrapper("ac", "", "all-tasks cpu-list", 1),
    "stdbuf": _wrapper("", "ioe", "input= output= error=", transparent=True),
    "prlimit": _wrapper("", "", "core= cpu= data= fsize= memlock= nofile= nproc= rss= stack= as="),
    "numactl": _wrapper("", "NmCip", "cpunodebind= membind= physcpubind= interleave= preferred="),
    "setarch": _wrapper("R3", "", "addr-no-randomize", 1),
    "linux32": _wrapper(), "linux64": _wrapper(), "i386": _wrapper(), "x86_64": _wrapper(),
    "cpulimit": _wrapper("fivz", "lpe", "limit= exe= pid="),
    "chronic": _wrapper("ev"), "ts": _wrapper("rims"),
    "time": _wrapper("p", "", "", transparent=True),
    "command": _wrapper("p", "", "", transparent=True),
    "builtin": _wrapper(transparent=True),
    "exec": _wrapper("cl", "a"),
    "coproc": _wrapper(),
    "noglob": _wrapper(), "nocorrect": _wrapper(), "-": _wrapper(), "repeat": _wrapper("", "", "", 1),
    "busybox": _wrapper(), "toybox": _wrapper(),
    "chroot": _wrapper("", "", "userspec= groups= skip-chdir", 1),
    "flock": _wrapper("esnuoxF", "wE", "shared exclusive unlock nonblock timeout= close no-fork conflict-exit-code= verbose", 1, scripts="c", long_scripts="command"),
    "script": _wrapper("aeqfB", "tTEOIlm", "append return quiet flush", 0, scripts="c", long_scripts="command"),
    "xvfb-run": _wrapper("a", "nsefp", "auto-servernum server-num= server-args= error-file= auth-file="),
    "systemd-inhibit": _wrapper("", "", "what= who= why= mode="),
}  # fmt: skip
"""Without rows for those whose command line is their own: shells, xargs, find, ssh, git (see `unwrap.py`)."""

RUNNERS: dict[str, frozenset[str]] = {
    name: frozenset(verbs.split())
    for name, verbs in {
        "npx": "", "bunx": "", "uvx": "", "pipx": "run", "pnpx": "",
        "uv": "run", "poetry": "run", "pipenv": "run", "pdm": "run", "hatch": "run", "rye": "run", "conda": "run", "mamba": "run",
        "bundle": "exec", "npm": "exec x", "pnpm": "exec dlx", "yarn": "exec dlx", "bun": "x", "mise": "exec x", "asdf": "exec", "direnv": "exec",
        "nix": "run shell develop", "nix-shell": "", "guix": "shell environment", "devbox": "run", "op": "run", "doppler": "run", "dotenv": "", "aws-vault": "exec",
        "docker": "run exec compose", "podman": "run exec", "nerdctl": "run exec", "kubectl": "exec run debug", "oc": "exec run", "lxc": "exec", "lxc-attach": "", "machinectl": "shell",
        "docker-compose": "run exec", "vagrant": "ssh", "nsenter": "", "unshare": "", "bwrap": "", "firejail": "", "systemd-run": "", "systemd-nspawn": "", "proot": "",
        "parallel": "", "tmux": "", "screen": "", "dtach": "", "abduco": "", "entr": "", "watchexec": "", "nodemon": "", "fswatch": "", "hyperfine": "",
        "strace": "", "ltrace": "", "gdb": "", "lldb": "", "valgrind": "", "perf": "", "rr": "", "heaptrack": "", "dtrace": "", "bpftrace": "",
        "at": "", "batch": "", "cron": "", "start-stop-daemon": "", "daemonize": "", "daemon": "", "runcon": "", "capsh": "", "setpriv": "", "s6-setuidgid": "", "gosu": "", "su-exec": "", "chpst": "",
        "dumb-init": "", "tini": "", "catatonit": "", "ld.so": "", "wine": "", "qemu-x86_64": "", "rlwrap": "", "expect": "", "sshpass": "", "autossh": "", "mosh": "", "pdsh": "", "ansible": "", "salt": "", "fd": "", "fdfind": "",
        "faketime": "", "cgexec": "", "choom": "", "aa-exec": "", "envdir": "", "envchain": "", "tsocks": "", "ssh-agent": "", "retry": "", "ifne": "", "sem": "", "concurrently": "", "mpirun": "", "srun": "",
        "rbenv": "exec", "pyenv": "exec", "nodenv": "exec", "goenv": "exec", "jenv": "exec", "dotenvx": "run", "cross-env": "", "cross-env-shell": "", "env-cmd": "", "infisical": "run", "chamber": "exec", "sops": "exec-env exec-file",
        "ip": "exec", "pixi": "run", "micromamba": "run", "foreman": "run", "honcho": "run", "volta": "run", "fnm": "exec", "nvm": "exec run", "rvm": "do", "rustup": "run", "tox": "exec", "multipass": "exec", "limactl": "shell", "lima": "",
        "toolbox": "run", "distrobox": "enter", "distrobox-enter": "", "flatpak-spawn": "", "wsl": "", "wsl.exe": "", "cmd": "", "cmd.exe": "", "powershell": "", "pwsh": "", "adb": "shell", "heroku": "run", "repo": "forall", "cargo": "watch",
        "softlimit": "", "setuidgid": "", "envuidgid": "", "setlock": "", "lockf": "", "trickle": "", "gpg-agent": "", "execlineb": "", "with-contenv": "", "mpiexec": "",
        "rtk": "", "arch": "", "caffeinate": "", "open": "", "xdg-open": "", "dbus-launch": "", "ccache": "", "distcc": "", "scan-build": "", "bear": "", "intercept-build": "",
    }.items()
}  # fmt: skip
"""Programs that may start another one after their own words, in ways not read here: every suffix is looked at."""

SHELLS = frozenset("sh bash dash zsh ksh mksh ash fish rbash yash csh tcsh busybox-sh".split())
INTERPRETERS = frozenset(
    "python python2 python3 perl ruby node nodejs php lua deno bun osascript Rscript pwsh tclsh guile".split()
)
