"""The families: a kind of servers and a field of words; and the worlds of each."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from worldline.domains.mcp.state import McpState, as_plain
from worldline.domains.mcp.tools import world_tools
from worldline.record.mcp.plans.content import FORMS, graph, history, pages, root_of, tables
from worldline.record.mcp.themes import THEMES, Theme
from worldline.record.plan import ToolPlan
from worldline.types import JsonDict, WorldSpec, content_id

__all__ = ["FAMILIES", "plans"]

_Part = Callable[[Theme, random.Random], JsonDict]
"""Returns a part of `initial_state`: one server, and files."""


def _files(form: str) -> _Part:
    def part(theme: Theme, chance: random.Random) -> JsonDict:
        root = root_of(form)
        server: JsonDict = {"kind": "filesystem", "roots": [root]}
        files = FORMS[form](theme, chance, root)
        if chance.random() < 0.2:
            server["roots"].append(f"/home/user/{theme.places[0]}")
            files[f"/home/user/{theme.places[0]}/{theme.things[0]}.txt"] = f"{theme.kinds[0]}\n"
        return {"servers": {"files": server}, "files": files}

    return part


def _memory(theme: Theme, chance: random.Random) -> JsonDict:
    return {"servers": {"memory": {"kind": "memory", **graph(theme, chance, chance.randint(0, 6))}}}


def _git(theme: Theme, chance: random.Random) -> JsonDict:
    path = f"/home/user/{theme.name}"
    server: JsonDict = {"kind": "git", "repositories": {path: history(theme, chance)}}
    if chance.random() < 0.5:
        server["only"] = path
    return {"servers": {"git": server}}


def _sqlite(theme: Theme, chance: random.Random) -> JsonDict:
    return {"servers": {"sqlite": {"kind": "sqlite", "setup": tables(theme, chance, "sqlite")}}}


def _duckdb(theme: Theme, chance: random.Random) -> JsonDict:
    server: JsonDict = {"kind": "duckdb", "setup": tables(theme, chance, "duckdb")}
    if chance.random() < 0.15:
        server["readonly"] = True
    return {"servers": {"duckdb": server}}


def _time(theme: Theme, chance: random.Random) -> JsonDict:
    zones = ("UTC", "UTC", "Europe/Berlin", "Asia/Tokyo", "America/New_York")
    return {"servers": {"time": {"kind": "time", "local_timezone": chance.choice(zones)}}}


def _everything(theme: Theme, chance: random.Random) -> JsonDict:
    return {"servers": {"everything": {"kind": "everything"}}}


def _thinking(theme: Theme, chance: random.Random) -> JsonDict:
    return {"servers": {"thinking": {"kind": "sequentialthinking"}}}


def _fetch(theme: Theme, chance: random.Random) -> JsonDict:
    server: JsonDict = {"kind": "fetch", "port": chance.randint(8000, 8999), "pages": pages(theme, chance)}
    if chance.random() < 0.2:
        server["ignore_robots"] = False
        body = f"User-agent: *\nDisallow: /{chance.choice(theme.things)}\n"
        server["pages"]["/robots.txt"] = {"body": body, "content_type": "text/plain"}
    return {"servers": {"web": server}}


def _git_and_files(theme: Theme, chance: random.Random) -> JsonDict:
    """Both see the same repository."""
    state = _git(theme, chance)
    root = next(iter(state["servers"]["git"]["repositories"]))
    state["servers"]["files"] = {"kind": "filesystem", "roots": [root]}
    return state


def _joined(*parts: _Part) -> _Part:
    def part(theme: Theme, chance: random.Random) -> JsonDict:
        state: JsonDict = {"servers": {}, "files": {}}
        for one in parts:
            piece = one(theme, chance)
            state["servers"] |= piece["servers"]
            state["files"] |= piece.get("files", {})
        return state

    return part


_FORMS: dict[str, tuple[_Part, str, int]] = {
    "filesystem/notes": (_files("notes"), "garden planets books recipes", 4),
    "filesystem/project": (_files("project"), "services network experiments", 4),
    "filesystem/logs": (_files("logs"), "metro sensors energy", 4),
    "filesystem/sheets": (_files("sheets"), "warehouse birds weather", 4),
    "filesystem/settings": (_files("settings"), "fonts bikes rivers", 4),
    "memory/graph": (_memory, "services planets books museum chess trees festival minerals languages tickets", 4),
    "git/history": (_git, "recipes music tickets experiments garden rivers bikes energy chess", 4),
    "sqlite/tables": (_sqlite, "warehouse metro birds books sensors festival museum network minerals trees", 4),
    "duckdb/tables": (_duckdb, "weather energy trees languages fonts chess birds", 3),
    "time/zones": (_time, "metro planets festival rivers energy", 3),
    "everything/tools": (_everything, "music minerals birds network fonts", 3),
    "thinking/steps": (_thinking, "chess experiments tickets museum garden", 3),
    "fetch/site": (_fetch, "garden minerals rivers recipes museum trees bikes", 3),
    "several/checkout": (_git_and_files, "fonts weather services", 4),
    "several/notebook": (_joined(_files("notes"), _memory), "music languages energy", 4),
    "several/office": (_joined(_sqlite, _files("sheets"), _time), "bikes trees", 4),
    "several/research": (_joined(_fetch, _memory), "birds books", 3),
    "several/desk": (_joined(_memory, _time, _thinking), "tickets sensors", 3),
    "several/reports": (_joined(_duckdb, _sqlite), "minerals rivers", 3),
}
"""By form of a family: its world, the themes it is played with, and sessions of each."""

FAMILIES = tuple((form, theme) for form, (_, themes, _) in _FORMS.items() for theme in themes.split())
"""All families: form and theme. A form is `GROUP/FORM`, and the family's name `GROUP/FORM-THEME`."""

_OPEN = 0.25
"""Share of the worlds whose servers may hold more than is declared."""

_TASKS = "Keep the records of {} in order. Find out what is there, change it where needed, and check what you changed."


def plans(seed: int) -> Iterator[ToolPlan]:
    """Compose the sessions: the same for the same seed.

    A quarter of the worlds is open: its servers hold more than is declared, and its clock is not declared.
    """
    for form, theme in FAMILIES:
        build, _, sessions = _FORMS[form]
        for number in range(sessions):
            chance = random.Random(f"{seed} {form} {theme} {number}")
            yield _plan(f"{form}-{theme}", build(THEMES[theme], chance), chance)


def _plan(family: str, state: JsonDict, chance: random.Random) -> ToolPlan:
    if chance.random() < _OPEN:
        for server in state["servers"].values():
            server["complete"] = False
    else:
        state["clock"] = (
            f"2026-{chance.randint(1, 12):02d}-{chance.randint(1, 28):02d}T{chance.randint(0, 23):02d}:20:00Z"
        )
    checked = McpState.model_validate(state)
    task = _TASKS.format(family.rpartition("-")[2]) if chance.random() < 0.7 else ""
    world = WorldSpec(domain="mcp", name=family, task=task, tools=world_tools(checked), initial_state=as_plain(checked))
    seed = int(content_id([family, chance.random()], 8), 16)
    return ToolPlan(family=family, world=world, seed=seed, turns=chance.randint(9, 16))
