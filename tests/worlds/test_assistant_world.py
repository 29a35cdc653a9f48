"""The hand-written example, an assistant's world, played: create, read again, change, delete, search, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from worldline.worlds import World

FILE = Path(__file__).parents[2] / "examples" / "assistant.world.yaml"
INVALID = "Invalid arguments for "
EVENT = {"title": "x", "date": "2026-03-02", "start": "09:40", "end": "10:00"}


@pytest.fixture
def world() -> World:
    return World.load(FILE)


def test_a_session(world: World) -> None:
    with world.open() as session:

        def call(name: str, **arguments: Any) -> str:
            result = session.step({"name": name, "arguments": arguments})
            assert not result.abstained, name
            return result.observation

        assert [m["id"] for m in json.loads(call("mail_list", unread=True))["messages"]] == ["m002", "m001"]
        assert json.loads(call("mail_read", id="m002"))["unread"] is False
        assert json.loads(call("mail_list", unread=True))["total"] == 1
        sent = call("mail_send", to=["li@example.org"], subject="Re: Lunch", body="Yes", in_reply_to="m002")
        assert sent == "Sent message m005 to li@example.org"
        assert json.loads(call("mail_read", id="m005"))["body"] == "Yes"
        assert [m["id"] for m in json.loads(call("mail_search", query="LUNCH"))] == ["m005", "m002"]
        assert call("mail_move", id="m001", folder="archive") == "Moved m001 from inbox to archive"
        assert call("mail_delete", id="m001") == "Deleted m001"
        assert call("mail_read", id="m001") == "No message with id m001"
        assert json.loads(call("mail_search", query="invoice")) == []

        lunch = call("calendar_create", title="Lunch", date="2026-03-03", start="12:00", end="13:00")
        assert json.loads(lunch)["event_id"] == 103
        clash = call("calendar_create", title="Call", date="2026-03-03", start="12:30", end="12:45")
        assert clash == "Overlaps with event 103 (Lunch)"
        assert json.loads(call("calendar_update", event_id=103, end="12:30"))["end"] == "12:30"
        assert "event_id" in call("calendar_create", title="Call", date="2026-03-03", start="12:30", end="12:45")
        assert [e["title"] for e in json.loads(call("calendar_list", date="2026-03-03"))][:2] == ["Lunch", "Call"]

        assert call("files_write", path="notes/a b.txt", content="it's\nhere\n") == "Wrote notes/a b.txt"
        assert call("shell", command="cd notes && wc -l 'a b.txt'") == "2 a b.txt\n"
        assert call("files_read", path="a b.txt") == "it's\nhere\n"
        assert call("files_delete", path="a b.txt") == "Deleted a b.txt"
        assert call("files_read", path="a b.txt") == "cat: 'a b.txt': No such file or directory\n"


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("mail_send", {"to": [], "subject": "x", "body": "y"}, "A message needs at least one recipient"),
        ("mail_send", {"to": "li", "subject": "x", "body": "y"}, INVALID + "mail_send: to should be array"),
        ("mail_list", {"folder": "junk"}, INVALID + "mail_list: folder should be one of inbox, sent, archive, drafts"),
        ("calendar_get", {"event_id": 7}, "Event 7 not found"),
        ("calendar_create", {**EVENT, "end": "09:00"}, "An event must end after it starts"),
        ("calendar_create", EVENT, "Overlaps with event 101 (Stand-up)"),
        ("contacts_add", {"email": "rosa@example.com", "name": "R"}, "There is a contact rosa@example.com already"),
        ("contacts_add", {"email": "nobody", "name": "R"}, '"nobody" is no mail address'),
        ("contacts_delete", {}, INVALID + "contacts_delete: email is required"),
        ("contacts_get", {"email": "x", "y": 1}, INVALID + "contacts_get: unexpected argument y"),
        ("fly", {}, "Tool not found: fly"),
        ("files_read", {"path": "/home/me/nothing"}, "cat: /home/me/nothing: No such file or directory\n"),
    ],
)
def test_refusals(world: World, name: str, arguments: dict[str, Any], text: str) -> None:
    with world.open() as session:
        observation = session.step({"name": name, "arguments": arguments}).prediction.observation
    assert observation.text == text
    assert observation.is_error


def test_forks_go_their_own_ways_and_a_session_rewinds(world: World) -> None:
    with world.open() as session:
        session.step({"name": "contacts_delete", "arguments": {"email": "li@example.org"}})
        twin = session.fork()
        with twin:
            twin.step({"name": "shell", "arguments": {"command": "echo mine > notes/todo.txt"}})
            session.step({"name": "contacts_add", "arguments": {"email": "li@example.org", "name": "Li"}})
            read = {"name": "files_read", "arguments": {"path": "notes/todo.txt"}}
            get = {"name": "contacts_get", "arguments": {"email": "li@example.org"}}
            assert twin.step(read).observation == "mine\n"
            assert twin.step(get).prediction.observation.is_error
            assert session.step(read).observation.startswith("pay the invoice")
            assert not session.step(get).prediction.observation.is_error
        session.rewind(3)
        assert session.step(get).prediction.observation.is_error
