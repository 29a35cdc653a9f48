import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from worldline.domains import get_domain
from worldline.domains.terminal import TERMINAL, TerminalDomain
from worldline.domains.terminal.prompt import fenced
from worldline.types import Action, Demonstration, Observation, ToolSpec, Turn, WorldSpec

WORLD = WorldSpec(
    domain="terminal",
    task="Find out why {{ the build }} fails",
    initial_state={
        "cwd": "/srv/app",
        "env": {"CI": "1"},
        "packages": ["git"],
        "files": {
            "/srv/app/README.md": "# App\n```sh\nmake\n```\n",
            "/srv/app/log": {"content": "x" * 20_000},
            "/srv/app/logo": {"base64": "AAEC"},
            "/srv/app/empty": "",
            "/srv/app/out": {"kind": "directory", "complete": True, "mode": "700"},
            "/srv/app/now": {"kind": "symlink", "target": "log"},
        },
    },
    hidden_state={"disk": "full"},
    control={"instruction": "The third write fails."},
    demonstrations=(
        Demonstration(
            turns=(Turn(action=Action(text="pwd"), observation=Observation.from_text("/\n")),), note="A note."
        ),
    ),
)


def turn(number: int) -> Turn:
    output = "".join(f"line {number}.{line} of some output\n" for line in range(12))
    return Turn(
        action=TERMINAL.parse_action(f"cat part-{number}.txt | sort -u"),
        observation=Observation.from_streams(output.encode(), b"", 0),
        thought="never to be shown",
    )


def text(chat: list[dict[str, str]]) -> str:
    return "".join(f"<{message['role']}>{message['content']}" for message in chat)


def test_the_chat_is_the_world_real_turns_and_the_instruction() -> None:
    history = [turn(1), turn(2)]
    chat = TERMINAL.messages(
        WORLD, history, TERMINAL.parse_action("ls"), notes={"state": "cwd /srv/app", "partial": ""}
    )
    assert [message["role"] for message in chat] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert chat[1]["content"] == ('### Turn 1\n**Action:**\n```json\n{"command": "cat part-1.txt | sort -u"}\n```')
    assert chat[2]["content"].startswith("**Environment Observation:**\nline 1.0 of")
    last = chat[-1]["content"]
    assert last.startswith('### Turn 3\n**Action:**\n```json\n{"command": "ls"}\n```')
    assert "cwd /srv/app" in last
    assert "already certain" not in last
    assert "<predicted_observation>" in last
    assert "never to be shown" not in text(chat)


def test_the_system_message_says_what_the_world_declares() -> None:
    system = TERMINAL.messages(WORLD, [], Action(text="ls"))[0]["content"]
    for part in (
        "Find out why {{ the build }} fails",
        "working directory: /srv/app",
        "environment: CI=1",
        "essential ones: git",
        '"/srv/app/README.md": file\n````\n# App\n```sh\nmake\n```\n````',
        '"/srv/app/log": file, 20000 characters, the first 8000 shown',
        '"/srv/app/logo": file, binary, 3 bytes',
        '"/srv/app/empty": file, empty',
        '"/srv/app/out": directory, mode 700, holds nothing but what is listed here',
        '"/srv/app/now": symlink to log',
        '"disk": "full"',
        "The third write fails.",
        "A note.",
        "[exit code: 0]",
        "### 1. bash",
    ):
        assert part in system, part
    assert len(system) < 13_000


def test_declared_tools_and_merged_streams() -> None:
    tool = ToolSpec(
        name="run",
        description="Runs it.",
        parameters={
            "properties": {"command": {"type": "string"}, "wait": {"type": "number", "description": "Seconds."}},
            "required": ["command"],
        },
    )
    world = WorldSpec(domain="terminal", tools=(tool,), initial_state={"shell": {"merged": True, "program": "sh"}})
    system = TERMINAL.messages(world, [], Action(text="ls"))[0]["content"]
    assert "### 1. run\n#### **Description**\nRuns it." in system
    assert "- **command** `string` (REQUIRED)\n- **wait** `number`: Seconds." in system
    assert "arrive as one text" in system
    assert "[exit code" not in system
    assert "/home/user and /tmp are empty" in system
    assert "## Hidden state" not in system


def test_each_prompt_begins_with_the_one_before() -> None:
    history: list[Turn] = []
    reused = total = 0
    before: list[dict[str, str]] = []
    for number in range(1, 31):
        notes = {"state": f"cwd: /srv/app\nturn {number}\n" + "known file\n" * 5}
        chat = TERMINAL.messages(WORLD, history, turn(number).action, notes=notes)
        if before:
            assert chat[: len(before) - 1] == before[:-1]
            assert before[-1]["content"].startswith(chat[len(before) - 1]["content"])
            old, new = text(before), text(chat)
            shared = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(old))
            reused, total = reused + shared, total + len(old)
        before = chat
        history.append(turn(number))
    assert reused / total >= 0.95


def test_dropped_turns_leave_the_numbers_alone() -> None:
    chat = TERMINAL.messages(WORLD, [turn(11)], Action(text="ls"), first_turn=11)
    assert chat[1]["content"].startswith("### Turn 11\n")
    assert chat[-1]["content"].startswith("### Turn 12\n")


def test_other_calls_are_shown_whole() -> None:
    action = Action(name="run", arguments={"command": "ls", "wait": 1})
    last = TERMINAL.messages(WORLD, [], action)[-1]["content"]
    assert json.dumps({"name": "run", "arguments": {"command": "ls", "wait": 1}}) in last


def test_a_folder_overrides_templates(tmp_path: Path) -> None:
    (tmp_path / "suffix.j2").write_text("Answer in {{ open_tag }}.", encoding="utf-8")
    chat = TerminalDomain(tmp_path).messages(WORLD, [], Action(text="ls"))
    assert chat[-1]["content"].endswith("Answer in <predicted_observation>.")
    assert chat[0] == TERMINAL.messages(WORLD, [], Action(text="ls"))[0]


@given(st.text(alphabet="`a\n~"))
def test_a_fence_is_longer_than_any_inside(content: str) -> None:
    lines = fenced(content).split("\n")
    assert lines[0] == lines[-1]
    assert lines[0] not in content
    assert "\n".join(lines[1:-1]) == content.removesuffix("\n")


def test_a_huge_observation_and_huge_files_do_not_flood_the_prompt() -> None:
    huge = Observation.from_streams(b"begin\n" + b"x\n" * 5_000_000 + b"end\n", b"", 3)
    world = WorldSpec(
        domain="terminal", initial_state={"files": {f"/srv/{number:03}": "y" * 10_000 for number in range(50)}}
    )
    chat = TERMINAL.messages(world, [Turn(action=Action(text="cat x"), observation=huge)], Action(text="ls"))
    assert len(text(chat)) < 130_000
    observed = chat[2]["content"]
    assert observed.startswith("**Environment Observation:**\nbegin\n")
    assert observed.endswith("\nend\n[exit code: 3]\n")
    assert "characters not shown]" in observed
    assert chat[0]["content"].count("the first 8000 shown") == 10
    assert '"/srv/049": file, 10000 characters, the first 0 shown' in chat[0]["content"]


def test_the_brief_prompt_shows_a_guess_where_there_is_one_and_is_the_same_without() -> None:
    brief, action = get_domain("terminal", Path("brief")), Action(name="bash", arguments={"command": "wc -l README.md"})
    state = '{"cwd": "/srv/app", "files": [{"path": "/srv/app/README.md", "size": 21}]}'
    told = brief.messages(WORLD, [turn(1)], action, notes={"state": state, "guess": "4 README.md\n"})
    assert told[-1]["content"] == (
        "(<predicted_observation>)\nWorking directory: /srv/app\nFiles: \n"
        "/srv/app/README.md:\n````\n# App\n```sh\nmake\n```\n````\n"
        "A simulation answers, perhaps wrongly:\n```\n4 README.md\n```\n\n$ wc -l README.md"
    )
    plain = brief.messages(WORLD, [turn(1)], action, notes={"state": state})
    assert plain[:-1] == told[:-1]
    assert plain[-1]["content"] == told[-1]["content"].replace(
        "A simulation answers, perhaps wrongly:\n```\n4 README.md\n```\n", ""
    )
    assert brief.messages(WORLD, [turn(1)], action, notes={"state": state, "guess": ""}) == plain
    long = brief.messages(WORLD, [], action, notes={"state": state, "guess": "x" * 5000 + "\n"})[-1]["content"]
    assert "x" * 800 + "\n...\n```\n\n$ wc" in long and "x" * 801 not in long
