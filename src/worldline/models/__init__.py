"""Chat models: one client for every OpenAI-compatible endpoint, and a scripted fake."""

from worldline.models.base import ChatModel, Message, ModelAnswer, Sampling

__all__ = ["ChatModel", "Message", "ModelAnswer", "Sampling"]
