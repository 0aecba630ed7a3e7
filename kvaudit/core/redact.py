"""What of a user's data may be shown: secrets never, prompt text only when asked for.

Every text that came out of a log or a prompt file passes through here before it is printed,
in error messages as well as in reports.
"""

import re
from hashlib import blake2b

# Published shapes of credentials. Each pattern keeps what says which kind it is and drops the
# rest; a shape that ordinary prose could have is left out, so that text stays readable.
_SECRETS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "private key",
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.S
        ),
    ),
    ("token", re.compile(r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*")),  # JSON web token
    ("key", re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),  # AWS access key id
    ("key", re.compile(r"\b(?:sk|pk|rk)[-_](?:[\w]+[-_])*[A-Za-z0-9]{16,}[\w-]*")),
    ("key", re.compile(r"\b(?:gh[pousr]|github_pat)_\w{20,}")),
    ("key", re.compile(r"\bglpat-[\w-]{16,}")),
    ("key", re.compile(r"\bxox[abeoprs]-[\w-]{10,}")),
    ("key", re.compile(r"\bAIza[\w-]{30,}")),
    ("key", re.compile(r"\bhf_[A-Za-z0-9]{20,}")),
    ("token", re.compile(r"(?i)(?<=\bbearer )[\w.~+/=-]{12,}")),
    ("password", re.compile(r"(?<=://)[^\s:/@]+:[^\s/@]+(?=@)")),  # in a connection string
    (
        "secret",
        re.compile(
            r"""(?ix)
            (?<![a-z0-9])
            ((?:api|access|secret|private|account|shared|client)[_-]?(?:access[_-]?)?
             (?:key|token|secret) | passw(?:or)?d | pwd)
            (["']?\s*[:=]\s*["']?)
            (?!\[)[^\s"',;]{8,}
            """
        ),
    ),
)


def mask_secrets(text: str) -> str:
    """Return ``text`` with every credential in it replaced by its kind in brackets."""
    for kind, pattern in _SECRETS:
        mark = rf"\1\2[{kind}]" if pattern.groups else f"[{kind}]"
        text = pattern.sub(mark, text)
    return text


def starred(text: str) -> str:
    """Return ``text`` with a star for every character of a credential, so that columns stay."""
    for _, pattern in _SECRETS:
        text = pattern.sub(_stars, text)
    return text


def _stars(match: re.Match[str]) -> str:
    kept = "".join(match.groups()) if match.re.groups else ""
    return kept + "".join("\n" if c == "\n" else "*" for c in match[0][len(kept) :])


def shown(text: str, *, show_text: bool) -> str:
    """Return what may be printed of a prompt's text: all but secrets, or only a placeholder.

    The placeholder tells equal texts from different ones and says how long they are.
    """
    if show_text:
        return one_line(mask_secrets(text))
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
    return f"[{len(text):,} characters, #{digest}]"


def one_line(text: str) -> str:
    """Return ``text`` on one line, control characters as escapes.

    A log is foreign data: a terminal must not act on what stands in it.
    """
    if text.isprintable():
        return text
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    # Python calls no space but the common one printable; this one indents Chinese and Japanese.
    if character.isprintable() or character == "\N{IDEOGRAPHIC SPACE}":
        return character
    return character.encode("unicode_escape").decode()
