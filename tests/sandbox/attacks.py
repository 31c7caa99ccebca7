"""Violations, each as a small program that ends with 0 when it got what it wanted and 1 when it was stopped.

What is hidden looks empty or deleted from inside, so an attack on a file outside is judged by the file alone (`judge`
"host"); everything else must also end with a status other than 0.
"""

import msgspec

_LIBC = "import ctypes, os, sys\nl = ctypes.CDLL(None, use_errno=True)\n"
_TRY = "import os, sys, socket\ntry:\n    {}\n    sys.exit(0)\nexcept OSError:\n    sys.exit(1)\n"


class Attack(msgspec.Struct, frozen=True):
    name: str
    language: str
    code: str
    judge: str = "both"  # "both": status and host; "host": the host alone


def shell(name: str, code: str, judge: str = "both") -> Attack:
    return Attack(name, "sh", code, judge)


def python(name: str, code: str, judge: str = "both") -> Attack:
    return Attack(name, "py", code, judge)


def attempt(name: str, expression: str) -> Attack:
    return Attack(name, "py", _TRY.format(expression))


def call(name: str, expression: str) -> Attack:
    return Attack(name, "py", f"{_LIBC}sys.exit(0 if ({expression}) >= 0 else 1)")


FILES = [
    shell("write outside", 'echo x > "$OUT/pwn"', "host"),
    shell("append outside", 'echo x >> "$OUT/victim.txt"', "host"),
    shell("through a link", 'ln -s "$OUT" l; echo x > l/pwn', "host"),
    shell("hard link outside file", 'ln "$OUT/victim.txt" h && echo x >> h'),
    shell("rename over outside file", 'echo x > f; mv -f f "$OUT/victim.txt"', "host"),
    shell("steal by rename", 'mv "$OUT/victim.txt" stolen'),
    shell("delete outside", 'rm -rf "$OUT/victim.txt" "$OUT"', "host"),
    shell("truncate outside", 'truncate -s0 "$OUT/victim.txt"', "host"),
    shell("chmod outside", 'chmod 777 "$OUT/victim.txt" "$OUT"; touch -d 2001-01-01 "$OUT/victim.txt"', "host"),
    shell("alias by /proc/self/root", 'echo x > "/proc/self/root$OUT/pwn"', "host"),
    shell("alias by /proc/self/cwd", 'cd /; echo x > "/proc/self/cwd$OUT/pwn"', "host"),
    shell("root of a host process", 'echo x > "/proc/$VICTIM/root$OUT/pwn"', "host"),
    python("descriptor passed along", "import os, socket\na, b = socket.socketpair()\nsocket.send_fds(a, [b'x'], [os.open('/', os.O_PATH)])\nroot = socket.recv_fds(b, 1, 1)[1][0]\nos.open(os.environ['OUT'].lstrip('/') + '/pwn', os.O_WRONLY | os.O_CREAT, dir_fd=root)", "host"),
    shell("git hook", "echo x > .git/hooks/pre-commit || mkdir -p .git/hooks/x"),
    shell("git config", "git config core.fsmonitor 'touch pwned'"),
    shell("git config by rename", "printf '[core]\\nfsmonitor=x\\n' > c && mv -f c .git/config"),
    shell("git renamed away", "mv .git .git2 && mkdir .git"),
    shell("git exchanged", "mkdir g; python3 -c 'import ctypes; l=ctypes.CDLL(None); exit(l.renameat2(-100, b\"g\", -100, b\".git\", 2))'"),
    shell("git over-linked", "rm -rf .git; ln -s g .git && test -L .git"),
    shell("git hard-linked", "ln .git/config c && echo x >> c"),
    shell("git alternate path", "echo x > ./sub/../.git/config || echo x > \"$PWD/.git/config\""),
    shell("git made writable", "chmod -R 777 .git && touch .git/x"),
    *[shell(f"create {name}", f"mkdir -p {name}/x; echo x > {name}/settings.json; test -e {name}/settings.json")
      for name in (".codex", ".claude", ".gemini", ".agents", ".signoff", ".vscode", ".idea")],
    *[shell(f"create {name}", f"rm -rf {name}; echo x > {name}; test -f {name}")
      for name in (".mcp.json", ".bashrc", ".zshenv", ".profile")],
    shell("placeholder renamed", "mv .codex elsewhere && mkdir .codex && touch .codex/x"),
    shell("placeholder exchanged", "mkdir e; touch e/config.toml; mv -T e .codex"),
    shell("shell start-up in HOME", 'echo x >> "$HOME/.bashrc"; test -e "$HOME/.bashrc"'),
    shell("authorized_keys", 'mkdir -p "$HOME/.ssh"; echo k > "$HOME/.ssh/authorized_keys"'),
    shell("cron and autostart", 'mkdir -p "$HOME/.config/autostart" || echo x > /var/spool/cron/x'),
    shell("device node", "mknod d b 8 0 || mknod d c 1 1"),
    shell("system files", "echo x > /etc/ld.so.preload || echo x > /usr/bin/x || rm /etc/hostname"),
    shell("kernel settings", "echo x > /proc/sys/kernel/core_pattern || echo 1 > /proc/sys/kernel/sysrq || echo b > /proc/sysrq-trigger"),
    shell("control groups", "mkdir /sys/fs/cgroup/x || echo 0 > /sys/fs/cgroup/cgroup.procs || mount -t cgroup2 x /mnt"),
    shell("set-user-id", "cp /bin/sh s; chmod 4755 s && test -u s"),
    shell("set-user-id by install", "install -m 6755 /bin/sh s2 && test -u s2"),
    python("set-user-id by open", "import os, sys; os.umask(0); fd = os.open('s3', os.O_CREAT | os.O_WRONLY, 0o4777); sys.exit(not os.fstat(fd).st_mode & 0o4000)"),
    python("set-user-id by mknod", "import os, sys; os.umask(0); os.mknod('s4', 0o104777); sys.exit(not os.stat('s4').st_mode & 0o4000)"),
    python("set-user-id by fchmodat2", _LIBC + "open('s5','w').close(); l.syscall(452, -100, b's5', 0o4755, 0); sys.exit(not os.stat('s5').st_mode & 0o4000)"),
    python("set-user-id by openat2", _LIBC + "import struct\nl.syscall(437, -100, b's6', struct.pack('QQQ', 0o101, 0o4777, 0), 24); sys.exit(not (os.path.exists('s6') and os.stat('s6').st_mode & 0o4000))"),
]  # fmt: skip

READS = [
    shell("secret outside", 'grep -r "$CANARY" "$OUT" /proc/self/root"$OUT"'),
    shell("ssh key", 'cat "$HOMEDIR/.ssh/id_ed25519" "$HOME/.ssh/id_ed25519" | grep "$CANARY"'),
    shell("netrc", 'cat "$HOMEDIR/.netrc" | grep "$CANARY"'),
    shell("environment file", 'cat .env "$PWD/.env" | grep "$CANARY"'),
    shell("environment file by link", 'ln .env e; cp .env f; mv .env g; cat e f g | grep "$CANARY"'),
    shell("environment file by parent", "mkdir d; mv .env d/ && grep -r TOKEN= d"),
    shell("shadow", "cat /etc/shadow /etc/gshadow /etc/shadow- | grep ."),
    shell("sudoers and host keys", "cat /etc/sudoers /etc/ssh/ssh_host_*_key | grep ."),
    shell("other homes", 'ls -A /root /home/*/ 2>/dev/null | grep -E "history|ssh|aws|netrc"'),
    shell("state of signoff", 'find / -path "*/signoff/sandbox/*" -not -path "/proc/*" 2>/dev/null | grep -E "guard|[0-9a-f]+-[0-9a-f]+$"'),
    shell("kernel memory and log", "head -c1 /proc/kcore | grep -q . || dmesg | grep -q . || head -c1 /dev/mem /dev/kmsg | grep ."),
    shell("disks", "head -c1 /dev/sda /dev/vda /dev/nvme0n1 | grep ."),
    shell("docker and run", "ls -A /run | grep ."),
    python("key ring by /proc", "import sys; d = open('/proc/keys').read() + open('/proc/key-users').read(); sys.exit(0 if d else 1)"),
    python("environment of the supervisor", "import os, sys\nfor p in {1, os.getppid(), 2} - {os.getpid()}:\n    try:\n        if b'CANARY' in open(f'/proc/{p}/environ','rb').read().replace(b'CANARY=', b'', 1): sys.exit(0)\n    except OSError: pass\nsys.exit(1)"),
    python("memory of the zygote", "import sys\ntry:\n    open('/proc/1/mem','rb'); sys.exit(0)\nexcept OSError: sys.exit(1)"),
    python("descriptors of the zygote", "import os, sys\ntry:\n    sys.exit(0 if os.listdir('/proc/1/fd') else 1)\nexcept OSError: sys.exit(1)"),
    python("inherited descriptors", "import os, sys; sys.exit(0 if set(os.listdir('/proc/self/fd')) - {'0','1','2','3'} else 1)"),
    python("secret variables", "import os, sys; sys.exit(0 if any('CANARY' in v for k, v in os.environ.items() if k != 'CANARY') else 1)"),
    python("loader variables", "import os, sys; sys.exit(0 if set(os.environ) & {'LD_PRELOAD','BASH_ENV','PYTHONSTARTUP','PYTHONPATH'} else 1)"),
    python("addresses of agents", "import os, sys; sys.exit(0 if set(os.environ) & {'SSH_AUTH_SOCK','DBUS_SESSION_BUS_ADDRESS','DISPLAY'} else 1)"),
    python("file handle", _LIBC + "b = ctypes.create_string_buffer(136); b[0:1] = b'\\x80'; m = ctypes.c_int(); r = l.name_to_handle_at(-100, b'/', b, ctypes.byref(m), 0); fd = os.open('.', 0); sys.exit(0 if l.open_by_handle_at(fd, b, 0) >= 0 else 1)"),
]  # fmt: skip

PROCESSES = [
    call("ptrace a host process", "l.ptrace(16, int(os.environ['VICTIM']), 0, 0)"),
    call("ptrace the zygote", "l.ptrace(16, 1, 0, 0)"),
    call("trace a child", "l.ptrace(0, 0, 0, 0)"),
    shell("memory of a host process", 'cat "/proc/$VICTIM/environ" "/proc/$VICTIM/maps" | grep .'),
    shell("signal a host process", 'for s in 1 2 10 12 15 9; do kill -$s "$VICTIM"; done', "host"),
    python("signal every process", "import os, signal\nfor n in (1, 2, 10, 15):\n    signal.signal(n, signal.SIG_IGN)\n    try: os.kill(-1, n)\n    except OSError: pass", "host"),
    shell("see host processes", 'test -e "/proc/$VICTIM"'),
    shell("see the zygote", "test -e /proc/1"),
    python("read another's memory", _LIBC + "b = ctypes.create_string_buffer(8)\nclass V(ctypes.Structure): _fields_ = [('b', ctypes.c_void_p), ('n', ctypes.c_size_t)]\nv = V(ctypes.addressof(b), 8)\nsys.exit(0 if l.process_vm_readv(os.getpid(), ctypes.byref(v), 1, ctypes.byref(v), 1, 0) == 8 else 1)"),
    python("descriptor of another", _LIBC + "p = os.pidfd_open(os.getppid() or 1); sys.exit(0 if l.syscall(438, p, 3, 0) >= 0 else 1)"),
    attempt("limits of the zygote", "import resource; resource.prlimit(1, resource.RLIMIT_NOFILE, (10, 10))"),
    attempt("priority of the zygote", "os.setpriority(os.PRIO_PROCESS, 1, 19)"),
    attempt("priority of all", "os.setpriority(os.PRIO_USER, 0, 19)"),
    call("disk priority of the zygote", "l.syscall(251, 1, 1, 3 << 13)"),
    attempt("processors of the zygote", "os.sched_setaffinity(1, {0})"),
    python("fork bomb", "import os, sys, time\nn = 0\ntry:\n    for i in range(700):\n        if os.fork() == 0: time.sleep(20); os._exit(0)\n        n += 1\nexcept OSError: pass\nsys.exit(0 if n >= 650 else 1)"),
    python("memory bomb", "import sys\ntry:\n    a = [bytearray(64 << 20) for _ in range(48)]\n    sys.exit(0)\nexcept MemoryError: sys.exit(1)"),
    python("disk fill", "import sys\ntry:\n    f = open('big', 'wb'); f.seek(600 << 20); f.write(b'x'); f.flush()\n    sys.exit(0)\nexcept OSError: sys.exit(1)"),
    python("descriptor exhaustion", "import os, sys\nn = 0\ntry:\n    while n < 10000: os.dup(0); n += 1\nexcept OSError: pass\nsys.exit(0 if n >= 10000 else 1)"),
    shell("fill private /tmp", "for i in 1 2 3 4 5; do fallocate -l 250M /tmp/big$i || f=1; done; rm -f /tmp/big*; test -z \"$f\""),
]  # fmt: skip

KERNEL = [
    call("user namespace", "-1 if l.unshare(0x10000000) else 0"),
    call("mount namespace", "-1 if l.unshare(0x20000) else 0"),
    python("namespace by clone", _LIBC + "r = l.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)\nif r == 0: os._exit(0)\nsys.exit(0 if r > 0 else 1)"),
    python("namespace by clone, high bits", _LIBC + "r = l.syscall(56, ctypes.c_ulong(0x10000000 | 17 | 1 << 32), 0, 0, 0, 0)\nif r == 0: os._exit(0)\nsys.exit(0 if r > 0 else 1)"),
    python("namespace by clone3", _LIBC + "import struct\na = struct.pack('8Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0)\nr = l.syscall(435, a, 64)\nif r == 0: os._exit(0)\nsys.exit(0 if r > 0 else 1)"),
    call("mount", "-1 if l.mount(b'tmpfs', b'/mnt', b'tmpfs', 0, None) else 0"),
    call("remount root", "-1 if l.mount(None, b'/', None, 32 | 4096, None) else 0"),
    call("unmount a pin", "-1 if l.umount2(b'.git', 2) else 0"),
    call("open_tree", "l.syscall(428, -100, b'.git', 1)"),
    call("fsopen", "l.syscall(430, b'tmpfs', 0)"),
    call("pivot_root", "-1 if l.syscall(155, b'.', b'.') else 0"),
    attempt("chroot", "os.chroot('.')"),
    python("join a namespace", _LIBC + "fd = os.open('/proc/self/ns/user', 0); sys.exit(0 if l.setns(fd, 0) == 0 else 1)"),
    python("capabilities", "import sys\nsys.exit(0 if any(int(x.split()[1], 16) for x in open('/proc/self/status') if x[:6] in ('CapEff', 'CapPrm', 'CapInh', 'CapAmb')) else 1)"),
    python("capabilities to come", "import sys\nsys.exit(0 if any(int(x.split()[1], 16) for x in open('/proc/self/status') if x[:6] == 'CapBnd') else 1)"),
    python("new privileges", "import sys\nsys.exit(0 if 'NoNewPrivs:\\t1' not in open('/proc/self/status').read() else 1)"),
    python("no filter", "import sys\nsys.exit(0 if 'Seccomp:\\t2' not in open('/proc/self/status').read() else 1)"),
    call("io_uring", "l.syscall(425, 8, ctypes.create_string_buffer(120))"),
    call("add_key", "l.syscall(248, b'user', b'p', b'x', 1, -3)"),
    call("request_key", "l.syscall(249, b'user', b'p', None, -3)"),
    call("keyctl", "l.syscall(250, 0, -3, 1)"),
    call("bpf", "l.syscall(321, 0, ctypes.create_string_buffer(128), 128)"),
    call("perf_event_open", "l.syscall(298, ctypes.create_string_buffer(b'\\x01' + bytes(127), 128), 0, -1, -1, 0)"),
    call("userfaultfd", "l.syscall(323, 1)"),
    call("fanotify", "l.syscall(300, 0, 0)"),
    call("kexec", "-1 if l.syscall(246, 0, 0, 0, 0) else 0"),
    call("reboot", "-1 if l.syscall(169, 0xfee1dead, 672274793, 0, 0) else 0"),
    call("module", "-1 if l.syscall(313, 0, b'', 0) else 0"),
    call("clock", "-1 if l.syscall(227, 0, ctypes.create_string_buffer(16)) else 0"),
    call("host name", "-1 if l.sethostname(b'x', 1) else 0"),
    call("personality", "l.personality(0x0400000)"),
    attempt("TIOCSTI", "import fcntl, pty; m, s = pty.openpty(); fcntl.ioctl(s, 0x5412, b'x')"),
    attempt("TIOCSTI, high bits", "import ctypes, pty; m, s = pty.openpty(); r = ctypes.CDLL(None).ioctl(s, ctypes.c_ulong(0x5412 | 1 << 32), b'x'); r and os.open('/nonexistent', 0)"),
    attempt("TIOCLINUX", "import fcntl, pty; m, s = pty.openpty(); fcntl.ioctl(s, 0x541C, b'\\x02')"),
    python("x32 calls", _LIBC + "sys.exit(0 if l.syscall(0x40000000 + 39) > 0 else 1)"),
    attempt("controlling terminal", "os.open('/dev/tty', os.O_RDWR)"),
    call("open_tree with attributes", "l.syscall(467, -100, b'.git', 1, ctypes.create_string_buffer(32), 32)"),
    call("trusted attributes", "-1 if l.setxattr(b'.', b'trusted.x', b'v', 1, 0) else 0"),
    call("capabilities of a file", "-1 if l.setxattr(b'.', b'security.capability', b'\\1\\0\\0\\2' + bytes(16), 20, 0) else 0"),
    attempt("crash handler", "open('/proc/sys/kernel/core_pattern', 'w').write('|/bin/sh')"),
    attempt("identity map", "open('/proc/self/uid_map', 'w').write('0 0 1')"),
    attempt("handler of programs", "open('/proc/sys/fs/binfmt_misc/register', 'w').write(':x:E::x::/bin/sh:')"),
    attempt("spared by the killer", "open('/proc/self/oom_score_adj', 'w').write('-900')"),
    attempt("before everybody", "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"),
    python("core limit", "import resource, sys\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\nsys.exit(0 if resource.getrlimit(resource.RLIMIT_CORE) != (1, 1) else 1)"),
]  # fmt: skip

NETWORK = [
    attempt("TCP to the host", "socket.create_connection(('127.0.0.1', int(os.environ['TCPPORT'])), 2)"),
    python("UDP to the host", "import os, socket\ntry:\n    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('127.0.0.1', int(os.environ['UDPPORT'])))\nexcept OSError: pass", "host"),
    attempt("IPv6", "socket.create_connection(('::1', int(os.environ['TCPPORT'])), 2)"),
    attempt("name lookup", "socket.getaddrinfo('example.com', 80)"),
    attempt("raw socket", "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"),
    attempt("packet socket", "socket.socket(17, socket.SOCK_RAW, 0x0300)"),
    attempt("netlink", "socket.socket(16, socket.SOCK_RAW, 0)"),
    attempt("vsock", "socket.socket(40, socket.SOCK_STREAM)"),
    attempt("crypto sockets", "socket.socket(38, socket.SOCK_SEQPACKET)"),
    attempt("other families", "[socket.socket(f, 2) for f in (21, 29, 30, 31, 44)]"),
    attempt("service of the host", "s = socket.socket(socket.AF_UNIX); s.connect(os.environ['USOCK'])"),
    attempt("abstract service", "s = socket.socket(socket.AF_UNIX); s.connect('\\0' + os.environ['ABS'])"),
    Attack("bash /dev/tcp", "sh", 'bash -c "exec 3<>/dev/tcp/127.0.0.1/$TCPPORT"'),
]  # fmt: skip

LATE = [
    shell("daemon", "(sleep 1; touch late) >/dev/null 2>&1 &", "host"),
    shell("nohup", "nohup sh -c 'sleep 1; touch late' >/dev/null 2>&1 &", "host"),
    python("double fork", "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        for fd in range(3): os.close(fd)\n        time.sleep(3); open('late', 'w').close()\n    os._exit(0)\n", "host"),
    python("ignores every signal", "import os, signal, time\nif os.fork() == 0:\n    [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 15)]\n    time.sleep(3); open('late', 'w').close()\n", "host"),
    python("subreaper", _LIBC + "import time\nif os.fork() == 0:\n    l.prctl(36, 1, 0, 0, 0); os.setsid()\n    if os.fork() == 0: time.sleep(3); open('late', 'w').close()\n    os.wait()\n", "host"),
]  # fmt: skip

ALL = [*FILES, *READS, *PROCESSES, *KERNEL, *NETWORK]
