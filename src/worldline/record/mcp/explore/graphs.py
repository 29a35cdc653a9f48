"""Exploring the memory server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from worldline.domains.mcp.state import MemoryServer
from worldline.record.mcp.explore.base import Move, Player, Scene, Weighted

__all__ = ["MemoryPlayer"]


class MemoryPlayer(Player):
    """Creates, links, annotates, deletes and looks again; also twice, and what is not there."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        declared = cast(MemoryServer, scene.state.servers[scene.server])
        self._names = [entity.name for entity in declared.entities]
        self._facts = {entity.name: list(entity.observations) for entity in declared.entities}
        self._links = [relation.model_dump(mode="json") for relation in declared.relations]

    def moves(self) -> Sequence[Weighted]:
        """All kinds; most need an entity."""
        fresh: list[Weighted] = [(2.0, self._create), (0.7, self._read), (1.0, self._search)]
        if not self._names:
            return fresh
        return [
            *fresh,
            (2.0, self._annotate),
            (2.0, self._link),
            (1.2, self._open),
            (1.0, self._forget),
            (0.8, self._delete),
            (0.7, self._unlink),
            (1.6, self._nobody),
            (0.6, self._twice),
        ]

    def _fact(self) -> str:
        scene, theme = self.scene, self.scene.theme
        if scene.chance(0.5):
            return f"{scene.pick(theme.traits)} is {scene.random.randint(1, 900)}"
        return (
            f"{scene.pick(theme.deeds).replace('_', ' ')} the {scene.pick(theme.things)} in {scene.pick(theme.places)}"
        )

    def _entity(self) -> dict[str, Any]:
        scene = self.scene
        name = scene.pick(scene.theme.things)
        if scene.chance(0.4):
            name = f"{name}-{scene.random.randint(2, 60)}"
        facts = [self._fact() for _ in range(scene.random.randint(0, 2))]
        return {"name": name, "entityType": scene.pick(scene.theme.kinds), "observations": facts}

    def _relation(self) -> dict[str, str]:
        scene = self.scene
        return {"from": self._name(), "to": self._name(), "relationType": scene.pick(scene.theme.deeds)}

    def _name(self) -> str:
        return cast(str, self.scene.pick(self._names))

    def _stranger(self) -> str:
        return f"{self.scene.pick(self.scene.theme.things)}-{self.scene.random.randint(61, 99)}"

    def _create(self) -> Move:
        scene = self.scene
        made = [self._entity() for _ in range(scene.random.randint(1, 2))]
        yield scene.call("create_entities", entities=made)
        for entity in made:
            if entity["name"] not in self._names:
                self._names.append(entity["name"])
                self._facts[entity["name"]] = list(entity["observations"])
        yield from self._look(made[0]["name"])

    def _look(self, name: str) -> Move:
        scene = self.scene
        match scene.random.randint(0, 3):
            case 0 | 1:
                yield scene.call("open_nodes", names=[name])
            case 2:
                yield scene.call("search_nodes", query=name.split("-")[0])
            case _:
                yield scene.call("read_graph")

    def _annotate(self) -> Move:
        scene, name = self.scene, self._name()
        new = [self._fact() for _ in range(scene.random.randint(1, 2))]
        if scene.chance(0.25) and self._facts.get(name):
            new.append(self._facts[name][0])  # is there already
        yield scene.call("add_observations", observations=[{"entityName": name, "contents": new}])
        self._facts.setdefault(name, []).extend(new)
        if scene.chance(0.7):
            yield from self._look(name)

    def _link(self) -> Move:
        scene = self.scene
        made = [self._relation() for _ in range(scene.random.randint(1, 2))]
        if scene.chance(0.2) and self._links:
            made.append(scene.pick(self._links))  # is there already
        if scene.chance(0.15):
            made.append({"from": self._name(), "to": self._stranger(), "relationType": scene.pick(scene.theme.deeds)})
        yield scene.call("create_relations", relations=made)
        self._links += [link for link in made if link not in self._links]
        if scene.chance(0.7):
            yield from self._look(made[0]["from"])

    def _open(self) -> Move:
        scene = self.scene
        names = scene.some(self._names, 3)
        if scene.chance(0.3):
            names.append(self._stranger())
        yield scene.call("open_nodes", names=names)

    def _search(self) -> Move:
        scene, theme = self.scene, self.scene.theme
        query = scene.pick((*theme.things, *theme.kinds, *theme.traits, *theme.places))
        if scene.chance(0.2):
            query = scene.pick((query.upper(), "", query[:3], "zzz"))
        turn = yield scene.call("search_nodes", query=query)
        names = _names_in(turn.observation.text)
        if names and scene.chance(0.5):
            yield scene.call("open_nodes", names=scene.some(names, 2))

    def _read(self) -> Move:
        yield self.scene.call("read_graph")

    def _forget(self) -> Move:
        scene, name = self.scene, self._name()
        known = self._facts.get(name) or [self._fact()]
        gone = scene.some(known, 2)
        yield scene.call("delete_observations", deletions=[{"entityName": name, "observations": gone}])
        self._facts[name] = [fact for fact in known if fact not in gone]
        yield scene.call("open_nodes", names=[name])

    def _delete(self) -> Move:
        scene = self.scene
        gone = scene.some(self._names, 2)
        yield scene.call("delete_entities", entityNames=gone)
        self._names = [name for name in self._names if name not in gone]
        match scene.random.randint(0, 2):
            case 0:
                yield scene.call("open_nodes", names=gone)
            case 1:
                yield scene.call("read_graph")
            case _:
                contents = [{"entityName": gone[0], "contents": [self._fact()]}]
                yield scene.call("add_observations", observations=contents)

    def _unlink(self) -> Move:
        scene = self.scene
        gone = [scene.pick(self._links)] if self._links and scene.chance(0.8) else [self._relation()]
        yield scene.call("delete_relations", relations=gone)
        yield scene.call("open_nodes", names=[gone[0]["from"]])

    def _nobody(self) -> Move:
        """An entity that is not there."""
        scene, name = self.scene, self._stranger()
        match scene.random.randint(0, 3):
            case 0 | 1:
                contents = [{"entityName": name, "contents": [self._fact()]}]
                yield scene.call("add_observations", observations=contents)
            case 2:
                yield scene.call("delete_observations", deletions=[{"entityName": name, "observations": ["none"]}])
            case _:
                yield scene.call("delete_entities", entityNames=[name])

    def _twice(self) -> Move:
        """The same entity once more, with other facts: what was there stays."""
        scene, name = self.scene, self._name()
        again = {"name": name, "entityType": scene.pick(scene.theme.kinds), "observations": [self._fact()]}
        yield scene.call("create_entities", entities=[again])
        yield scene.call("open_nodes", names=[name])


def _names_in(text: str) -> list[str]:
    try:
        value: Any = json.loads(text)
        return [str(entity["name"]) for entity in value["entities"]]
    except (ValueError, TypeError, KeyError):
        return []
