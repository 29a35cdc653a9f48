"""What the servers of the composed worlds hold: files, graphs, histories, tables and pages about a theme.

Each function returns a part of `initial_state` as a world file writes it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from worldline.domains.mcp.state import HOME
from worldline.record.mcp.themes import Theme
from worldline.types import JsonDict

__all__ = ["FORMS", "graph", "history", "pages", "root_of", "sentence", "tables"]


def _word(text: str) -> str:
    return text.replace("_", " ")


def sentence(theme: Theme, chance: random.Random) -> str:
    """A line of text about the theme."""
    thing, other = chance.sample(theme.things, 2)
    place, trait = chance.choice(theme.places), _word(chance.choice(theme.traits))
    return chance.choice(
        (
            f"The {thing} {_word(chance.choice(theme.deeds))} the {other}.",
            f"Move the {thing} to {place} before the {other}.",
            f"{trait.capitalize()} of the {thing} is {chance.randint(1, 900)}.",
            f"In {place} there are {chance.randint(2, 40)} of kind {chance.choice(theme.kinds)}.",
            f"Ask about {trait} in {place}.",
        )
    )


def _notes(theme: Theme, chance: random.Random, root: str) -> dict[str, Any]:
    files: dict[str, Any] = {}
    for thing in chance.sample(theme.things, chance.randint(3, 6)):
        body = "\n".join(f"- {sentence(theme, chance)}" for _ in range(chance.randint(1, 5)))
        files[f"{root}/{chance.choice(('', f'{chance.choice(theme.places)}/'))}{thing}.md"] = f"# {thing}\n\n{body}\n"
    files[f"{root}/todo.txt"] = "\n".join(sentence(theme, chance) for _ in range(3))
    return files


def _project(theme: Theme, chance: random.Random, root: str) -> dict[str, Any]:
    package = chance.choice(theme.kinds)
    files: dict[str, Any] = {
        f"{root}/README.md": f"# {package}\n\n{sentence(theme, chance)}\n",
        f"{root}/src/{package}/__init__.py": "",
        f"{root}/.gitignore": "build/\n*.log\n",
    }
    for thing in chance.sample(theme.things, chance.randint(2, 4)):
        name, trait = thing.replace("-", "_"), chance.choice(theme.traits)
        code = f"def {trait}(value):\n    return value * {chance.randint(2, 9)}\n"
        files[f"{root}/src/{package}/{name}.py"] = f'"""{sentence(theme, chance)}"""\n\n{code}'
        files[f"{root}/tests/test_{name}.py"] = f"from {package}.{name} import {trait}\n\nassert {trait}(1) > 1\n"
    return files


def _logs(theme: Theme, chance: random.Random, root: str) -> dict[str, Any]:
    files: dict[str, Any] = {}
    for place in theme.places[: chance.randint(2, 4)]:
        lines = []
        for minute in sorted(chance.sample(range(60), chance.randint(4, 12))):
            level = chance.choice(("INFO", "INFO", "WARN", "ERROR"))
            lines.append(f"2026-03-0{chance.randint(1, 9)}T10:{minute:02d}:00Z {level} {sentence(theme, chance)}")
        files[f"{root}/{place}/{chance.choice(theme.things)}.log"] = "\n".join(lines) + "\n"
    files[f"{root}/README"] = f"Logs of {', '.join(theme.places)}\n"
    return files


def _sheets(theme: Theme, chance: random.Random, root: str) -> dict[str, Any]:
    files: dict[str, Any] = {}
    for place in theme.places[: chance.randint(2, 4)]:
        traits = theme.traits[: chance.randint(2, 4)]
        rows = [
            ",".join((thing, *(str(chance.randint(0, 900)) for _ in traits)))
            for thing in chance.sample(theme.things, chance.randint(3, 8))
        ]
        files[f"{root}/{place}.csv"] = "\n".join((",".join(("name", *traits)), *rows)) + "\n"
    columns = json.dumps(dict.fromkeys(theme.traits, "number"), indent=2)
    files[f"{root}/meta/columns.json"] = f"{columns}\n"
    return files


def _settings(theme: Theme, chance: random.Random, root: str) -> dict[str, Any]:
    files: dict[str, Any] = {}
    for thing in chance.sample(theme.things, chance.randint(2, 4)):
        values = {trait: chance.randint(1, 900) for trait in theme.traits}
        match chance.randint(0, 2):
            case 0:
                files[f"{root}/{thing}.json"] = json.dumps({"kind": theme.kinds[0], **values}, indent=2) + "\n"
            case 1:
                files[f"{root}/{thing}.ini"] = "[main]\n" + "".join(
                    f"{key} = {value}\n" for key, value in values.items()
                )
            case _:
                files[f"{root}/conf.d/{thing}.yaml"] = "".join(f"{key}: {value}\n" for key, value in values.items())
    files[f"{root}/conf.d"] = {"kind": "directory"}
    files[f"{root}/empty.conf"] = ""
    return files


FORMS: dict[str, Callable[[Theme, random.Random, str], dict[str, Any]]] = {
    "notes": _notes,
    "project": _project,
    "logs": _logs,
    "sheets": _sheets,
    "settings": _settings,
}
"""Forms of a folder of files; each is called with a theme, a source of chance and the folder."""


def graph(theme: Theme, chance: random.Random, size: int) -> JsonDict:
    """Entities and relations of a memory server."""
    names = chance.sample(theme.things, min(size, len(theme.things)))
    entities = []
    for name in names:
        facts = [f"{trait} is {chance.randint(1, 900)}" for trait in chance.sample(theme.traits, chance.randint(0, 3))]
        entities.append({"name": name, "entityType": chance.choice(theme.kinds), "observations": facts})
    links = {tuple(chance.sample(names, 2)): chance.choice(theme.deeds) for _ in range(size)} if size > 1 else {}
    relations = [{"from": one, "to": other, "relationType": deed} for (one, other), deed in links.items()]
    return {"entities": entities, "relations": relations}


def history(theme: Theme, chance: random.Random) -> JsonDict:
    """A repository of a git server, with changes that are not committed yet."""
    places = chance.sample(theme.places, 2)
    names = [f"{places[number % 2]}/{thing}.txt" for number, thing in enumerate(chance.sample(theme.things, 5))]
    text = {name: [sentence(theme, chance) for _ in range(chance.randint(3, 7))] for name in names}

    def written(name: str) -> str:
        return "\n".join(text[name]) + "\n"

    commits: list[JsonDict] = [
        {"message": f"Begin {theme.name}", "files": {"README.md": f"# {theme.name}\n", names[0]: written(names[0])}}
    ]
    for number in range(chance.randint(1, 4)):
        name = names[min(number, 3)]
        text[name][chance.randrange(len(text[name]))] = sentence(theme, chance)
        message = f"{chance.choice(('Add', 'Correct', 'Extend'))} {name.partition('/')[2].removesuffix('.txt')}"
        commits.append({"message": message, "files": {name: written(name)}})
    text[names[0]].insert(1, sentence(theme, chance))
    working: dict[str, str | None] = {names[0]: written(names[0]), f"draft-{chance.randint(1, 40)}.md": "Draft\n"}
    if chance.random() < 0.3:
        working["README.md"] = None
    repository: JsonDict = {"commits": commits, "working": working}
    if chance.random() < 0.4:
        repository["staged"] = {names[4]: written(names[4])}
    if chance.random() < 0.35:
        side = {"message": f"Try {theme.kinds[0]}", "branch": f"side/{theme.kinds[0]}", "files": {"side.txt": "side\n"}}
        commits.append(side)
        repository["checkout"] = "main"
    return repository


def tables(theme: Theme, chance: random.Random, dialect: str) -> str:
    """Statements that fill a database of two or three tables."""
    statements: list[str] = []
    traits = chance.sample(theme.traits, chance.randint(2, 3))
    columns = ", ".join(f"{trait} INTEGER" for trait in traits)
    main = f"{theme.kinds[0]}s"
    statements.append(f"CREATE TABLE {main} (id INTEGER PRIMARY KEY, name TEXT NOT NULL, place TEXT, {columns})")
    for number, thing in enumerate(chance.sample(theme.things, chance.randint(5, 9)), 1):
        values = [str(number), f"'{thing}'", f"'{chance.choice(theme.places)}'"]
        values += ["NULL" if chance.random() < 0.08 else str(chance.randint(1, 400)) for _ in traits]
        statements.append(f"INSERT INTO {main} VALUES ({', '.join(values)})")
    links = chance.choice(theme.deeds)
    statements.append(f"CREATE TABLE {links} (id INTEGER PRIMARY KEY, source TEXT, target TEXT, weight INTEGER)")
    for number in range(1, chance.randint(4, 8)):
        one, other = chance.sample(theme.things, 2)
        statements.append(f"INSERT INTO {links} VALUES ({number}, '{one}', '{other}', {chance.randint(1, 90)})")
    if dialect == "sqlite" and chance.random() < 0.3:
        statements.append(f"CREATE VIEW busy AS SELECT name, {traits[0]} FROM {main} WHERE {traits[0]} > 200")
    return ";\n".join(statements) + ";\n"


def pages(theme: Theme, chance: random.Random) -> dict[str, Any]:
    """Pages of a small site: a front page with links, articles, data, and some that fail."""
    found: dict[str, Any] = {}
    things = chance.sample(theme.things, chance.randint(3, 5))
    links = "".join(f'<li><a href="/{thing}">{thing}</a></li>' for thing in things)
    head = "<html><head><title>{}</title></head><body>{}</body></html>"
    found["/"] = head.format(theme.name.capitalize(), f"<h1>{theme.name.capitalize()}</h1><ul>{links}</ul>")
    for thing in things:
        body = "".join(f"<p>{sentence(theme, chance)}</p>" for _ in range(chance.randint(2, 5)))
        if chance.random() < 0.4:
            rows = "".join(f"<tr><td>{trait}</td><td>{chance.randint(1, 900)}</td></tr>" for trait in theme.traits)
            body += f"<h2>Figures</h2><table><tr><th>trait</th><th>value</th></tr>{rows}</table>"
        if chance.random() < 0.3:
            body += f"<blockquote>{sentence(theme, chance)}</blockquote><pre>{thing} = {chance.randint(1, 9)}</pre>"
        found[f"/{thing}"] = head.format(thing, f"<h1>{thing}</h1>{body}")
    values = {thing: {trait: chance.randint(1, 900) for trait in theme.traits[:2]} for thing in things}
    found["/data.json"] = {"body": json.dumps(values), "content_type": "application/json"}
    text = "\n".join(sentence(theme, chance) for _ in range(4))
    found["/notes.txt"] = {"body": f"{text}\n", "content_type": "text/plain; charset=utf-8"}
    found["/old"] = {"status": chance.choice((301, 302)), "location": f"/{things[0]}", "content_type": "text/plain"}
    found["/broken"] = {"status": chance.choice((500, 503)), "body": "Out of order", "content_type": "text/plain"}
    found["/closed"] = {"status": chance.choice((401, 403, 410)), "body": "No entry", "content_type": "text/plain"}
    return found


def root_of(form: str) -> str:
    """Folder that a form of files lies in."""
    return f"{HOME}/{form}"
