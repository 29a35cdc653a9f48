"""A tokenizer for tests: a token for each character, ChatML around messages, two special tokens."""

from worldline.data.rows import TrainingMessage, TrainingRow
from worldline.types import Source

START, END = 1, 2


class FakeTokens:
    """Characters are their code points plus ten; `<|im_start|>` and `<|im_end|>` are special in structure only."""

    def __init__(self, opening="<|im_start|>assistant\n"):
        self.opening = opening

    def render(self, messages, prompt):
        text = "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages)
        return text + (self.opening if prompt else "")

    def structure(self, text):
        ids = []
        while text:
            for special, id in (("<|im_start|>", START), ("<|im_end|>", END)):
                if text.startswith(special):
                    ids.append(id)
                    text = text.removeprefix(special)
                    break
            else:
                ids.append(ord(text[0]) + 10)
                text = text[1:]
        return ids

    def content(self, text):
        return [ord(char) + 10 for char in text]

    @property
    def special(self):
        return frozenset({START, END})

    @staticmethod
    def text(ids):
        return "".join({START: "<S>", END: "<E>"}.get(id) or chr(id - 10) for id in ids)


def chat(*pairs, system="sys", weights=None, stage="cpt", reasoning=None, source=Source.OBSERVED, **more):
    """A row of a conversation; `weights` are those of the answers, in their order."""
    messages = [TrainingMessage(role="system", content=system)] if system is not None else []
    for number, (asked, told) in enumerate(pairs):
        messages.append(TrainingMessage(role="user", content=asked))
        if told is not None:
            weight = 1.0 if weights is None else weights[number]
            last = reasoning if number == len(pairs) - 1 else None
            messages.append(TrainingMessage(role="assistant", content=told, weight=weight, reasoning=last))
    return TrainingRow(stage=stage, domain="terminal", source=source, messages=tuple(messages), **more)
