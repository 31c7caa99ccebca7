"""What the redactor promises whoever holds it."""

import base64
import hashlib
import json

import pytest

from signoff.domain.settings import Redact
from signoff.ledger.redact import Redactor
from signoff.ledger.redact.mask import KINDS
from signoff.ledger.redact.names import Promise, promise

TOKEN = "ghp_" + "kbwd2ef338fdnhldib49kaji8y5e01j6rqv2"
BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDAC4AWkdwKYSd8"
PEM = f"-----BEGIN PRIVATE KEY-----\n{BODY}\nKs14=\n-----END PRIVATE KEY-----"


def plain(text: str, level: Redact = Redact.BASIC) -> str:
    return Redactor(level, reversible=False).text(text)


def test_the_holder_can_restore_what_was_masked_and_nobody_else() -> None:
    redactor = Redactor(Redact.BASIC)
    original = f"export GH={TOKEN} # deploy with bücket and password: hünter2!"
    masked = redactor.text(original)
    assert TOKEN not in masked
    assert "hünter2!" not in masked
    assert redactor.restore(masked) == original
    assert Redactor(Redact.BASIC).restore(masked) == masked


def test_the_same_secret_has_the_same_mask_within_one_redactor_only() -> None:
    redactor = Redactor(Redact.BASIC)
    assert redactor.text(TOKEN) == redactor.text(TOKEN) != Redactor(Redact.BASIC).text(TOKEN)


def test_an_irreversible_redactor_keeps_nothing() -> None:
    redactor = Redactor(Redact.BASIC, reversible=False)
    assert redactor.text(f"export GH={TOKEN}") == "export GH=REDACTED_github"
    assert redactor.kinds == {"github"}
    assert redactor.restore("REDACTED_github") == "REDACTED_github"


def test_off_changes_nothing() -> None:
    redactor = Redactor(Redact.OFF)
    assert redactor.text(TOKEN) == TOKEN
    assert redactor.value({"password": TOKEN}) == {"password": TOKEN}
    stream = redactor.stream()
    assert stream.feed(TOKEN.encode()) + stream.finish() == TOKEN.encode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('db_password = "hunter2!"', 'db_password = "REDACTED_assigned"'),
        ("login(user, password=hun)ter2!x)", "login(user, password=REDACTED_assigned)"),
        ("export DB_PASSWORD=hunter2", "export DB_PASSWORD=REDACTED_assigned"),
        ("PGPASSWORD=hunter2x psql -h db", "PGPASSWORD=REDACTED_assigned psql -h db"),
        ("export DB_PASSWORD=hunter2x; make", "export DB_PASSWORD=REDACTED_assigned; make"),
        ("cd a && DB_PASSWORD=hunter2x\nls", "cd a && DB_PASSWORD=REDACTED_assigned\nls"),
        ("password: hunter2\r\nuser: bob\r\n", "password: REDACTED_assigned\r\nuser: bob\r\n"),
        (r"{\"password\":\"hunter22\"}", r"{\"password\":\"REDACTED_assigned\"}"),
        ('{"login": {"password": 8237194650}}', '{"login": {"password": 9999999999}}'),
        ('<add key="ApiToken" value="x9Kq2mZr8Lw0pTb5" />', '<add key="ApiToken" value="REDACTED_assigned" />'),
        ("<apiToken>\n    x9Kq2mZr8Lw0pTb5\n</apiToken>", "<apiToken>\n    REDACTED_assigned\n</apiToken>"),
        ("- name: DB_PASSWORD\n  value: x9Kq2mZr8Lw0", "- name: DB_PASSWORD\n  value: REDACTED_assigned"),
        ('if ("x9Kq2mZr8Lw0" == password) {', 'if ("REDACTED_assigned" == password) {'),
        ("Authorization: Bearer x9Kq2mZr8Lw0pTb5", "Authorization: Bearer REDACTED_assigned"),
        ("Authorization: Basic Ym9iOmh1bnRlcjI=", "Authorization: Basic REDACTED_assigned"),
        ("curl -H 'X-Api-Key: 0d98ef66290d7e50' u", "curl -H 'X-Api-Key: REDACTED_assigned' u"),
        ("Cookie: theme=dark; sessionid=0d98ef66", "Cookie: theme=dark; sessionid=REDACTED_header"),
        ("postgres://svc:x8Fj2_kd@db:5432/app", "postgres://svc:REDACTED_url@db:5432/app"),
        ("https://x9Kq2mZr8Lw0pTb5Yh@git.example/r", "https://REDACTED_url@git.example/r"),
        ("Server=db;User Id=sa;Password=Sup3r$ecret;", "Server=db;User Id=sa;Password=REDACTED_assigned;"),
        ("machine h login me password s3cr3tpw", "machine h login me password REDACTED_option"),
        ("db.local:5432:app:svc:x8Fj2kd9", "db.local:5432:app:svc:REDACTED_option"),
        ('{"auth":"Ym9iOmh1bnRlcjI="}', '{"auth":"REDACTED_assigned"}'),
        ("curl -u bob:x8Fj2kd9 https://h", "curl -u bob:REDACTED_option https://h"),
        ("sshpass -p 'S3cr3t!x' ssh h", "sshpass -p 'REDACTED_option' ssh h"),
        ("mysql -u root -pS3cr3tpw db", "mysql -u root -pREDACTED_option db"),
        ("https://b/c?sv=1&sig=7Tn8S%2BxPq3Zk1JfWc0vYbLd9", "https://b/c?sv=1&sig=REDACTED_url"),
        ("AccountKey=" + "Ab1/" * 21 + "Ab==;E=1", "AccountKey=REDACTED_azure;E=1"),
        (f'"line\\n{TOKEN}"', '"line\\nREDACTED_github"'),
        (f"{TOKEN}/{TOKEN}", "REDACTED_github/REDACTED_github"),
        (PEM, "-----BEGIN PRIVATE KEY-----\nREDACTED_pem\nREDACTED_pem\n-----END PRIVATE KEY-----"),
        (json.dumps(PEM), '"-----BEGIN PRIVATE KEY-----\\nREDACTED_pem\\n-----END PRIVATE KEY-----"'),
    ],
)
def test_only_the_secret_changes(before: str, after: str) -> None:
    assert plain(before) == after


@pytest.mark.parametrize(
    "text",
    [
        "token: ${{ secrets.GITHUB_TOKEN }}",
        'password = getpass.getpass("Password: ")',
        "password = os.environ['DB_PASSWORD']",
        "curl -u user:password https://h",
        "https://user:password@host/",
        "API_KEY=<your api key>",
        "PGPASSWORD=$SECRET1 psql; TOKEN=${TOKEN2} make",
        "connect(PASSWORD=settings1, TOKEN=value2)",
        "context.load(CERTIFICATE, password=getpass_unicode)",
        "spawn(program, pass_fds=(0,1,2,pipe.fileno()))",
        "assert passValue('str\\x00ing') == 3",
        'public_key = "9Cnzj4p4WGeKLs1Pt8QuKUpRKfFLfRYC9AIKjbJTWit"',
        "signoff/token.py,sha256=AP58970HW1gZt4SahyQLhc2gwwD6VyfRMkInfCbtfts,1410",
        '"integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="',
        "golang.org/x/text v0.3.7 h1:olpwvP2KacW1ZWvsR7uQhoyTYvKAupfQrRGBFM352Gk=",
        "commit 43fc912ef59a83054ea7f6706df4d53a7dea4d80",
        "request_id=0d98ef66-290d-4e50-aac7-c27b5986c99e status=200",
        "tool call toolu_01A09q90qw90lq917835lq9 finished",
        "-----BEGIN CERTIFICATE-----\n" + BODY + "\n-----END CERTIFICATE-----",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ6KbZ8Zf1l0Xq0cPbqk7d0nY6yqM0mWbq9w me@host",
        "    key = sorted(items, key=lambda item: item.name1)",
        "monkey = keyboard.passenger['compass']",
        '"password": {"type": "string", "minLength": 8}',
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert plain(text) == text


def test_a_file_of_look_alikes_stays_as_it_is() -> None:
    """Hashes, ids and data, made by rule so that there are many of each and none is anybody's."""
    lines = []
    for number in range(400):
        digest = hashlib.sha512(str(number).encode()).digest()
        hexadecimal, data = digest.hex(), base64.b64encode(digest).decode()
        lines += [
            f"{hexadecimal[:40]} refs/heads/branch-{number}",
            f"    --hash=sha256:{hexadecimal[:64]}",
            f"package/module_{number}.py,sha256={data[:43]},{number}",
            f'"resolved": "https://registry.example/p-{number}.tgz", "integrity": "sha512-{data}"',
            f"example.org/m/v{number} v1.{number}.0/go.mod h1:{data[:43]}=",
            f"trace_id={hexadecimal[:32]} span_id={hexadecimal[32:48]} status=200",
            f"Fetched layer sha256:{hexadecimal[:64]} in {number} ms",
            f"pod/web-{hexadecimal[:10]}-{hexadecimal[10:15]} started",
            f'<img src="data:image/png;base64,{data}">',
            f"{data[:76]}",
            f"session {hexadecimal[:8]}-{hexadecimal[8:12]}-4{hexadecimal[13:16]}-a{hexadecimal[17:20]}-{hexadecimal[20:32]}",
            f"tool call toolu_{data[:24].translate(str.maketrans('+/', 'xy'))} took {number} ms",
        ]
    touched = [line for line in lines if plain(line) != line]
    assert len(touched) <= len(lines) // 1000, touched


def test_a_manifest_of_secrets_loses_every_value() -> None:
    text = "kind: Secret\nmetadata:\n  name: db\ndata:\n  user: YWRtaW4=\n  .cfg: |\n    eyJhIjoiYiJ9YWJjZA==\n---\nuser: YWRtaW4="
    masked = "kind: Secret\nmetadata:\n  name: db\ndata:\n  user: REDACTED_manifest\n  .cfg: |\n    REDACTED_manifest\n---\nuser: YWRtaW4="
    assert plain(text) == masked


def test_strict_also_hides_people_and_places() -> None:
    text = "bob@example.org from 10.1.2.3 and 2001:db8::7334 in /home/bob/x, not 127.0.0.1"
    masked = "REDACTED_email from REDACTED_address and REDACTED_address in /home/REDACTED_person/x, not 127.0.0.1"
    assert plain(text) == text
    assert plain(text, Redact.STRICT) == masked


def test_a_name_that_merely_begins_like_a_mask_is_no_way_around() -> None:
    assert plain('password = "REDACTED_github_x9Kq2mZr8Lw0"') == 'password = "REDACTED_assigned"'


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_no_kind_promises_a_secret_to_a_second_pass(kind: str) -> None:
    assert promise(f"REDACTED_{kind}") is Promise.NONE


def test_a_value_keeps_its_structure() -> None:
    redactor = Redactor(Redact.BASIC, reversible=False)
    value = {
        "command": ["login", "--password", "hunter2!x", "-u", "bob:hunter2!x"],
        "headers": [{"name": "Authorization", "value": "Bearer x9Kq2mZr8Lw0pTb5"}],
        "environment": {"API_TOKEN": "k1d6amt6rip1ifh96", "LANG": "C"},
        TOKEN: None,
        "count": 1,
        "nested": json.dumps({"secret": "x9Kq2mZr8Lw0"}),
    }
    assert redactor.value(value) == {
        "command": ["login", "--password", "REDACTED_assigned", "-u", "bob:REDACTED_assigned"],
        "headers": [{"name": "Authorization", "value": "Bearer REDACTED_assigned"}],
        "environment": {"API_TOKEN": "REDACTED_assigned", "LANG": "C"},
        "REDACTED_github": None,
        "count": 1,
        "nested": '{"secret": "REDACTED_assigned"}',
    }


@pytest.mark.parametrize(
    ("words", "at"),
    [
        (["sshpass", "-p", "hunter2!x", "ssh", "host"], 2),
        (["mysql", "-uroot", "-phunter2x", "it's a db"], 2),
        (["bash", "-c", "cd 'a b'; PGPASSWORD=hunter2x psql"], 2),
        (["redis-cli", "-a", "hunter2!x", "ping"], 2),
    ],
)
def test_a_command_in_words_is_read_as_a_whole(words: list[str], at: int) -> None:
    redacted = Redactor(Redact.BASIC, reversible=False).value({"argv": words})["argv"]
    assert redacted[:at] + redacted[at + 1 :] == words[:at] + words[at + 1 :]
    assert "hunter2" not in redacted[at]
    assert "REDACTED_" in redacted[at]


@pytest.mark.parametrize("words", [["mkdir", "-p", "hunter2!x"], ["echo", "it's", 'a "quote', "back\\slash", "$x", ""]])
def test_a_command_without_a_secret_stays_word_for_word(words: list[str]) -> None:
    assert Redactor(Redact.BASIC).value(words) == words


def test_two_secrets_used_as_keys_stay_two_entries() -> None:
    redactor = Redactor(Redact.BASIC, reversible=False)
    assert len(redactor.value({TOKEN: 1, TOKEN[:-1] + "9": 2})) == 2


def test_what_is_no_json_is_refused_rather_than_passed() -> None:
    with pytest.raises(TypeError):
        Redactor(Redact.BASIC).value({"a": object()})


GIVEN = ["--api-key swordfish", "--password correcthorse", "--client-secret hunter2secret", "--token opensesame"]
SAID = [
    "use the --token option to set it",
    "--password PASSWORD",
    "gh --token $TOKEN",
    "x --token-file keys.txt",
    "--private-key private_key",
    "docker login --password-stdin registry.io",
    "pass --api-key before the name",
]


def test_a_plain_word_given_to_an_option_that_takes_a_secret_is_one() -> None:
    redactor = Redactor(Redact.BASIC, reversible=False)
    for words in GIVEN:
        option, word = words.split()
        assert word not in redactor.text(f"tool {words} --verbose")
        assert word not in redactor.value(["tool", option, word])
    for words in SAID:
        assert redactor.text(words) == words
    assert redactor.value(["docker", "login", "--password-stdin", "registry"])[-1] == "registry"
