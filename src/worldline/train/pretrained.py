"""The models that are trained: loaded, or made from nothing; and written as folders that everything else loads."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import TemplateError

from worldline.errors import ConfigError, StorageError, boundary, require_extra
from worldline.models.adapters.merging import merge_adapter
from worldline.models.base import Message
from worldline.models.store import find_model
from worldline.train.material import texts
from worldline.train.recipe import LoraRecipe, ModelRecipe, Recipe, ScratchModel
from worldline.train.tokens import CHATML, require_template

__all__ = ["HuggingFaceTokens", "load_model", "load_tokenizer", "save_model", "scratch_tokenizer", "with_lora"]

_END, _START, _PAD = "<|im_end|>", "<|im_start|>", "<|endoftext|>"
_THINKING = CHATML.replace(
    "{{ '<|im_start|>assistant\\n' }}", "{{ '<|im_start|>assistant\\n' }}{# answers may begin with <think> #}"
)
"""ChatML that says, to whoever looks for it, that the model reasons before it answers."""


class HuggingFaceTokens:
    """A tokenizer of Transformers as a :class:`worldline.train.tokens.TokenSource`."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._special = frozenset(int(id) for id in tokenizer.all_special_ids)

    def render(self, messages: Sequence[Message], prompt: bool) -> str:
        """Lay a conversation out by the chat template."""
        foreign = (ValueError, TypeError, TemplateError)
        with boundary(ConfigError, "laying out a conversation by the model's template", *foreign):
            return str(
                self._tokenizer.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=prompt)
            )

    def structure(self, text: str) -> list[int]:
        """Tokenise what a template writes."""
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def content(self, text: str) -> list[int]:
        """Tokenise what a message holds."""
        return list(self._tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True))

    @property
    def special(self) -> frozenset[int]:
        """Ids of special tokens."""
        return self._special


def scratch_tokenizer(vocabulary: int | None = None, learned_from: Iterable[str] = ()) -> Any:
    """Make a tokenizer with three special tokens and ChatML: of the 256 bytes, or of pieces learned from texts.

    Args:
        vocabulary: Pieces of byte-level BPE, single bytes among them; every digit is a piece of its own. None: bytes.
        learned_from: Texts whose frequent pieces are found.

    Raises:
        MissingExtraError: Transformers is not installed.
    """
    transformers: Any = require_extra("transformers", "train")
    tokenizers = require_extra("tokenizers", "train")
    before, special = tokenizers.pre_tokenizers, [_PAD, _START, _END]
    alphabet = sorted(before.ByteLevel.alphabet())
    inner = tokenizers.Tokenizer(tokenizers.models.BPE({char: id for id, char in enumerate(alphabet)}, []))
    inner.decoder = tokenizers.decoders.ByteLevel()
    if vocabulary is None:
        inner.pre_tokenizer = before.ByteLevel(add_prefix_space=False, use_regex=False)
        inner.add_special_tokens(special)
    else:
        digits = before.Digits(individual_digits=True)
        inner.pre_tokenizer = before.Sequence([digits, before.ByteLevel(add_prefix_space=False)])
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=vocabulary, initial_alphabet=alphabet, special_tokens=special, show_progress=False
        )
        inner.train_from_iterator(learned_from, trainer)
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        eos_token=_END,
        pad_token=_PAD,
        additional_special_tokens=[_START],
        clean_up_tokenization_spaces=False,
    )
    made.chat_template = CHATML
    return made


def load_tokenizer(recipe: Recipe, folder: Path | None = None) -> Any:
    """Load the tokenizer of a recipe's model, or of the folder that an earlier stage made.

    Raises:
        ConfigError: There is no such model, it cannot be loaded, or it has no chat template.
        MissingExtraError: Transformers is not installed.
    """
    if folder is None and recipe.model.scratch is not None:
        pieces = recipe.model.scratch.vocabulary
        return scratch_tokenizer(pieces, texts(recipe) if pieces else ())
    transformers: Any = require_extra("transformers", "train")
    path, where = _place(recipe.model, folder)
    with boundary(ConfigError, f"loading the tokenizer of {path}", OSError, ValueError, RuntimeError, KeyError):
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(path), **where)
    tokenizer.chat_template = require_template(tokenizer.chat_template, recipe.model.chat_template, str(path))
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_model(recipe: Recipe, tokenizer: Any, folder: Path | None = None, seed: int | None = None) -> Any:
    """Load a recipe's model, or the folder that an earlier stage made.

    Args:
        recipe: The recipe.
        tokenizer: Of :func:`load_tokenizer`.
        folder: What an earlier stage made.
        seed: Of random weights; default the recipe's.

    Raises:
        ConfigError: There is no such model, or it cannot be loaded.
        MissingExtraError: PyTorch or Transformers is not installed.
    """
    torch: Any = require_extra("torch", "train")
    transformers: Any = require_extra("transformers", "train")
    if folder is None and recipe.model.scratch is not None:
        torch.manual_seed(recipe.seed if seed is None else seed)
        return _scratch(recipe.model.scratch, tokenizer, recipe.context, transformers)
    path, where = _place(recipe.model, folder)
    foreign = (OSError, ValueError, RuntimeError, KeyError, ImportError)
    with boundary(ConfigError, f"loading {path}", *foreign):
        dtype = getattr(torch, recipe.model.dtype)
        model = transformers.AutoModelForCausalLM.from_pretrained(str(path), dtype=dtype, **where)
    if "gguf_file" in where:
        # A GGUF file is unpacked to floats, but the model still says it is quantised, and will not be saved or trained.
        model.hf_quantizer, model.is_quantized = None, False
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
    stored = find_model(recipe.model.start or "") if folder is None else None
    if stored is not None and stored.adapter is not None:
        merge_adapter(model, stored.adapter.path)
    return model


def with_lora(model: Any, recipe: LoraRecipe) -> Any:
    """Put adapters on a model.

    Raises:
        ConfigError: The model has none of the targets.
        MissingExtraError: PEFT is not installed.
    """
    peft = require_extra("peft", "train")
    targets = recipe.targets if isinstance(recipe.targets, str) else list(recipe.targets)
    config = peft.LoraConfig(
        r=recipe.rank,
        lora_alpha=recipe.alpha,
        lora_dropout=recipe.dropout,
        target_modules=targets,
        task_type="CAUSAL_LM",
    )
    with boundary(ConfigError, "putting adapters on the model", ValueError):
        return peft.get_peft_model(model, config)


def save_model(model: Any, tokenizer: Any, folder: Path, *, reasoning: bool = False) -> None:
    """Write a model as a Hugging Face folder, adapters merged into the weights and also beside them in `adapter/`.

    Args:
        model: With or without adapters; left as it is.
        tokenizer: Written with it.
        folder: Where to; what is there is replaced.
        reasoning: Whether the model has learned to reason, which its chat template then says.

    Raises:
        StorageError: It cannot be written.
    """
    foreign = (OSError, RuntimeError, _safetensors_error())
    with boundary(StorageError, f"writing {folder}", *foreign):
        folder.mkdir(parents=True, exist_ok=True)
        whole = model
        if hasattr(model, "merge_and_unload"):
            model.save_pretrained(str(folder / "adapter"))
            whole = copy.deepcopy(model).merge_and_unload()
        whole.save_pretrained(str(folder))
        template = tokenizer.chat_template
        if reasoning and "<think>" not in template:
            tokenizer.chat_template = _THINKING if template == CHATML else f"{template}{{# <think> #}}"
        tokenizer.save_pretrained(str(folder))
        tokenizer.chat_template = template


def _scratch(shape: ScratchModel, tokenizer: Any, context: int, transformers: Any) -> Any:
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        max_position_embeddings=context,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return transformers.LlamaForCausalLM(config)


def _place(recipe: ModelRecipe, folder: Path | None) -> tuple[Path, dict[str, Any]]:
    where: dict[str, Any] = {"local_files_only": True}
    if folder is not None:
        return folder, where
    stored = find_model(recipe.start or "")
    if stored.format == "gguf":
        return stored.path.parent, {**where, "gguf_file": stored.path.name}
    return stored.path, where


def _safetensors_error() -> type[Exception]:
    error: type[Exception] = require_extra("safetensors", "train").SafetensorError
    return error
