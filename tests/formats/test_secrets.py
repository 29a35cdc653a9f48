"""Secrets are masked wherever they stand, the same way, and nothing else is."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldline.formats.secrets import SecretMasker, find_secrets
from worldline.types import Action, Observation, Source, Trajectory, Turn, VolatileSpan, WorldSpec, decode, encode

# Put together here, so that no scanner takes this file for a leak.
GITHUB = "ghp_" + "Ab1" * 12
AWS = "AKIA" + "QWERTYUIOP234567"
JWT = ".".join(["eyJ" + "hbGciOiJIUzI1NiJ9", "eyJ" + "zdWIiOiIxMjM0In0", "c2lnbmF0dXJl"])
KEY = "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nAAAA\n-----END OPENSSH PRIVATE KEY-----"

SECRETS = {
    "aws_access_key": (f"id={AWS};", AWS),
    "github_token": (f"git clone https://{GITHUB}@host/x", GITHUB),
    "slack_token": ("export T=" + "xoxb-" + "1234567890-abcdefghij", "xoxb-" + "1234567890-abcdefghij"),
    "api_key": ("sk-" + "proj-" + "a1B2" * 8, "sk-" + "proj-" + "a1B2" * 8),
    "private_key": (f"$ cat id\n{KEY}\n", KEY),
    "jwt": (f"token {JWT}", JWT),
    "bearer_token": ("curl -H 'Authorization: Bearer abc12345678'", "abc12345678"),
    "url_credentials": ("psql postgres://ann:s3cret@db/x", "s3cret"),
    "assignment": ('{"db_password": "hunter22x"}', "hunter22x"),
}


@pytest.mark.parametrize("kind", SECRETS)
def test_known_shapes(kind: str) -> None:
    text, secret = SECRETS[kind]
    assert (kind, secret) in {(found, value) for found, value, _, _ in find_secrets(text)}
    for _, value, start, end in find_secrets(text):
        assert text[start:end] == value


@pytest.mark.parametrize(
    "text",
    [
        "password=$PASSWORD", "password: ********", "token = tokenizer.encode(x)", "max_tokens: 4096", "api_key=None",
        "secret: <your secret>", "sha256: " + "0f" * 32, "https://example.org/a:b", "git@host:x/y", "passwd: all",
        "PWD=/home/user", "key = lambda x: x[1]", "Enter password:", "user:x:1000:1000::/home/user:/bin/bash",
        "password=changeme", "commit " + "ab12" * 10, "/etc/passwd:12",
    ],
)  # fmt: skip
def test_no_false_alarm(text: str) -> None:
    assert list(find_secrets(text)) == []


def session(text: str = "", **fields: object) -> Trajectory:
    """A session that shows the token in every kind of place."""
    turns = (
        Turn(
            action=Action(
                name="bash", arguments={"command": f"export TOKEN={GITHUB}", "env": {"password": "s3cretpw"}}
            ),
            observation=Observation.from_streams(
                f"12:00 {GITHUB} 12:01\n".encode(), b"\xff " + GITHUB.encode(), 0
            ).model_copy(
                update={
                    "volatile": (
                        VolatileSpan(field="stdout", start=0, end=5, pattern=r"\d\d:\d\d"),
                        VolatileSpan(
                            field="stdout", start=6 + len(GITHUB) + 1, end=6 + len(GITHUB) + 6, pattern=r"\d\d:\d\d"
                        ),
                        VolatileSpan(field="stdout", start=4, end=10, pattern="x"),
                    )
                }
            ),
            thought=f"I use {GITHUB}",
        ),
        Turn(action=Action(text="login s3cretpw"), observation=Observation(text=text or "ok", **fields)),  # type: ignore[arg-type]
    )
    world = WorldSpec(
        domain="terminal", task=f"use {GITHUB}", initial_state={"files": {f"/home/user/{GITHUB}": GITHUB}}
    )
    return Trajectory(source=Source.OBSERVED, world=world, turns=turns, extra={"note": [GITHUB]})


def test_every_field_is_masked_the_same_way() -> None:
    before = session()
    masker = SecretMasker()
    after = masker.mask(before)
    dumped = after.model_dump_json()
    assert GITHUB not in dumped
    assert "s3cretpw" not in dumped
    assert masker.counts == {"github_token": 1, "assignment": 1}
    assert masker.masked == 1
    word = after.turns[0].action.arguments["command"].removeprefix("export TOKEN=")
    assert word.startswith("<secret:")
    assert after.world.task == f"use {word}"
    assert after.turns[0].observation.stdout == f"12:00 {word} 12:01\n"
    assert after.turns[1].action.text is not None
    assert after.turns[1].action.text == f"login {after.turns[0].action.arguments['env']['password']}"
    assert after.id != before.id
    assert SecretMasker().mask(before) == after
    assert masker.mask(after) == after


def test_observations_stay_whole() -> None:
    observation = SecretMasker().mask(session()).turns[0].observation
    assert observation.stdout is not None
    assert observation.stderr is not None
    assert observation.text == observation.stdout + observation.stderr
    assert observation.raw is not None
    data = encode(observation.stderr, observation.raw["stderr"])
    assert data.startswith(b"\xff <secret:")
    assert decode(data)[0] == observation.stderr
    first, second, across = observation.volatile
    assert observation.stdout[first.start : first.end] == "12:00"
    assert observation.stdout[second.start : second.end] == "12:01"
    assert observation.stdout[across.start : across.end].startswith("0 <secret:")
    assert observation.stdout[across.start : across.end].endswith(">")


def test_trajectories_without_secrets_are_left_alone() -> None:
    item = Trajectory(source=Source.OBSERVED, world=WorldSpec(domain="terminal", task="password please"), turns=())
    masker = SecretMasker()
    assert masker.mask(item) is item
    assert masker.masked == 0


def test_an_argument_that_is_called_raw_is_no_base64() -> None:
    action = Action(name="fetch", arguments={"raw": {"value": True, "note": f"token {GITHUB}"}})
    turn = Turn(action=action, observation=Observation(text="no"))
    item = Trajectory(source=Source.OBSERVED, world=WorldSpec(domain="mcp"), turns=(turn,))
    masked = SecretMasker().mask(item).turns[0].action.arguments["raw"]
    assert masked["value"] is True
    assert masked["note"].startswith("token <secret:")


@settings(deadline=None)
@given(st.text())
def test_offsets_are_those_of_the_text(text: str) -> None:
    for _, value, start, end in find_secrets(text + " token=abc12345x"):
        assert (text + " token=abc12345x")[start:end] == value


@pytest.mark.parametrize(
    "piece", ["a", "password ", "token=x; ", "eyJ", "key: aGVsbG8-_.", "://a:", "-----BEGIN PRIVATE KEY-----"]
)
def test_long_text_takes_linear_time(piece: str) -> None:
    took = []
    for size in (200_000, 800_000):
        text = piece * (size // len(piece))
        began = time.process_time()
        list(find_secrets(text))
        took.append(time.process_time() - began)
    assert took[1] < 16 * max(took[0], 0.02), took
