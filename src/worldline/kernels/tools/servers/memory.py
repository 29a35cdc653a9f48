"""The memory server: a knowledge graph of entities with observations, and relations between them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from worldline.domains.mcp.state import MemoryServer
from worldline.errors import KernelError
from worldline.kernels.tools.base import Arguments
from worldline.kernels.tools.servers import zod
from worldline.kernels.tools.servers.js import stringify
from worldline.kernels.tools.servers.node_server import NodeServer, Refused
from worldline.kernels.tools.servers.replies import Unsure
from worldline.types import JsonDict, Observation, content_id

__all__ = ["MemoryKernel"]

Relation = tuple[str, str, str]
"""Source, target and kind."""

Item = str | Relation
"""An entity, by its name, or a relation."""

_T = TypeVar("_T")
_MOST_VIEWS = 50
_ENTITY = zod.record(name=zod.text, entityType=zod.text, observations=zod.array(zod.text))
_RELATION = zod.record(**{"from": zod.text, "to": zod.text, "relationType": zod.text})
_READS = ("read_graph", "search_nodes", "open_nodes")


@dataclass(frozen=True, slots=True)
class Entity:
    """A node."""

    name: str
    kind: str
    observations: tuple[str, ...]

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> Entity:
        """Take an entity as calls and answers write it."""
        return cls(value["name"], value["entityType"], tuple(value["observations"]))

    def shown(self) -> JsonDict:
        """The entity as answers show it."""
        return {"name": self.name, "entityType": self.kind, "observations": list(self.observations)}

    def holds(self, query: str) -> bool:
        """Whether a text in lower case stands in any part of it."""
        return any(query in part.lower() for part in (self.name, self.kind, *self.observations))


@dataclass(frozen=True, slots=True)
class Graph:
    """Entities and relations in the order of the file."""

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()

    def names(self) -> frozenset[str]:
        """Names of all entities."""
        return frozenset(entity.name for entity in self.entities)

    def part(self, entities: Iterable[Entity]) -> Graph:
        """Some of the entities, with all relations that touch one of them."""
        kept = tuple(entities)
        names = {entity.name for entity in kept}
        return Graph(kept, tuple(relation for relation in self.relations if names & {relation[0], relation[1]}))

    def shown(self) -> JsonDict:
        """The graph as answers show it."""
        return {
            "entities": [entity.shown() for entity in self.entities],
            "relations": [_shown_relation(relation) for relation in self.relations],
        }


class MemoryKernel(NodeServer):
    """The graph, and whether it is all that the server holds.

    Args:
        declared: What the world says.
    """

    kind = "memory"
    schemas: ClassVar[Mapping[str, zod.Schema]] = {
        "create_entities": zod.record(entities=zod.array(_ENTITY)),
        "create_relations": zod.record(relations=zod.array(_RELATION)),
        "add_observations": zod.record(
            observations=zod.array(zod.record(entityName=zod.text, contents=zod.array(zod.text)))
        ),
        "delete_entities": zod.record(entityNames=zod.array(zod.text)),
        "delete_observations": zod.record(
            deletions=zod.array(zod.record(entityName=zod.text, observations=zod.array(zod.text)))
        ),
        "delete_relations": zod.record(relations=zod.array(_RELATION)),
        "read_graph": zod.record(),
        "search_nodes": zod.record(query=zod.text),
        "open_nodes": zod.record(names=zod.array(zod.text)),
    }

    def __init__(self, declared: MemoryServer | None = None) -> None:
        declared = declared or MemoryServer(kind="memory")
        entities = tuple(Entity(one.name, one.entityType, one.observations) for one in declared.entities)
        relations = tuple((one.from_, one.to, one.relationType) for one in declared.relations)
        self._graph = Graph(entities, relations)
        self._whole = declared.complete
        self._seen: frozenset[str] = frozenset()
        """Names of which it is known what the graph holds of them, where it is not known as a whole."""
        self._views: tuple[frozenset[Item], ...] = (_items(self._graph),)
        """Entities and relations whose order among each other is known."""
        self._late: frozenset[Item] = frozenset()
        """Those that were added in the session: they stand behind all others."""

    # --- calls

    def run(self, tool: str, value: Any) -> str:
        """Run a tool."""
        act: Callable[[Any], str] = getattr(self, f"_{tool}")
        text = act(value)
        why = self._doubt(tool, value)
        if why:
            raise Unsure(why, text)
        return text

    def _doubt(self, tool: str, value: Any) -> str:
        """Why an answer of an incomplete graph is not sure; empty where it is."""
        if self._whole or tool.startswith("delete_"):
            return ""
        match tool:
            case "create_entities":
                names = [one["name"] for one in value["entities"]]
            case "add_observations":
                names = [one["entityName"] for one in value["observations"]]
            case "open_nodes":
                names = value["names"]
            case _:
                return "the graph may hold more than is known"
        unseen = sorted(set(names) - self._seen - (self._graph.names() if tool != "open_nodes" else set()))
        if unseen:
            return f"it is not known what the graph holds of {', '.join(unseen)[:200]}"
        if tool == "open_nodes":
            shown = _items(self._part(names)) - self._late
            return "" if any(shown <= view for view in self._views) else "their order is not known"
        return ""

    def _part(self, names: Iterable[str]) -> Graph:
        wanted = set(names)
        return self._graph.part(one for one in self._graph.entities if one.name in wanted)

    def _create_entities(self, value: Any) -> str:
        names = self._graph.names()
        made = tuple(Entity.read(one) for one in value["entities"] if one["name"] not in names)
        self._graph = replace(self._graph, entities=self._graph.entities + made)
        self._seen |= {entity.name for entity in made}
        self._late |= {entity.name for entity in made}
        return stringify([entity.shown() for entity in made], 2)

    def _create_relations(self, value: Any) -> str:
        known = set(self._graph.relations)
        made = tuple(found for one in value["relations"] if (found := _relation(one)) not in known)
        self._graph = replace(self._graph, relations=self._graph.relations + made)
        self._late |= set(made)
        return stringify([_shown_relation(relation) for relation in made], 2)

    def _add_observations(self, value: Any) -> str:
        entities = list(self._graph.entities)
        results = []
        for one in value["observations"]:
            place = next((at for at, entity in enumerate(entities) if entity.name == one["entityName"]), None)
            if place is None:
                text = f"Entity with name {one['entityName']} not found"
                if not self._whole and one["entityName"] not in self._seen:
                    raise Unsure(f"it is not known whether {one['entityName']} is there", text, failed=True)
                raise Refused(text)
            entity = entities[place]
            added = [content for content in one["contents"] if content not in entity.observations]
            entities[place] = replace(entity, observations=(*entity.observations, *added))
            results.append({"entityName": one["entityName"], "addedObservations": added})
        self._graph = replace(self._graph, entities=tuple(entities))
        return stringify(results, 2)

    def _delete_entities(self, value: Any) -> str:
        gone = set(value["entityNames"])
        entities = tuple(entity for entity in self._graph.entities if entity.name not in gone)
        relations = tuple(one for one in self._graph.relations if not gone & {one[0], one[1]})
        self._graph = Graph(entities, relations)
        self._seen |= gone
        return "Entities deleted successfully"

    def _delete_observations(self, value: Any) -> str:
        for one in value["deletions"]:
            gone, entities = set(one["observations"]), list(self._graph.entities)
            for place, entity in enumerate(entities):
                if entity.name == one["entityName"]:
                    kept = tuple(text for text in entity.observations if text not in gone)
                    entities[place] = replace(entity, observations=kept)
                    break
            self._graph = replace(self._graph, entities=tuple(entities))
        return "Observations deleted successfully"

    def _delete_relations(self, value: Any) -> str:
        gone = {_relation(one) for one in value["relations"]}
        kept = tuple(relation for relation in self._graph.relations if relation not in gone)
        self._graph = replace(self._graph, relations=kept)
        return "Relations deleted successfully"

    def _read_graph(self, value: Any) -> str:
        return stringify(self._graph.shown(), 2)

    def _search_nodes(self, value: Any) -> str:
        query = value["query"].lower()
        return stringify(self._graph.part(one for one in self._graph.entities if one.holds(query)).shown(), 2)

    def _open_nodes(self, value: Any) -> str:
        return stringify(self._part(value["names"]).shown(), 2)

    # --- following reality

    def observe(self, tool: str, arguments: Arguments, observation: Observation) -> None:
        """Take what an answer shows of the graph."""
        if tool not in self.schemas or observation.is_error:
            return
        value, wrong = zod.parse(self.schemas[tool], dict(arguments))
        if wrong:
            return
        if tool in _READS:
            self._shown(tool, value, observation.text)
        elif tool == "create_entities":
            self._created(value, observation.text)
        elif tool == "add_observations":
            self._added(observation.text)
        else:
            getattr(self, f"_{tool}")(value)

    def _shown(self, tool: str, value: Any, text: str) -> None:
        shown = _graph(text)
        if shown is None:
            return
        if tool == "read_graph":
            self._graph, self._whole = shown, True
            return
        names, known = shown.names(), {entity.name: entity for entity in shown.entities}
        absent: set[str] = set()
        if tool == "open_nodes":
            absent = set(value["names"]) - names
            self._seen |= set(value["names"])
        kept = [known.get(entity.name, entity) for entity in self._graph.entities if entity.name not in absent]
        links = [one for one in self._graph.relations if one in shown.relations or not names & {one[0], one[1]}]
        self._graph = Graph(tuple(_merged(kept, shown.entities)), tuple(_merged(links, shown.relations)))
        self._seen |= names
        self._views = (*self._views[-_MOST_VIEWS:], _items(shown))

    def _created(self, value: Any, text: str) -> None:
        made = _entities(text)
        if made is None:
            return
        names = {entity.name for entity in made}
        kept = tuple(entity for entity in self._graph.entities if entity.name not in names)
        self._graph = replace(self._graph, entities=kept + made)
        self._seen |= names
        self._late |= names
        if {one["name"] for one in value["entities"]} - names - self._graph.names():
            self._whole = False  # one of them was there already, and what it holds is not known

    def _added(self, text: str) -> None:
        for one in _list(text):
            try:
                name, added = one["entityName"], tuple(one["addedObservations"])
            except (TypeError, KeyError):
                return
            entities = tuple(
                replace(entity, observations=entity.observations + added) if entity.name == name else entity
                for entity in self._graph.entities
            )
            self._graph = replace(self._graph, entities=entities)
            if name not in self._graph.names():
                self._whole = False
                self._seen -= {name}

    def footprint(self, tool: str, arguments: Arguments) -> Mapping[str, str] | None:
        """The whole graph, or nothing for calls that are refused or always answer alike."""
        if tool not in self.schemas or tool.startswith("delete_"):
            return {}
        if zod.parse(self.schemas[tool], dict(arguments))[1]:
            return {}
        return {"graph": content_id(self._graph.shown()) if self._whole else "unknown"}

    # --- copies

    def fork(self) -> MemoryKernel:
        """Share the graph, which is never changed in place."""
        twin = object.__new__(MemoryKernel)
        twin._graph, twin._whole, twin._seen = self._graph, self._whole, self._seen
        twin._views, twin._late = self._views, self._late
        return twin

    def dump(self) -> JsonDict:
        """Return the graph."""
        views = [[item if isinstance(item, str) else list(item) for item in view] for view in self._views]
        late = [item if isinstance(item, str) else list(item) for item in self._late]
        found = {"graph": self._graph.shown(), "whole": self._whole, "seen": sorted(self._seen)}
        return {**found, "views": [sorted(view, key=str) for view in views], "late": sorted(late, key=str)}

    def load(self, data: JsonDict) -> None:
        """Take a graph."""
        graph = _graph(json.dumps(data.get("graph")))
        if graph is None:
            raise KernelError("damaged state of a memory server")
        self._graph, self._whole, self._seen = graph, bool(data.get("whole")), frozenset(data.get("seen", ()))
        self._views = tuple(frozenset(map(_item, view)) for view in data.get("views", ()))
        self._late = frozenset(map(_item, data.get("late", ())))

    def describe(self) -> JsonDict:
        """The first of the graph."""
        shown = self._graph.shown()
        return {"entities": shown["entities"][:50], "relations": shown["relations"][:50], "complete": self._whole}

    def close(self) -> None:
        """Nothing to free."""


def _items(graph: Graph) -> frozenset[Item]:
    return frozenset([*graph.names(), *graph.relations])


def _item(value: Any) -> Item:
    return value if isinstance(value, str) else (value[0], value[1], value[2])


def _merged(ours: Sequence[_T], shown: Sequence[_T]) -> list[_T]:
    """Both in one order: what only one side has stands behind what stood before it there."""
    left, found = list(ours), []
    for one in shown:
        if one in left:
            place = left.index(one) + 1
            found += left[:place]
            left = left[place:]
        elif one not in found:
            found.append(one)
    return found + left


def _relation(value: Mapping[str, Any]) -> Relation:
    return value["from"], value["to"], value["relationType"]


def _shown_relation(relation: Relation) -> JsonDict:
    return {"from": relation[0], "to": relation[1], "relationType": relation[2]}


def _list(text: str) -> Sequence[Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    return value if isinstance(value, list) else ()


def _entities(text: str) -> tuple[Entity, ...] | None:
    try:
        return tuple(Entity.read(one) for one in _list(text))
    except (TypeError, KeyError):
        return None


def _graph(text: str) -> Graph | None:
    try:
        value = json.loads(text)
        entities = tuple(Entity.read(one) for one in value["entities"])
        return Graph(entities, tuple(_relation(one) for one in value["relations"]))
    except (ValueError, RecursionError, TypeError, KeyError):
        return None
