"""What keys and tokens look like, in any text: one small table.

Each shape has a prefix or a frame that its issuer gave it, so that ordinary text is let by: hashes,
ids, file names and prose are no secrets. A library was looked for: those that know the shapes of
today's providers weigh tens of megabytes, and none tells where a private key ends.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of secret. A text without any of ``hints`` has none; ``secret`` names the group."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


def _shape(kind: str, hints: str, pattern: str) -> Shape:
    return Shape(kind, tuple(hints.split()), re.compile(pattern))


_BEFORE: Final = r"(?<![A-Za-z0-9_-])"
_DIGIT: Final = r"(?=[A-Za-z0-9_-]{0,200}[0-9])"
_QUOTE: Final = r"(?:\\?[\"'])?"
_VALUE: Final = r"(?=[^\s\"'\\]*[0-9])(?=[^\s\"'\\]*[A-Za-z])[^\s\"'\\$<>{}()\[\],;]"

SHAPES: Final[tuple[Shape, ...]] = (
    _shape(
        "private key",
        "PRIVATE",
        r"(?P<secret>-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?!-----BEGIN )[\s\S]){0,20000}?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----)",
    ),
    _shape("Anthropic key", "sk-ant-", rf"{_BEFORE}(?P<secret>sk-ant-[A-Za-z0-9_-]{{20,}})"),
    _shape(
        "OpenAI key",
        "sk-",
        rf"{_BEFORE}(?P<secret>sk-{_DIGIT}"
        r"(?:(?:proj|svcacct|admin|None|or-v1|lf)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{20,}))",
    ),
    _shape(
        "Google key",
        "AIza ya29. GOCSPX-",
        rf"{_BEFORE}(?P<secret>AIza[A-Za-z0-9_-]{{35}}(?![A-Za-z0-9_-])|ya29\.[A-Za-z0-9_-]{{20,}}"
        r"|GOCSPX-[A-Za-z0-9_-]{28})",
    ),
    _shape(
        "GitHub token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        rf"{_BEFORE}(?P<secret>gh[pousr]_[A-Za-z0-9]{{36,}}|github_pat_[A-Za-z0-9_]{{60,}})",
    ),
    _shape("GitLab token", "glpat-", rf"{_BEFORE}(?P<secret>glpat-[A-Za-z0-9_-]{{20,}})"),
    _shape(
        "AWS key",
        "AKIA ASIA",
        r"(?<![A-Za-z0-9])(?P<secret>A(?:KI|SI)A[A-Z0-9]{16})(?![A-Za-z0-9])",
    ),
    _shape(
        "Slack token",
        "xox xapp- hooks.slack.com",
        rf"{_BEFORE}(?P<secret>xox[abeoprs]-[A-Za-z0-9-]{{10,}}|xapp-[0-9]-[A-Za-z0-9-]{{10,}})"
        r"|hooks\.slack\.com/services/(?P<path>[A-Za-z0-9/]{20,})",
    ),
    _shape(
        "provider key",
        "gsk_ xai- hf_ csk- fw_ npm_ pypi- sk_live_ sk_test_ rk_live_ rk_test_ SG.",
        rf"{_BEFORE}(?P<secret>(?:gsk_|xai-|hf_|csk-|fw_|npm_|[rs]k_(?:live|test)_)"
        rf"{_DIGIT}[A-Za-z0-9]{{20,}}|pypi-[A-Za-z0-9_-]{{50,}}"
        r"|SG\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,})",
    ),
    _shape(
        "JSON web token",
        "eyJ",
        rf"{_BEFORE}(?P<secret>eyJ[A-Za-z0-9_-]{{10,}}\.eyJ[A-Za-z0-9_-]{{10,}}\.[A-Za-z0-9_-]{{10,}})",
    ),
    _shape(
        "authorization header",
        "uthorization UTHORIZATION api-key API-KEY Api-Key",
        rf"(?i:authorization{_QUOTE}\s*[:=]\s*{_QUOTE}(?:bearer|basic|token)\s+|"
        rf"x-(?:goog-)?api-key{_QUOTE}\s*[:=]\s*{_QUOTE})(?P<secret>[A-Za-z0-9._~+/=-]{{8,}})",
    ),
    _shape(
        "bearer token",
        "earer EARER",
        r"(?i:\bbearer)\s+(?=[A-Za-z0-9._~+/-]*[0-9])(?P<secret>[A-Za-z0-9._~+/-]{20,}=*)",
    ),
    _shape(
        "password in a URL",
        "://",
        r"(?i:\b[a-z][a-z0-9+.-]{1,20})://[^\s:/@\"'\\]{1,100}:(?P<secret>[^\s/@\"'\\$<>{}*]{3,200})@",
    ),
    _shape(
        "value of a variable",
        "KEY TOKEN SECRET PASSW CREDENTIAL",
        r"\b[A-Z][A-Z0-9_]{0,60}(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)"
        rf"\s*[=:]\s*{_QUOTE}(?P<secret>{_VALUE}{{12,}})",
    ),
    _shape(
        "value of a field",
        "ey oken ecret assw OKEN ECRET ASSW",
        r"(?i:(?:api[_-]?key|secret(?:[_-]?(?:access)?[_-]?key)?|passw(?:or)?d|"
        r"(?:access|auth|refresh|session)[_-]?token))\\?[\"']?\s*[:=]\s*\\?[\"']"
        rf"(?P<secret>{_VALUE}{{12,}})(?=\\?[\"'])",
    ),
)
"""In the order in which they are looked for: the kinds that say most come first."""
