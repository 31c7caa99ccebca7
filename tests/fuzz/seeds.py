"""Where a fuzzer begins: for each target a few inputs that reach its inside."""

SEEDS: dict[str, tuple[bytes, ...]] = {
    "shell": (
        b"ls -la | wc -l && git status",
        b"for x in $(cat f); do echo \"${x:-`id`}\" > y; done",
        b"cat <<'END' | sh\nrm -rf /\nEND\n",
        b"env -S 'a b' xargs -I{} sh -c 'echo {}' <<< \"$(( 1 + $(id) ))\"",
        b"f() { [[ $a =~ x ]] && case $b in (c) $'\\x41';; esac; }; f &",
    ),
    "arguments": (b"git\0-c\0alias.x=!id\0x", b"find\0.\0-exec\0sh\0-c\0id\0;", b"sed\0-n\0" + b"1,3p;s/a/b/g\0f"),
    "patch": (
        b"*** Begin Patch\n*** Update File: a\n@@ four {\n-  five\n+  5\n*** Delete File: b\n*** Add File: c\n+x\n*** End Patch\n",
        b"diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/y\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n\\ No newline\n",
    ),
    "events": (
        b'text\n@@MEM_TOOL_EVENT@@ {"v":1,"type":"tool.request","ts":"2030-01-01T00:00:00Z","run_id":"r","id":"1","tool":"x","action":"exec","args":{}}\nmore',
        b'{"v":1,"type":"tool.result","ts":1,"run_id":"r","id":"1","tool":"x","ok":true}\n{"a":1}\n@@MEM',
    ),
    "messages": (
        b'{"v":1,"type":"policy.decision","ts":"2030-01-01T00:00:00Z","run_id":"r","id":"1","decision":"allow","reason":"x"}',
        b'{"v":1,"type":"policy.ping","ts":1,"nonce":"n"}',
    ),
    "frames": (
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}',
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[]}}}',
        b'{"jsonrpc":"2.0","id":"a","method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"x"}]}}',
    ),
    "redaction": (
        b"password = 'hunter2hunter2' # token: ghp_x\nAuthorization: Bearer abc.def.ghi\n",
        b'{"api_key":"sk-abcdefghijklmnop","url":"postgres://u:p@h/d"}',
        b"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n",
    ),
    "rules": (
        b'prefix_rule(pattern = ["git", ["status", "diff"]], decision = "allow", match = ["git status"])\n',
        b'network_rule(host = "pypi.org", protocol = "https", decision = "allow")\nhost_executable(name = "git", paths = ["/usr/bin/git"])\n',
        b'default_action = "ask"\n[[rule]]\nid = "x"\ndecision = "deny"\naction = "write"\npaths = ["a/**"]\nmatch = ["a/b"]\n',
    ),
    "ledger": (b"\0\0{", b"\x00\x10abc", b'{"hash":"","prev":"","run_id":"r","seq":0,"since_ns":0,"ts":"","what":{}}\n'),
    "answers": (
        b'data: {"choices":[{"delta":{"content":"x","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}\n\ndata: [DONE]\n\n',
        b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\r\n\r\n',
        b'event: response.completed\ndata: {"type":"response.completed","response":{"output":[],"usage":{"input_tokens":1}}}\n\n',
    ),
    "memory": (b"how does getUserName fail in src/a.py with E0308 --flag", b'"a" OR b* NEAR(c, 2) col:x ^y -z'),
}  # fmt: skip
