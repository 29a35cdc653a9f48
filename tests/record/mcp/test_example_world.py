"""The example world: the real servers and the simulated ones answer alike."""

from pathlib import Path

from worldline import World
from worldline.record.mcp import environment
from worldline.types import Action

EXAMPLE = Path(__file__).parents[3] / "examples" / "mcp.world.yaml"
NOTES = "/home/user/notes/meetings.md"

CALLS = [
    ("notes__list_directory", {"path": "/home/user/notes"}),
    ("notes__read_text_file", {"path": NOTES}),
    ("notes__edit_file", {"path": NOTES, "edits": [{"oldText": "Germinal", "newText": "Germinal\n- March: Nostromo"}]}),
    ("notes__read_text_file", {"path": NOTES, "tail": 2}),
    ("notes__read_text_file", {"path": "/home/user/notes/none.md"}),
    ("notes__write_file", {"path": "/etc/motd", "content": "x"}),
    ("shelf__list_tables", {}),
    ("shelf__read_query", {"query": "SELECT title, copies FROM books WHERE copies > 1 ORDER BY pages"}),
    ("shelf__write_query", {"query": "UPDATE books SET copies = copies - 1 WHERE title = 'Nostromo'"}),
    ("shelf__read_query", {"query": "SELECT copies FROM books WHERE id = 3"}),
    ("shelf__read_query", {"query": "DELETE FROM books"}),
    ("graph__create_entities", {"entities": [{"name": "Nostromo", "entityType": "book", "observations": ["next"]}]}),
    ("graph__create_relations", {"relations": [{"from": "circle", "to": "Nostromo", "relationType": "reads"}]}),
    ("graph__open_nodes", {"names": ["Nostromo", "nobody"]}),
    ("graph__add_observations", {"observations": [{"entityName": "nobody", "contents": ["x"]}]}),
    ("clock__convert_time", {"source_timezone": "Europe/Berlin", "time": "18:30", "target_timezone": "Asia/Tokyo"}),
    ("clock__get_current_time", {}),
    ("clock__no_such_tool", {}),
]


def test_the_simulation_answers_as_the_servers_do(installed):
    settings = installed.need("filesystem", "memory", "sqlite", "time")
    world = World.load(EXAMPLE)
    with environment(world.spec, settings=settings) as servers, world.open("kernel") as session:
        for name, arguments in CALLS:
            action = Action(name=name, arguments=arguments)
            real, simulated = servers.step(action), session.step(action).prediction.observation
            assert (simulated.text, simulated.is_error) == (real.text, real.is_error), name
