"""What a command inherits, variable by variable."""

import pytest

from signoff.domain.errors import UsageError
from signoff.domain.settings import Network
from signoff.sandbox.environment import ALLOWED, DEFAULT_PATH, Setting, command_environment, inheritable, settable
from tests.clauses import requirement

_NAMES = """
AWS_SECRET_ACCESS_KEY AWS_PROFILE AWS_REGION OPENAI_API_KEY OPENAI_BASE_URL ANTHROPIC_AUTH_TOKEN GITHUB_TOKEN GH_HOST MY_TOKEN
my_token Token DATABASE_URL PGPASSWORD PGHOST POSTGRES_USER MONGODB_URI REDIS_URL SENTRY_DSN SLACK_WEBHOOK_URL NPM_TOKEN
npm_config__auth HF_HOME KUBECONFIG VAULT_ADDR DOCKER_HOST GOOGLE_APPLICATION_CREDENTIALS AZURE_CLIENT_ID CODEX_HOME SIGNOFF_HOME
CI_JOB_TOKEN PASSWORD DB_PASSWD SSH_PASSPHRASE SESSION_COOKIE HTTP_AUTHORIZATION GITLAB_PAT
LC_SECRET LC_API_KEY
LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT BASH_ENV ENV BASH_FUNC_ls%% SHELLOPTS PS4 PROMPT_COMMAND IFS PYTHONSTARTUP PYTHONPATH PYTHONHOME
PYTHONINSPECT NODE_OPTIONS NODE_PATH PERL5LIB PERL5OPT RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH
GIT_DIR GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_CONFIG_COUNT GIT_ASKPASS LUA_INIT PHPRC GCONV_PATH GLIBC_TUNABLES MAKEFLAGS EDITOR VISUAL
PAGER LESSOPEN MANPAGER BROWSER RUSTC_WRAPPER CARGO_REGISTRIES_X_TOKEN GOFLAGS TERMINFO ZDOTDIR
SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO DBUS_SESSION_BUS_ADDRESS DISPLAY WAYLAND_DISPLAY XAUTHORITY XDG_RUNTIME_DIR TMUX
NOTIFY_SOCKET LISTEN_FDS KRB5CCNAME SUDO_COMMAND http_proxy HTTPS_PROXY ALL_PROXY UNHEARD_OF
"""
NEVER = _NAMES.split()


@requirement("CLU-026")
@pytest.mark.parametrize("name", NEVER)
def test_secrets_loaders_interpreters_and_sockets_are_never_inherited(name: str) -> None:
    marker = "value that must not travel"
    for setting in (
        Setting("namespaces"),
        Setting(None),
        Setting("namespaces", Network.LIMITED, proxy="http://127.0.0.1:1"),
    ):
        assert marker not in command_environment({name: marker}, setting).values()


@requirement("CLU-026")
@pytest.mark.parametrize("name", [*sorted(ALLOWED - {"PATH"}), "LC_ALL", "LC_CTYPE"])
def test_what_programs_need_is_inherited(name: str) -> None:
    assert inheritable(name)
    assert command_environment({name: "kept"}, Setting(None))[name] == "kept"


def test_a_confined_command_gets_marks_caches_and_quiet_tools() -> None:
    environ = {"PATH": "/usr/bin", "HOME": "/home/someone", "TMPDIR": "/var/tmp/x", "GITHUB_TOKEN": "ghp_x"}
    assert command_environment(environ, Setting("namespaces")) == {
        "PATH": "/usr/bin",
        "HOME": "/home/someone",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "MANPAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "LESSHISTFILE": "-",
        "HISTFILE": "/dev/null",
        "NODE_REPL_HISTORY": "",
        "npm_config_update_notifier": "false",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "SIGNOFF_SANDBOX": "namespaces",
        "SIGNOFF_SANDBOX_NETWORK_DISABLED": "1",
        "CODEX_SANDBOX": "signoff",
        "CODEX_SANDBOX_NETWORK_DISABLED": "1",
        "npm_config_fetch_retries": "0",
        "PIP_RETRIES": "0",
        "UV_HTTP_RETRIES": "0",
        "CARGO_NET_RETRY": "0",
        "TMPDIR": "/tmp",
        "TEMP": "/tmp",
        "TMP": "/tmp",
        "XDG_CACHE_HOME": "/tmp/.cache",
        "PIP_CACHE_DIR": "/tmp/.cache/pip",
        "UV_CACHE_DIR": "/tmp/.cache/uv",
        "npm_config_cache": "/tmp/.cache/npm",
        "YARN_CACHE_FOLDER": "/tmp/.cache/yarn",
        "GOCACHE": "/tmp/.cache/go-build",
        "CCACHE_DIR": "/tmp/.cache/ccache",
        "PRE_COMMIT_HOME": "/tmp/.cache/pre-commit",
        "MPLCONFIGDIR": "/tmp/.cache/matplotlib",
    }


def test_an_unconfined_command_is_not_told_that_it_is_confined() -> None:
    environ = command_environment({"TMPDIR": "/var/tmp/x"}, Setting(None))
    assert environ["TMPDIR"] == "/var/tmp/x"
    assert not [name for name in environ if "SANDBOX" in name]


@pytest.mark.parametrize(
    ("network", "proxy", "disabled", "proxied"),
    [
        (Network.OFF, None, True, False),
        (Network.LIMITED, "http://127.0.0.1:8899", False, True),
        (Network.ON, None, False, False),
        (Network.ON, "http://127.0.0.1:8899", False, False),
    ],
)
def test_the_network_setting_shows_in_the_environment(
    network: Network, proxy: str | None, disabled: bool, proxied: bool
) -> None:
    environ = command_environment(
        {"https_proxy": "http://user:pass@corporate"}, Setting("namespaces", network, proxy=proxy)
    )
    assert ("SIGNOFF_SANDBOX_NETWORK_DISABLED" in environ) is disabled
    assert ("CODEX_SANDBOX_NETWORK_DISABLED" in environ) is disabled
    assert environ.get("https_proxy") == environ.get("HTTPS_PROXY") == (proxy if proxied else None)


def test_without_a_writable_temporary_directory_nothing_points_to_one() -> None:
    environ = command_environment({"TMPDIR": "/elsewhere"}, Setting("namespaces", temporary=None))
    assert environ["TMPDIR"] == "/elsewhere"
    assert "XDG_CACHE_HOME" not in environ


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("/usr/bin:/bin", "/usr/bin:/bin"),
        (".:/usr/bin::node_modules/.bin:", "/usr/bin"),
        ("", DEFAULT_PATH),
        ("./bin", DEFAULT_PATH),
    ],
)
def test_only_absolute_directories_stay_in_the_path(given: str, kept: str) -> None:
    assert command_environment({"PATH": given}, Setting("namespaces"))["PATH"] == kept


@pytest.mark.parametrize(
    "name", ["LD_PRELOAD", "BASH_ENV", "NODE_OPTIONS", "PYTHONSTARTUP", "GIT_SSH_COMMAND", "SIGNOFF_SANDBOX", "A B", ""]
)
def test_some_variables_are_not_even_set_by_name(name: str) -> None:
    with pytest.raises(UsageError):
        settable({"FINE": "1", name: "x"})


def test_a_secret_given_by_name_is_passed() -> None:
    assert settable({"API_TOKEN": "t", "PYTHONPATH": "src"}) == {"API_TOKEN": "t", "PYTHONPATH": "src"}
