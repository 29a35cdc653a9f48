"""The page of the command line names every command and option that there is, and none that there is not."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from worldline.cli import cli

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
TEXT = PAGE.read_text(encoding="utf-8")
SECTIONS = {part.partition("\n")[0]: part for part in re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]}
SHARED = SECTIONS["Options of many commands"]
ELSEWHERE = dict.fromkeys(("import", "export", "inspect"), "Trajectories")
EXAMPLE = re.compile(r"^(?:\$ )?worldline (.+)$", re.MULTILINE)
OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")


def commands(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from commands(found, *path, name)
        else:
            yield (*path, name), found


COMMANDS = dict(commands(cli))


def section_of(path: tuple[str, ...]) -> str:
    return SECTIONS[ELSEWHERE.get(path[0], path[0])]


def spellings(command: click.Command) -> list[list[str]]:
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    return [[*option.opts, *option.secondary_opts] for option in options if not option.hidden]


def split(example: str) -> tuple[tuple[str, ...], list[str]]:
    words, path = shlex.split(example), ()
    while words and any(known[: len(path) + 1] == (*path, words[0]) for known in COMMANDS):
        path = (*path, words.pop(0))
    return path, words


EXAMPLES = [match[1] for match in EXAMPLE.finditer(TEXT)]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_a_command_with_options_that_it_has(example: str):
    path, words = split(example)
    assert path in COMMANDS, f"there is no command `worldline {example}`"
    command = COMMANDS[path]
    command.make_parser(click.Context(command)).parse_args(words)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_a_command_has_an_example(path: tuple[str, ...]):
    assert path in {split(example)[0] for example in EXAMPLES}


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_options_of_a_command_stand_in_its_section(path: tuple[str, ...]):
    named = set(OPTION.findall(section_of(path))) | set(OPTION.findall(SHARED))
    assert [option for option in spellings(COMMANDS[path]) if not named & set(option)] == []


def test_an_option_that_is_named_exists():
    known = {spelling for command in COMMANDS.values() for option in spellings(command) for spelling in option}
    ours = re.sub(r'"[^"\n]*"', "", TEXT)
    assert {option for option in OPTION.findall(ours) if option.startswith("--")} - known == {"--help"}
