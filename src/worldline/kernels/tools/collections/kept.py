"""Answers kept by what was asked for, so that what other tools write is read again: files, notes, pages of a wiki."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worldline.domains.tools.collections import EffectSpec, ToolRule
from worldline.kernels.tools.collections.expressions import ABSENT, BrokenError, Unknown, UnknownError, render
from worldline.kernels.tools.collections.state import State
from worldline.kernels.tools.collections.stores import Key, as_key

__all__ = ["asked_key", "doubted", "followed", "untouched", "with_answer"]


def followed(state: State, rule: ToolRule, names: Mapping[str, Any]) -> State:
    """Return the state after a call that went well, whatever it answered; all effects start from what was before."""
    return _changed(state, rule.effects, names)


def doubted(state: State, rule: ToolRule, names: Mapping[str, Any]) -> State:
    """Return the state after a call that may or may not have gone well."""
    return _changed(state, [effect.model_copy(update={"doubt": True}) for effect in rule.effects], names)


def _changed(state: State, effects: tuple[EffectSpec, ...] | list[EffectSpec], names: Mapping[str, Any]) -> State:
    for effect in effects:
        store = state.stores[effect.store]
        try:
            key = as_key(render(effect.key, names))
        except (UnknownError, BrokenError):
            state = state.doubting((effect.store,))
            continue
        if key is None:
            continue
        try:
            if effect.doubt:
                store = store.doubt(key)
            elif effect.delete:
                store = store.drop(key)
            else:
                value = render(effect.value, names)
                store = store.doubt(key) if value is ABSENT or isinstance(value, Unknown) else store.put(key, value)
        except (UnknownError, BrokenError):
            store = store.doubt(key)
        state = state.with_store(store)
    return state


def asked_key(rule: ToolRule, names: Mapping[str, Any]) -> Key | None:
    """Return what a tool that gives kept answers is asked for; None where the call asks for more, or cannot be told."""
    if not rule.keeps or len(names["args"]) != 1:
        return None
    try:
        return as_key(render(rule.key, names))
    except (UnknownError, BrokenError):
        return None


def with_answer(state: State, rule: ToolRule, names: Mapping[str, Any], text: str) -> State:
    """Return the state with an answer kept."""
    key = asked_key(rule, names)
    return state if key is None else state.put(rule.keeps, key, {"text": text})


def untouched(state: State, rule: ToolRule, names: Mapping[str, Any]) -> bool:
    """Whether nothing in the session concerned what a call asks for: what was recorded of it elsewhere stands."""
    if not rule.keeps:
        return True
    try:
        key = as_key(render(rule.key, names))
    except (UnknownError, BrokenError):
        return False
    return key is not None and key not in state.stores[rule.keeps].changed
