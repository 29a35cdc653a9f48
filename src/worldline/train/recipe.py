"""Training recipes: one YAML file that says which model is trained on what, and how, in each of the three stages."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from worldline.data.rows import Asked, Stage
from worldline.errors import ConfigError, FormatError, boundary, unknown_name
from worldline.models.trained import TrainedNote
from worldline.train.rewards.mixing import RewardOptions
from worldline.types import Frozen, JsonDict
from worldline.worlds.marked_yaml import Key, MarkedYaml, MarkedYamlError, parse_marked

__all__ = [
    "ASIDE",
    "AnyStageRecipe",
    "DataRecipe",
    "EvaluationRecipe",
    "LoraRecipe",
    "ModelRecipe",
    "OptimiserRecipe",
    "Recipe",
    "RlRecipe",
    "ScratchModel",
    "StageRecipe",
    "differences",
    "load_recipe",
    "parse_recipe",
    "recipe_path",
    "same_run",
    "shipped_recipes",
]

_Count = Annotated[int, Field(ge=1)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Decay = Annotated[float, Field(ge=0, lt=1)]

ASIDE = ("licence", "threads", "trackers")
"""Keys that change nothing of what is trained: a run goes on where they are others."""


_NAMED_PROMPTS = (Path("brief"), Path("full"))


class ScratchModel(Frozen):
    """A Llama with random weights, over bytes or pieces of text: small enough to train from nothing."""

    vocabulary: Annotated[int, Field(ge=300)] | None = None
    """Pieces of text (byte-level BPE), learned from what the recipe learns from; None: the bytes themselves."""
    hidden: Annotated[int, Field(ge=8)] = 256
    layers: _Count = 6
    heads: _Count = 4
    kv_heads: _Count = 4
    intermediate: Annotated[int, Field(ge=8)] = 704

    @model_validator(mode="after")
    def _fits(self) -> ScratchModel:
        if self.hidden % self.heads or self.heads % self.kv_heads or self.hidden // self.heads % 2:
            raise ValueError("hidden must be an even multiple of heads, and heads a multiple of kv_heads")
        return self


class ModelRecipe(Frozen):
    """What the first stage starts from; every later stage starts from what the one before made."""

    start: str | None = None
    """A Hugging Face folder, a GGUF file, or the name of a stored model."""
    scratch: ScratchModel | None = None
    chat_template: Literal["own", "chatml"] = "own"
    """`chatml`: lay conversations out as ChatML where the tokenizer has no template of its own."""
    dtype: Literal["float32", "bfloat16"] = "float32"

    @model_validator(mode="after")
    def _one(self) -> ModelRecipe:
        if (self.start is None) == (self.scratch is None):
            raise ValueError("give either start or scratch")
        return self


class LoraRecipe(Frozen):
    """Train low-rank adapters (LoRA) instead of all weights."""

    rank: _Count = 16
    alpha: Annotated[float, Field(gt=0)] = 32.0
    dropout: _Share = 0.0
    targets: tuple[str, ...] | Literal["all-linear"] = "all-linear"


class OptimiserRecipe(Frozen):
    """AdamW and its schedule."""

    learning_rate: Annotated[float, Field(gt=0)] = 2e-4
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    beta1: _Decay = 0.9
    beta2: _Decay = 0.95
    warmup: _Share = 0.03
    """Share of the steps."""
    schedule: Literal["linear", "cosine", "constant_with_warmup"] = "cosine"
    max_grad_norm: Annotated[float, Field(gt=0)] = 1.0


class AnyStageRecipe(Frozen):
    """What all stages have in common."""

    set: Path | None = None
    """Folder of `worldline data build`; none: built from `data` of the recipe."""
    epochs: Annotated[float, Field(gt=0)] = 1.0
    steps: _Count | None = None
    """Optimiser steps; goes before `epochs`."""
    accumulation: _Count = 1
    """Batches in a step."""
    optimiser: OptimiserRecipe = OptimiserRecipe()
    log_every: _Count = 10
    save_every: _Count = 100


class StageRecipe(AnyStageRecipe):
    """Continued pre-training or fine-tuning."""

    batch: _Count = 1
    """Rows on each device at a time."""
    windows: bool = False
    """Rows longer than the context give several rows of whole turns, instead of their last turns alone."""


class RlRecipe(AnyStageRecipe):
    """GSPO: groups of answers to one prompt, importance sampled and clipped as whole sequences."""

    group: Annotated[int, Field(ge=2)] = 8
    """Answers to each prompt."""
    prompts: _Count = 1
    """Different prompts in a step."""
    epsilon: Annotated[float, Field(gt=0)] = 3e-4
    """Clipping below, of the sequence's length-normalised ratio (GSPO's scale)."""
    epsilon_high: Annotated[float, Field(gt=0)] | None = 4e-4
    beta: Annotated[float, Field(ge=0)] = 0.0
    """Weight of the divergence from the starting model; 0 needs no second model."""
    temperature: Annotated[float, Field(gt=0)] = 1.0
    every: _Count | None = None
    """Steps between measurements of the reward on held-out prompts; None: as `evaluation` says."""
    answer: Annotated[int, Field(ge=8)] = 256
    """Longest answer in tokens; the prompt gets the rest of the context."""
    reward: RewardOptions = RewardOptions()

    @model_validator(mode="after")
    def _even(self) -> RlRecipe:
        if self.group * self.prompts % self.accumulation:
            raise ValueError("accumulation must divide group x prompts")
        return self

    @property
    def batch(self) -> int:
        """Answers on each device at a time."""
        return self.group * self.prompts // self.accumulation


class DataRecipe(Frozen):
    """What sets are built from, where a stage names none."""

    real: tuple[str, ...] = ("terminal",)
    """Domains whose recorded train split is learned. `terminal` is the commands alone, `terminal/keystrokes` the rest,
    while `worldline data build --real terminal` takes both."""
    sources: tuple[Path, ...] = ()
    """Files and folders of other trajectories, in any known format; secrets in them are masked."""
    against: tuple[Path, ...] = ()
    """Files and folders of benchmarks: what stands in them is not learned."""
    limit: _Count | None = None
    """At most so many trajectories of each source."""
    prompts: Path | None = None
    """Templates in place of the domain's own: a folder, or `brief`. Evaluation asks by the same."""
    pool: Literal["cpt", "tuning", "all"] | None = None
    mask: bool = True
    transitions: _Share = 0.0
    state_change: bool = False
    asked: Asked = "model"
    """SFT and RL: whose questions are learned, those of a model by itself or those of a grounded engine."""
    turns_per_trajectory: _Count = 1
    """SFT and RL: at most so many of each kind of question; 4 is sensible for a grounded engine's, which are rare."""
    allow_simulated: bool = False
    """Learn from simulated rows as well; they are refused otherwise."""


class EvaluationRecipe(Frozen):
    """How what was trained is measured: held-out turns, through the same path as `worldline bench real`."""

    domain: str = "terminal"
    split: Literal["dev", "test"] = "dev"
    turns: _Count = 60
    """Whole sessions are drawn by the seed until they have so many turns."""
    max_tokens: _Count = 256
    every: _Count | None = None
    """Steps between measurements of the loss on held-out rows."""
    rows: _Count = 32
    """Held-out rows for it."""
    generate: bool = False
    """Whether each of them also measures answers; costs a run of the bench."""
    notes_share: _Share = 0.02


class Recipe(Frozen):
    """A whole recipe."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    licence: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+-]*$")] | None = None
    """Of the trained model, for its card: an SPDX identifier."""
    model: ModelRecipe
    context: Annotated[int, Field(ge=64)] = 2048
    """Tokens of a row, prompt and answer together."""
    seed: int = 0
    threads: _Count | None = None
    autocast: bool = False
    """Compute in bfloat16 where that is safe."""
    recompute: bool = False
    """Compute activations anew instead of keeping them: less memory, more time."""
    reasoning: bool = False
    """Whether SFT learns the rows' reasoning as well, in `<think>`."""
    lora: LoraRecipe | None = None
    data: DataRecipe = DataRecipe()
    evaluation: EvaluationRecipe = EvaluationRecipe()
    trackers: tuple[str, ...] = ()
    """Trackers of Transformers (`tensorboard`, `wandb`, `mlflow`, `trackio`, ...), beside the curve on disk."""
    cpt: StageRecipe | None = None
    sft: StageRecipe | None = None
    rl: RlRecipe | None = None

    @model_validator(mode="after")
    def _room(self) -> Recipe:
        if self.rl is not None and self.rl.answer >= self.context:
            raise ValueError("rl.answer leaves no room for a prompt in the context")
        if self.evaluation.max_tokens >= self.context:
            raise ValueError("evaluation.max_tokens leaves no room for a prompt in the context")
        every = self.evaluation.every or (self.rl.every if self.rl is not None else None)
        if self.evaluation.generate and every is None:
            raise ValueError("evaluation.generate says nothing without evaluation.every")
        return self

    def stage(self, stage: Stage) -> AnyStageRecipe:
        """Return the settings of a stage.

        Raises:
            ConfigError: The recipe has none.
        """
        found: AnyStageRecipe | None = getattr(self, stage)
        if found is None:
            raise ConfigError(f"the recipe {self.name} has no stage {stage}", hint=f"add a key {stage}:")
        return found

    def note(self, domains: Iterable[str], *, reasons: bool = False) -> TrainedNote:
        """Return what a model that was trained so says of it.

        Args:
            domains: What it was trained on.
            reasons: Whether it has learned to reason.
        """
        brief: Literal["brief"] | None = "brief" if self.data.prompts == Path("brief") else None
        return TrainedNote(domains=tuple(sorted(set(domains))), context=self.context, prompts=brief, reasons=reasons)

    def measured_every(self, stage: Stage) -> int | None:
        """Steps between measurements on held-out rows; None where nothing is measured."""
        own = self.rl.every if stage == "rl" and self.rl is not None else None
        return own or self.evaluation.every

    def as_record(self) -> JsonDict:
        """Return the recipe as plain data."""
        return self.model_dump(mode="json", exclude_none=True)


def same_run(one: JsonDict, other: JsonDict) -> bool:
    """Tell whether two records are of one run: recipes as plain data, in part, perhaps with keys of a run's own.

    A key of a recipe that a record lacks means what it means in a recipe.
    """
    return not differences(one, other)


def differences(one: JsonDict, other: JsonDict) -> list[str]:
    """Return the keys by which two records are not of one run (see :func:`same_run`)."""
    mine, its = _whole(one), _whole(other)
    return sorted(name for name in {**mine, **its} if (name in mine, mine.get(name)) != (name in its, its.get(name)))


def _whole(record: JsonDict) -> JsonDict:
    mine = {name: value for name, value in record.items() if name in Recipe.model_fields and name not in ASIDE}
    own = {name: value for name, value in record.items() if name not in Recipe.model_fields}
    try:
        return {**Recipe.model_validate(mine).as_record(), **own}
    except ValidationError:
        return record


def shipped_recipes() -> dict[str, Path]:
    """The recipes that ship, by name."""
    folder = Path(str(files("worldline.train"))) / "recipes"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def recipe_path(spec: str) -> Path:
    """Find a recipe: a file, or the name of one that ships.

    Raises:
        ConfigError: There is neither.
    """
    path = Path(spec)
    if path.is_file():
        return path
    known = shipped_recipes()
    if spec in known:
        return known[spec]
    raise unknown_name("recipe", spec, known)


def load_recipe(path: Path) -> Recipe:
    """Read a recipe; the paths in it are relative to its folder.

    Raises:
        FormatError: It is not YAML, or a key is wrong; names the line and the key.
    """
    with boundary(FormatError, f"reading {path}", OSError, ValueError):
        text = path.read_text(encoding="utf-8")
    return _located(parse_recipe(text, str(path)), path.parent)


def parse_recipe(text: str, name: str = "recipe") -> Recipe:
    """Parse a recipe; `name` stands for it in errors.

    Raises:
        FormatError: It is not YAML, or a key is wrong; names the line and the key.
    """
    try:
        document = parse_marked(text)
    except MarkedYamlError as exc:
        raise FormatError(exc.message, path=name, line=exc.line, hint=exc.hint) from exc
    if not isinstance(document.value, dict):
        raise FormatError("a mapping was expected", path=name, line=1)
    try:
        return Recipe.model_validate(document.value)
    except ValidationError as exc:
        raise _error(exc, document, name) from exc


def _error(exc: ValidationError, document: MarkedYaml, name: str) -> FormatError:
    """Point at the first wrong key, unknown ones before others: a misspelt key often causes a missing one."""
    errors = exc.errors(include_url=False, include_context=False, include_input=False)
    first = min(errors, key=lambda error: (error["type"] != "extra_forbidden", document.line_of(tuple(error["loc"]))))
    path: Key = tuple(first["loc"])
    message, hint = first["msg"].removeprefix("Value error, "), None
    if first["type"] == "extra_forbidden":
        message, hint = "unknown key", _known(path[:-1])
    place = ".".join(map(str, path))
    return FormatError(f"{place}: {message}" if place else message, path=name, line=document.line_of(path), hint=hint)


def _known(path: Key) -> str | None:
    """The keys allowed at a place, read off the models."""
    kind: Any = Recipe
    for part in path:
        fields = getattr(kind, "model_fields", {})
        if part not in fields:
            return None
        annotation = fields[part].annotation
        options = [annotation, *getattr(annotation, "__args__", ())]
        kind = next((o for o in options if isinstance(o, type) and issubclass(o, Frozen)), None)
    known = getattr(kind, "model_fields", None)
    return f"known: {', '.join(sorted(known))}" if known else None


def _located(recipe: Recipe, folder: Path) -> Recipe:
    """Make the paths of a recipe relative to where it stands, where something is there."""

    def placed(path: Path) -> Path:
        beside = folder / path
        return beside if not path.is_absolute() and beside.exists() else path

    changed: dict[str, Any] = {}
    for name in ("cpt", "sft", "rl"):
        stage: AnyStageRecipe | None = getattr(recipe, name)
        if stage is not None and stage.set is not None:
            changed[name] = stage.model_copy(update={"set": placed(stage.set)})
    if recipe.model.start is not None:
        start = str(placed(Path(recipe.model.start)))
        changed["model"] = recipe.model.model_copy(update={"start": start})
    data, prompts = recipe.data, recipe.data.prompts
    places: dict[str, Any] = {name: tuple(map(placed, getattr(data, name))) for name in ("sources", "against")}
    if prompts is not None and prompts not in _NAMED_PROMPTS:
        places["prompts"] = placed(prompts)
    changed["data"] = data.model_copy(update=places)
    return recipe.model_copy(update=changed)
