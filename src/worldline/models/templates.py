"""Turning a conversation into tokens so that no content can pass for the structure around it.

A chat template writes special tokens around each message. A message that holds the text of such a token
(`<|im_end|>` in the output of a program, say) would end the turn if the whole were read with special tokens. So the
template is rendered over placeholders, and the contents are tokenised apart, as plain text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from worldline.models.base import Message

__all__ = ["chat_tokens"]

_PLACEHOLDER = re.compile("\ue000([0-9]+)\ue001")
"""Private-use characters, which templates neither trim nor know."""


def chat_tokens(
    messages: Sequence[Message],
    render: Callable[[list[Message]], str],
    structure: Callable[[str], list[int]],
    content: Callable[[str], list[int]],
) -> list[int]:
    """Tokenise a conversation.

    Args:
        messages: The conversation.
        render: The chat template, with the opening of the assistant's turn at the end.
        structure: Tokenises what the template writes; special tokens count.
        content: Tokenises a message; nothing in it is special.
    """
    laid_out = render([Message(role=m["role"], content=f"\ue000{i}\ue001") for i, m in enumerate(messages)])
    tokens: list[int] = []
    pieces = _PLACEHOLDER.split(laid_out)
    for number, piece in enumerate(pieces):
        if piece:
            tokens += content(messages[int(piece)]["content"]) if number % 2 else structure(piece)
    return tokens
