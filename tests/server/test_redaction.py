"""Redaction: real shapes of keys are found wherever they stand, and ordinary text is let by."""

from __future__ import annotations

import json
import random
import string
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enso.server.redaction import Redactor, environment_secrets, is_worth_hiding

_RANDOM = random.Random(7)
LETTERS = string.ascii_letters + string.digits


def some(count: int, letters: str = LETTERS) -> str:
    """Random letters, with a digit among them."""
    return "".join(_RANDOM.choice(letters) for _ in range(count - 1)) + "7"


PEM = "\n".join(
    [
        "-----BEGIN RSA PRIVATE KEY-----",
        *(some(64, LETTERS + "+/") for _ in range(24)),
        "-----END RSA PRIVATE KEY-----",
    ]
)
JWT = f"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{some(43)}"
SECRETS = {
    "OpenAI key": [
        f"sk-proj-{some(74)}T3BlbkFJ{some(74)}",
        f"sk-{some(20)}T3BlbkFJ{some(20)}",
        f"sk-svcacct-{some(58)}_{some(40)}",
        f"sk-or-v1-{some(64, string.hexdigits.lower())}",
    ],
    "Anthropic key": [f"sk-ant-api03-{some(46)}-{some(46)}AA", f"sk-ant-oat01-{some(80)}"],
    "Google key": [f"AIza{some(35)}", f"ya29.{some(120)}", f"GOCSPX-{some(28)}"],
    "GitHub token": [f"ghp_{some(36)}", f"gho_{some(36)}", f"github_pat_{some(22)}_{some(59)}"],
    "GitLab token": [f"glpat-{some(20)}"],
    "AWS key": [f"AKIA{some(16, string.ascii_uppercase)}"],
    "Slack token": [f"xoxb-{some(12, string.digits)}-{some(12, string.digits)}-{some(24)}"],
    "provider key": [f"gsk_{some(52)}", f"xai-{some(80)}", f"hf_{some(34)}", f"npm_{some(36)}"],
    "JSON web token": [JWT],
    "private key": [PEM, PEM.replace(" RSA", ""), PEM.replace("RSA", "OPENSSH")],
}
IN_A_FRAME = {
    "authorization header": [
        "Authorization: Bearer {}",
        "authorization: Basic {}",
        '"Authorization": "Bearer {}"',
        "curl -H 'x-api-key: {}'",
        '{{\\"Authorization\\": \\"Bearer {}\\"}}',
    ],
    "bearer token": ["got bearer {} from it"],
    "value of a variable": ["export SHOP_API_KEY={}", 'DB_PASSWORD="{}"', "MY_TOKEN: {}"],
    "value of a field": ['{{"password": "{}"}}', "api_key = '{}'", 'accessToken: "{}"'],
    "password in a URL": ["postgres://shop:{}@db.internal:5432/shop"],
}
ORDINARY = [
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "id 01a22c47-ce92-776d-a396-d111160fffc6",
    '"integrity": "sha512-7iFyJw0NZ8lA4S0XQnPhOrkuD8xrlyJ7oRzpBvd6oUcpWh0TDCZ6sXWq=="',
    "a risk-assessment of sk-loading-indicator-container-variant",
    "max_tokens: 4096, TOKEN_LIMIT=128000, output_tokens = 612",
    "const password = getPassword(request)",
    "Set OPENAI_API_KEY=$MY_KEY or OPENAI_API_KEY=${{ secrets.OPENAI_API_KEY }}",
    'api_key: "your-api-key-here"',
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "the bearer of this letter",
    "see https://example.org:8080/a@b and git@github.com:dev/shop.git",
    "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----",
    "eyJ is how a token begins; eyJ.eyJ.x is none",
    "class Tokenizer: KEY = 1; SECRET_NAMES = ('a', 'b')",
    "AKIA is a prefix, AKIAIOSFODNN7 is too short",
    "task_id=7f3a… xoxo-hugs ghp_short AIzaShort",
]


@pytest.mark.parametrize("kind", SECRETS)
def test_a_key_is_found_wherever_it_stands(kind: str) -> None:
    """By its own shape: in prose, in a command, in JSON within JSON; nothing of it is left."""
    for secret in SECRETS[kind]:
        for frame in ("{}", "the key is {}, keep it", "x='{}'", "curl {} | sh"):
            redactor = Redactor()
            clean = redactor.text(frame.format(secret), "log.txt")
            assert secret not in clean
            assert redactor.findings.kinds == {kind: 1}, (secret, clean)
        nested = json.dumps({"a": [json.dumps({"b": secret})]}).encode()
        line = Redactor().json_line(nested + b"\n", "f", "1")
        assert secret not in line.decode()
        assert json.dumps(secret)[1:-1] not in line.decode()
        assert line.endswith(b"\n")


@pytest.mark.parametrize("kind", IN_A_FRAME)
def test_a_secret_without_a_shape_is_found_by_what_stands_around_it(kind: str) -> None:
    """A header, a variable, a field, a URL: the words around it stay."""
    for frame in IN_A_FRAME[kind]:
        secret = some(24)
        redactor = Redactor()
        clean = redactor.text(frame.format(secret), "f")
        assert secret not in clean
        assert clean == frame.format(f"[redacted {kind}]"), clean
        assert redactor.findings.total == 1


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_let_by(text: str) -> None:
    """Hashes, ids, names of things and placeholders are no secrets."""
    assert Redactor().text(text, "f") == text


def test_a_known_key_is_found_whatever_it_looks_like() -> None:
    """Also where it is escaped; a word is no key, however it is used."""
    redactor = Redactor(['Correct horse "battery"', "ollama", "secret", "none", ""])
    clean = redactor.text('told: Correct horse "battery" and Correct horse \\"battery\\"', "f")
    assert "horse" not in clean
    assert redactor.findings.kinds == {"known key": 2}
    assert redactor.text("ollama has a secret: none", "f") == "ollama has a secret: none"
    assert is_worth_hiding("hunter22")
    assert not is_worth_hiding("hunter2")


def test_the_environments_secrets_are_those_that_are_called_so() -> None:
    """By the variable's name; the rest of the environment is let be."""
    environment = {"SHOP_API_KEY": "a", "db_password": "b", "PATH": "/bin", "GH_TOKEN": "c"}
    assert list(environment_secrets(environment)) == ["a", "b", "c"]


def test_a_line_without_a_secret_stays_byte_for_byte() -> None:
    """Whatever its spelling or damage; one with a secret is still the same value."""
    for line in (b'{ "a" : 1e3, "b":"\\u00e9" }\n', b"\xff\xfe no json\n", b'{"a":\n', b"\n"):
        assert Redactor().json_line(line, "f", "1") == line
    secret = SECRETS["GitHub token"][0]
    line = json.dumps({"n": 1, "t": f"é {secret}", secret: None}).encode() + b"\r\n"
    clean = Redactor().json_line(line, "f", "1")
    assert json.loads(clean) == {
        "n": 1,
        "t": "é [redacted GitHub token]",
        "[redacted GitHub token]": None,
    }
    assert clean.endswith(b"\r\n")


def test_an_escape_hides_nothing() -> None:
    """A key that is spelled with escapes, or stands in a line that is no JSON, is found."""
    secret = SECRETS["GitHub token"][0]
    spelled = "".join(f"\\u{ord(letter):04x}" for letter in secret)
    clean = Redactor().json_line(f'{{"a": "{spelled}"}}'.encode(), "f", "1")
    assert json.loads(clean) == {"a": "[redacted GitHub token]"}
    torn = Redactor().json_line(f'{{"a": "{secret}'.encode(), "f", "1")
    assert secret not in torn.decode()
    pem = Redactor().json_line(json.dumps({"k": PEM}).encode()[:-1], "f", "1")
    assert PEM.splitlines()[3] not in pem.decode()


def test_a_field_is_known_by_its_name() -> None:
    """``{"password": …}`` is one; what was found is said with its place."""
    redactor = Redactor()
    clean = redactor.value({"password": "hunter2hunter2", "other": "hunter2hunter2"}, "f", "line 3")
    assert clean == {"password": "[redacted value of a field]", "other": "hunter2hunter2"}
    assert redactor.findings.places == {"f": ["line 3"]}


FRAMED = [
    frame.replace("{{", "{").replace("}}", "}").replace("{}", letters)
    for frame in (frame for frames in IN_A_FRAME.values() for frame in frames)
    for letters in (some(12), some(24), "éàü-1234567890", "1a" + "é" * 12)
]
SPOKEN = st.sampled_from([secret for secrets in SECRETS.values() for secret in secrets] + FRAMED)
NAMES = st.sampled_from(["password", "api-key", "AWS_SECRET", "accessToken", "Auth-Token", "other"])
BESIDE = st.sampled_from(["", " ", "\n", "\t", "\u00a0", "\u2028", "é", '"', "\\", "/", "a", "7"])


@given(SPOKEN | st.just("Straße/7-Гора"), NAMES, BESIDE, BESIDE, st.data())
def test_no_line_with_a_secret_is_let_by_unread(
    secret: str, name: str, before: str, behind: str, data: st.DataObject
) -> None:
    """However it is written, with escapes or without, as JSON in JSON, in a line that is torn."""
    redactor = Redactor(["Straße/7-Гора"])
    value: object = data.draw(
        st.sampled_from([f"{before}{secret}{behind}", {name: secret}, f"{name}{behind}='{secret}'"])
    )
    for ascii_only in data.draw(st.lists(st.booleans(), min_size=1, max_size=3)):
        value = json.dumps(value, ensure_ascii=ascii_only)
    line = str(value).encode()
    if data.draw(st.booleans()):
        line = line.replace(b"/", b"\\/")
    line = line[: len(line) - data.draw(st.sampled_from([0, 0, 1]))]
    found = Redactor(["Straße/7-Гора"])
    with suppress(ValueError):
        told = json.loads(line)
        found.text(told if isinstance(told, str) else f'{name}="{secret}"', "f")
    redactor.json_line(line, "f", "1")
    assert redactor.findings.total >= found.findings.total


def test_what_an_image_is_hides_no_secret_beside_it() -> None:
    """Its base64 is not looked through, the rest of its line is."""
    secret = SECRETS["GitHub token"][0]
    image = {"type": "image", "data": some(9000) + "AKIA" + "Q" * 16, "mimeType": "image/png"}
    redactor = Redactor()
    line = json.dumps([image], separators=(",", ":")).encode()
    assert redactor.json_line(line, "f", "1") == line
    assert redactor.findings.total == 0
    beside = json.dumps([image, secret], separators=(",", ":")).encode()
    assert secret.encode() not in redactor.json_line(beside, "f", "1")


def test_what_is_kept_is_counted() -> None:
    """The person may keep secrets; how many there are is said all the same."""
    secret = SECRETS["AWS key"][0]
    redactor = Redactor(keep=True)
    assert redactor.text(f"a {secret} b", "f") == f"a {secret} b"
    assert (
        redactor.json_line(json.dumps([secret]).encode(), "f", "1") == json.dumps([secret]).encode()
    )
    assert redactor.findings.total == 2


@given(st.text(max_size=200))
def test_any_text_can_be_looked_through(text: str) -> None:
    """Twice is the same as once: nothing that stands in a secret's place is taken for one."""
    redactor = Redactor()
    once = redactor.text(text, "f")
    assert Redactor().text(once, "f") == once
