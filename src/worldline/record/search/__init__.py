"""A real search engine over a real offline collection: dictionaries, an encyclopaedia of computing, package lists."""

from __future__ import annotations

from worldline.record.sandbox import Surroundings
from worldline.record.search.environment import SearchEnvironment
from worldline.record.search.explorer import SearchExplorer
from worldline.record.search.notebook import NotebookExplorer
from worldline.record.search.plans import NOTEBOOK, plans
from worldline.record.search.written import reads_back
from worldline.types import WorldSpec

__all__ = ["NotebookExplorer", "SearchEnvironment", "SearchExplorer", "environment", "explorer", "plans", "reads_back"]


def environment(world: WorldSpec, surroundings: Surroundings) -> SearchEnvironment:
    """Build the environment of a world."""
    return SearchEnvironment(world, surroundings)


def explorer(world: WorldSpec, seed: int) -> SearchExplorer:
    """Build the agent that explores a world, by what its task asks for."""
    return (NotebookExplorer if world.task.startswith(NOTEBOOK) else SearchExplorer)(world, seed)
