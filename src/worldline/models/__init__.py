"""Chat models: a client for every OpenAI-compatible endpoint, weights on this machine, a cache, a scripted fake."""

from worldline.models.base import ChatModel, Message, ModelAnswer, Sampling
from worldline.models.cache import CachedModel, ResponseCache
from worldline.models.config import load_models, resolve_model
from worldline.models.endpoint import EndpointModel
from worldline.models.local import LocalModel
from worldline.models.scripted import ScriptedModel
from worldline.models.settings import ModelSettings

__all__ = [
    "CachedModel",
    "ChatModel",
    "EndpointModel",
    "LocalModel",
    "Message",
    "ModelAnswer",
    "ModelSettings",
    "ResponseCache",
    "Sampling",
    "ScriptedModel",
    "load_models",
    "resolve_model",
]
