"""Publishing a folder on the Hugging Face hub: what would go there, what stays here, and the upload.

The plan is made without the network and without the hub's library, so that a dry run shows exactly what an upload does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field

from worldline.data.inspecting import Suspect, holds_simulated, suspects
from worldline.errors import ConfigError, ModelError, StorageError, boundary, require_extra
from worldline.types import Frozen, JsonDict

__all__ = ["CARD", "LeftOut", "Publication", "PublishedFile", "plan_publication", "publish"]

Kind = Literal["model", "dataset"]
CARD = "README.md"
SIMULATED = "simulated"
"""Tag of a card that says that the set holds simulated rows."""

_REPOSITORY = re.compile(r"(?:[\w.-]+/)?[\w-][\w.-]{0,95}")
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_WEIGHTS = (".safetensors", ".gguf", ".bin")
_STAYS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("checkpoint", re.compile(r"checkpoints?|checkpoint-\d+|last-good")),
    (
        "optimiser state",
        re.compile(
            r"(optimizer|scheduler|scaler)(_\d+)?\.(pt|bin|pth)|rng_state.*|trainer_state\.json|training_args\.bin"
        ),
    ),
    (
        "credentials",
        re.compile(
            r"\.env(\..*)?|\.netrc|\.pypirc|.*\.(pem|key|p12|pfx|keystore)|id_(rsa|ed25519|ecdsa|dsa)|token|.*\.token"
        ),
    ),
    ("unfinished", re.compile(r".*\.(part|tmp|lock|incomplete)")),
    ("hidden or cache", re.compile(r"\..*|__pycache__|.*\.pyc")),
)
"""Why a file or folder of such a name is not published; the first that fits counts."""


class PublishedFile(Frozen):
    """A file that is published."""

    path: str
    """In the folder and in the repository."""
    size: int


class LeftOut(Frozen):
    """A file or folder that stays here."""

    path: str
    reason: str
    size: int
    """Of all that is in it."""


class Publication(Frozen):
    """What publishing a folder would do."""

    kind: Kind
    repository: str
    folder: Path
    private: bool
    revision: str | None
    licence: str
    card: str = Field(repr=False)
    """The card as it is published."""
    files: tuple[PublishedFile, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    def as_record(self) -> JsonDict:
        """As plain data."""
        return {**self.model_dump(mode="json"), "size": self.size}


def plan_publication(
    folder: Path,
    repository: str,
    kind: Kind,
    *,
    private: bool = False,
    revision: str | None = None,
    licence: str | None = None,
    not_secret: frozenset[str] = frozenset(),
) -> Publication:
    """Say what publishing a folder would do; nothing is asked of the network.

    Args:
        folder: Weights, adapters, a training set, trajectories; of a training run, its `model/` is taken.
        repository: `OWNER/NAME`.
        kind: What it is on the hub.
        private: Whether only the owner may see it.
        revision: Branch; default the main one.
        licence: Licence to write into a card that names none.
        not_secret: Marks (as a refusal prints them) of texts that only look like secrets.

    Raises:
        ConfigError: There is no card, it names no licence or hides simulated rows; something looks like a secret; there
            is nothing to publish.
        MissingExtraError: A Parquet file cannot be read without a library that is missing.
        StorageError: The folder cannot be read.
    """
    if not _REPOSITORY.fullmatch(repository) or ".." in repository or "--" in repository:
        raise ConfigError(f"{repository!r} cannot be a repository's name", hint="give OWNER/NAME")
    if kind == "model" and not (folder / "config.json").is_file() and (folder / "model" / "config.json").is_file():
        folder = folder / "model"
    with boundary(StorageError, f"reading {folder}", OSError):
        left_out: list[LeftOut] = []
        files = tuple(_walk(folder, folder, left_out))
    if kind == "model" and not any(file.path.endswith(_WEIGHTS) for file in files):
        raise ConfigError(f"{folder} holds no weights", hint="*.safetensors, *.gguf or *.bin are expected")
    if not any(file.path != CARD for file in files):
        raise ConfigError(f"{folder} holds nothing to publish")
    card, stated, tags = _card(folder / CARD, licence)
    _refuse_secrets(folder, files, not_secret)
    if kind == "dataset" and SIMULATED not in tags:
        simulated = next((file.path for file in files if holds_simulated(folder / file.path)), None)
        if simulated is not None:
            raise ConfigError(
                f"{simulated} holds simulated rows, and the card does not say so",
                hint=f"say it in {CARD}, with `{SIMULATED}` among its tags",
            )
    sized = [file.model_copy(update={"size": len(card.encode())}) if file.path == CARD else file for file in files]
    return Publication(
        kind=kind,
        repository=repository,
        folder=folder,
        private=private,
        revision=revision,
        licence=stated,
        card=card,
        files=tuple(sized),
        left_out=tuple(left_out),
    )


def publish(publication: Publication, *, endpoint: str | None = None) -> str:
    """Upload what a plan lists, in one commit, and return the commit's address.

    The repository is made where there is none. The token is the one that the library of the hub finds (`HF_TOKEN`, or
    its own login). What was uploaded before an interruption is not uploaded again.

    Args:
        publication: The plan.
        endpoint: Address of the hub; default the library's.

    Raises:
        MissingExtraError: The hub's library is not installed.
        ModelError: The hub cannot be reached, or refuses.
        StorageError: A file changed since the plan was made.
    """
    hub: Any = require_extra("huggingface_hub", "hub")
    for file in publication.files:
        path = publication.folder / file.path
        if file.path != CARD and (not path.is_file() or path.stat().st_size != file.size):
            raise StorageError(f"{path} changed while it was to be published")
    adds = [
        hub.CommitOperationAdd(
            path_in_repo=file.path,
            path_or_fileobj=publication.card.encode() if file.path == CARD else str(publication.folder / file.path),
        )
        for file in publication.files
    ]
    target = {"repo_id": publication.repository, "repo_type": publication.kind}
    api = hub.HfApi(endpoint=endpoint)
    # the library's own errors are subclasses of these; the first is that of the HTTP library beneath it
    foreign: tuple[type[Exception], ...] = (*hub.errors.HfHubHTTPError.__bases__, OSError, ValueError, RuntimeError)
    try:
        made = api.create_repo(**target, private=publication.private or None, exist_ok=True)
        target["repo_id"] = made.repo_id
        if publication.revision is not None:
            api.create_branch(**target, branch=publication.revision, exist_ok=True)
        done = api.create_commit(
            **target, operations=adds, revision=publication.revision, commit_message="Publish with worldline"
        )
    except foreign as exc:
        hint = "log in with `hf auth login`, or set HF_TOKEN to a token that may write"
        raise ModelError(f"publishing {publication.repository}: {_told(exc, hub.get_token())}", hint=hint) from None
    return str(done.commit_url)


def _walk(folder: Path, root: Path, left_out: list[LeftOut]) -> Iterator[PublishedFile]:
    for path in sorted(folder.iterdir()):
        name = path.relative_to(root).as_posix()
        reason = next((why for why, pattern in _STAYS if pattern.fullmatch(path.name)), None)
        if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
            reason = "link out of the folder"
        if reason is not None:
            size = 0 if path.is_symlink() else _size(path)
            left_out.append(LeftOut(path=f"{name}/" if path.is_dir() else name, reason=reason, size=size))
        elif path.is_dir():
            yield from _walk(path, root, left_out)
        elif path.is_file():
            yield PublishedFile(path=name, size=path.stat().st_size)


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file() and not file.is_symlink())


def _card(path: Path, licence: str | None) -> tuple[str, str, list[str]]:
    """Read a card: its text with the licence in it, the licence, the tags."""
    if not path.is_file():
        raise ConfigError(
            f"{path.parent} holds no card", hint=f"write {CARD}: what it is, from what, under what licence"
        )
    with boundary(StorageError, f"reading {path}", OSError, ValueError):
        text = path.read_text(encoding="utf-8")
    found = _FRONT.match(text)
    with boundary(ConfigError, f"reading the front matter of {path}", yaml.YAMLError):
        front = yaml.safe_load(found[1]) if found else {}
    if front is None:
        front = {}
    if not isinstance(front, dict):
        raise ConfigError(f"the front matter of {path} is no mapping")
    stated = front.get("license")
    if not stated and licence is None:
        raise ConfigError(f"{path} names no licence", hint="put `license:` in its front matter, or give --licence")
    if not stated:
        lines = found[1] if found else ""
        if "license" in front:
            lines = re.sub(r"^license:.*\n", "", lines, flags=re.MULTILINE)
        text = f"---\nlicense: {licence}\n{lines}---\n{text[found.end() :] if found else text}"
        stated = licence
    elif licence is not None and licence != stated:
        raise ConfigError(f"{path} says {stated}, not {licence}", hint="change the card, or leave --licence out")
    tags = front.get("tags") or []
    return text, str(stated), [str(tag) for tag in tags] if isinstance(tags, list) else [str(tags)]


def _refuse_secrets(folder: Path, files: tuple[PublishedFile, ...], known: frozenset[str]) -> None:
    found: list[tuple[str, Suspect]] = []
    for file in files:
        found += [(file.path, one) for one in suspects(folder / file.path) if one.mark not in known]
        if len(found) >= 20:
            break
    if found:
        places = "; ".join(f"{path}:{one.line} {one.kind} {one.mark}" for path, one in found[:5])
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        raise ConfigError(
            f"{folder} holds what looks like secrets: {places}{more}",
            hint="take them out (worldline import masks them), or name each mark that is none with --not-secret",
        )


def _told(exc: Exception, token: str | None) -> str:
    """What went wrong, in a line, the token never in it."""
    said = " ".join(str(exc).split())[:300]
    return said.replace(token, "<token>") if token else said
