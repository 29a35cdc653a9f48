import asyncio
import json
from pathlib import Path

import pytest

from worldline.domains.terminal import TERMINAL
from worldline.errors import ConfigError, EmptyAnswerError, ModelError, ModelTimeoutError
from worldline.models import ChatModel, Message, ModelAnswer, ScriptedModel
from worldline.types import Usage, WorldSpec


def say(model: ChatModel, text: str = "hello") -> ModelAnswer:
    return asyncio.run(model.complete([{"role": "user", "content": text}]))


def test_a_list_is_answered_in_order() -> None:
    model = ScriptedModel(["<think>why</think>\none", ModelAnswer("two", None, "length", Usage(), "m")])
    assert isinstance(model, ChatModel)
    first = say(model)
    assert (first.content, first.reasoning, first.finish_reason) == ("one", "why", "stop")
    assert say(model, "again").finish_reason == "length"
    assert [call[0]["content"] for call in model.calls] == ["hello", "again"]
    with pytest.raises(ModelError, match="only 2 answers"):
        say(model)


def test_a_mapping_is_looked_up_by_command() -> None:
    model = ScriptedModel({"ls": "listing", "hello": "greeting", "*": "anything"})
    for command, answer in (("ls", "listing"), ("pwd", "anything")):
        chat = TERMINAL.messages(WorldSpec(domain="terminal"), [], TERMINAL.parse_action(command))
        messages: list[Message] = [{"role": "user", "content": chat[-1]["content"]}]
        assert asyncio.run(model.complete(messages)).content == answer
    assert say(model, "hello").content == "greeting"
    with pytest.raises(ModelError, match="no answer"):
        say(ScriptedModel({"ls": "x"}), "other")


def test_functions_plain_and_async() -> None:
    async def later(messages: object) -> str:
        return "later"

    assert say(ScriptedModel(lambda messages: messages[-1]["content"].upper())).content == "HELLO"
    assert say(ScriptedModel(later)).content == "later"


def test_errors_and_empty_answers() -> None:
    with pytest.raises(ModelTimeoutError):
        say(ScriptedModel([ModelTimeoutError("slow")]))
    with pytest.raises(EmptyAnswerError):
        say(ScriptedModel(["<think>only thought</think>"]))


ENTRIES = ["plain", {"content": "a", "reasoning": "b", "finish_reason": "length", "usage": {"prompt_tokens": 3}}]


@pytest.mark.parametrize("name", ["script.yaml", "script.json", "script.jsonl"])
def test_script_files(tmp_path: Path, name: str) -> None:
    text = "\n".join(map(json.dumps, ENTRIES)) + "\n" if name.endswith("l") and "json" in name else json.dumps(ENTRIES)
    (tmp_path / name).write_text(text, encoding="utf-8")
    model = ScriptedModel.from_file(tmp_path / name)
    assert say(model).content == "plain"
    answer = say(model)
    assert (answer.content, answer.reasoning, answer.usage.prompt_tokens) == ("a", "b", 3)


def test_script_files_by_command(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text('ls: "x\\n[exit code: 0]"\n"*": {error: RateLimitError, message: busy}\n')
    (tmp_path / "b.jsonl").write_text('{"match": "ls", "content": "x"}\n{"match": "*", "error": "ModelError"}\n')
    for name in ("a.yaml", "b.jsonl"):
        model = ScriptedModel.from_file(tmp_path / name)
        assert say(model, "ls").content.startswith("x")
        with pytest.raises(ModelError):
            say(model, "pwd")


@pytest.mark.parametrize(
    "text", ["5", "- 5", "- {contents: a}", "- {error: OSError}", "- {content: a, usage: {x: 1}}", "[", "a: [", "- {}"]
)
def test_wrong_script_files(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"s\.yaml"):
        ScriptedModel.from_file(path)


def test_the_documented_script_works(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    block = page.split("## Scripts")[1].split("```yaml\n")[1].split("```")[0]
    (tmp_path / "doc.yaml").write_text(block, encoding="utf-8")
    model = ScriptedModel.from_file(tmp_path / "doc.yaml")
    world = WorldSpec(domain="terminal")
    assert TERMINAL.parse_answer(say(model, "ls").content, world).stdout == "notes.txt\n"
    failed = say(model, "make")
    assert failed.reasoning
    observation = TERMINAL.parse_answer(failed.content, world)
    assert (observation.stdout, observation.exit_code) == ("", 2)
    with pytest.raises(ModelTimeoutError):
        say(model, "pwd")


async def test_keystrokes_are_looked_up_by_what_is_typed():
    content = '### Turn 1\n**Action:**\n```json\n[{"keystrokes": "ls", "duration": 0.1}, {"keystrokes": "\\n"}]\n```'
    model = ScriptedModel({"ls\n": "$ ls\na\n$", "*": "other"})
    assert (await model.complete([Message(role="user", content=content)])).content == "$ ls\na\n$"
