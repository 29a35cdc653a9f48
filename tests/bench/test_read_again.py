"""Calls that read again: whether an answer agrees with what the session showed before, and the figure made of it."""

import asyncio
import io
import json

import pytest
from click.testing import CliRunner
from rich.console import Console

from worldline.bench.metrics import TurnScore, row
from worldline.bench.runner import score_trajectory
from worldline.bench.table import fidelity_table
from worldline.cli import cli
from worldline.domains import get_domain
from worldline.domains.base import Rereading
from worldline.errors import ModelError
from worldline.formats import read_trajectories
from worldline.recordings import path
from worldline.types import Action, Observation, Prediction, Source, Trajectory, Turn, WorldSpec

WORLD = WorldSpec(domain="search", initial_state={"results": 2})
QUINCE, PEAR, PLUM = (
    (f"https://a.test/{name}", name.title(), f"{name.title()}. A fruit", "N/A") for name in ("quince", "pear", "plum")
)
WHOLE = "Plum. A fruit of the rose family.\n\nIt is picked late."


def results(*hits):
    if not hits:
        return "No results found for 'x'."
    blocks = (f"[{n}] {u}\nTitle: {t}\nSnippet: {s}\nDate: {d}" for n, (u, t, s, d) in enumerate(hits, 1))
    return "```\n" + "\n\n".join(blocks) + "\n```"


def page(url, goal, evidence):
    title = url.rpartition("/")[2].title()
    return (
        f"The useful information in {url} for user goal {goal} as follows:\n\n"
        f"Evidence in page:\n{evidence}\n\nSummary:\n{title}: {evidence[:20]}"
    )


def search(answer, *queries):
    arguments = {"query": queries[0]} if len(queries) == 1 else {"queries": list(queries)}
    return turn("web_search", answer, **arguments)


def opened(answer, hit, goal):
    return turn("web_extractor", answer, url=hit[0], goal=goal)


def turn(name, answer, **arguments):
    observation = Observation.from_text(answer, is_error=answer.startswith("Error: "))
    return Turn(action=Action(name=name, arguments=arguments), observation=observation)


def judged(history, truth, told=None):
    said = truth.observation if told is None else Observation.from_text(told, is_error=told.startswith("Error: "))
    return get_domain("search").read_again(WORLD, history, truth, said)


def test_what_was_never_shown_is_not_read_again():
    assert judged([], search(results(QUINCE), "quince")) is None
    assert judged([search(results(QUINCE), "quince")], search(results(PEAR), "pear")) is None
    assert judged([search(results(QUINCE), "quince")], opened(page(PEAR[0], "g", "x"), PEAR, "g")) is None
    assert judged([], turn("dict_memory", "Memory is empty.", operation="retrieve_all")) is None
    assert judged([], turn("web_search", "Error: web_search takes either 'query' or 'queries'")) is None


@pytest.mark.parametrize("wrong", [{}, {"url": 7}, {"url": "https://a.test/plum", "depth": 2}, {"url": "a", "goal": 1}])
def test_a_wrong_call_reads_nothing(wrong):
    refusal = turn("web_extractor", "Error: no", **wrong)
    assert judged([search(results(PLUM), "plum"), refusal], refusal) is None


def test_a_query_asked_again_has_its_results_again():
    history = [search(results(QUINCE, PEAR), "fruit"), search(results(), "stone")]
    again = search(results(QUINCE, PEAR), "fruit")
    assert judged(history, again) is True
    for told in (results(PEAR, QUINCE), results(QUINCE), results(), "Error: no", ""):
        assert judged(history, again, told) is False, told
    assert judged(history, search(results(), "stone")) is True
    assert judged(history, search(results(), "stone"), results(PLUM)) is False


def test_a_query_is_known_from_a_batch_whose_parts_can_be_told():
    batch = search(results(QUINCE, PEAR, PLUM, PEAR), "a", "b")
    assert judged([batch], search(results(PLUM, PEAR), "b")) is True
    assert judged([batch], search(results(PLUM, PEAR), "b"), results(QUINCE, PEAR)) is False
    torn = search(results(QUINCE, PEAR, PLUM), "a", "b")
    assert judged([torn], search(results(PLUM), "b")) is None, "nobody can say where b's results begin"
    assert judged([torn], torn) is True
    assert judged([torn], torn, results(QUINCE, PEAR)) is False


def test_a_batch_holds_the_results_of_what_was_asked_before():
    history = [search(results(QUINCE, PEAR), "a")]
    batch = search(results(PLUM, QUINCE, PEAR), "b", "a")
    assert judged(history, batch) is True
    assert judged(history, batch, results(QUINCE, PEAR)) is True, "what b finds was not shown"
    assert judged(history, batch, results(QUINCE, PLUM, PEAR)) is False
    both = [*history, search(results(PLUM), "b")]
    assert judged(both, batch, results(QUINCE, PEAR, PLUM)) is False


def test_a_page_opened_again_for_the_same_goal_has_the_same_text():
    first = opened(page(PLUM[0], "g", WHOLE), PLUM, "g")
    assert judged([first], first) is True
    assert judged([first], first, first.observation.text.replace("late", "soon")) is False


def test_a_page_holds_what_its_result_and_its_earlier_reading_showed():
    found, read = search(results(PLUM), "plum"), opened(page(PLUM[0], "g", WHOLE), PLUM, "h")
    assert judged([found], read) is True
    assert judged([found], read, page(PLUM[0], "h", "Plum. A\nfruit of some kind.")) is True, "only blanks differ"
    assert judged([found], read, page(PLUM[0], "h", "A stone fruit.")) is False
    assert judged([found], read, "Error: https://a.test/plum could not be opened: 404 Not Found") is False
    before = opened(page(PLUM[0], "g", "It is picked late.\n\n[...]"), PLUM, "g")
    assert judged([found, before], read, page(PLUM[0], "h", "Plum. A fruit of some kind.")) is False
    parts = opened(page(PLUM[0], "h", "[...]\n\nIt keeps well."), PLUM, "h")
    assert judged([found], parts) is True, "reality left the snippet out"
    assert judged([found], parts, page(PLUM[0], "h", "whatever")) is True
    assert judged([found], parts, "It is a Plum tree.") is True
    assert judged([found], parts, "It is a tree.") is False, "the title was shown"
    assert judged([found, before], opened(page(PLUM[0], "h", "[...]"), PLUM, "h"), page(PLUM[0], "h", "x")) is True


def test_an_address_that_was_refused_is_refused_again():
    refused = opened("Error: https://a.test/plum could not be opened: 404 Not Found", PLUM, "g")
    again = opened("Error: https://a.test/plum could not be opened: 404 Not Found", PLUM, "h")
    assert judged([refused], again) is True
    assert judged([refused], again, page(PLUM[0], "h", WHOLE)) is False


def test_recorded_reality_agrees_with_itself():
    domain, judgements = get_domain("search"), []
    for trajectory in read_trajectories(path("search", "dev")):
        for number, real in enumerate(trajectory.turns):
            judgement = domain.read_again(trajectory.world, trajectory.turns[:number], real, real.observation)
            judgements.append(judgement)
    assert False not in judgements
    assert judgements.count(True) > len(judgements) / 4


def score(again, cluster="c"):
    return TurnScore(
        trajectory="t", turn=0, cluster=cluster, exact=True, error_agrees=True, structured=True, rouge_l=1.0,
        confidence=0.5, abstained=False, origin="computed", determined=None, knowable=True, silent=False, seconds=0.0,
        read_again=again,
    )  # fmt: skip


def shown(*rows):
    out = io.StringIO()
    Console(file=out, width=250).print(fidelity_table(rows, "t"))
    return out.getvalue()


def test_the_figure_has_a_count_and_an_interval_and_a_column_only_where_there_is_one():
    scores = [score(again, cluster) for cluster, again in [("a", True), ("a", None), ("b", False), ("c", True)]]
    with_it = row(scores, engine="e", model=None, domain="search", split="dev")
    assert with_it.n_read_again == 3 and with_it.read_again == pytest.approx(2 / 3)
    low, high = with_it.read_again_ci
    assert 0 <= low < 2 / 3 < high <= 1
    without = row([score(None)], engine="e", model=None, domain="mcp", split="dev")
    assert (without.n_read_again, without.read_again, without.read_again_ci) == (0, None, None)
    assert "read again" in shown(with_it, without) and "66.7 (3)" in shown(with_it, without)
    assert "read again" not in shown(without)


class _Says:
    """An engine that always says the same, or fails."""

    def __init__(self, text):
        self.text = text

    async def predict(self, action, history):
        if self.text is None:
            raise ModelError("no answer")
        return Prediction(
            observation=Observation.from_text(self.text, is_error=False), origin="recalled", confidence=1.0
        )

    def absorb(self, turn):
        pass

    def close(self):
        pass


@pytest.mark.parametrize(("text", "expected"), [(results(QUINCE), True), (results(PEAR), False), (None, False)])
def test_engines_are_judged_by_the_true_history(text, expected):
    turns = (search(results(QUINCE), "a"), search(results(PEAR), "b"), search(results(QUINCE), "a"))
    trajectory = Trajectory(source=Source.OBSERVED, world=WORLD, turns=turns)
    scores = asyncio.run(score_trajectory(trajectory, lambda world: _Says(text)))
    assert [one.read_again for one in scores] == [None, None, expected]


def test_only_domains_with_a_rule_judge():
    assert not isinstance(get_domain("terminal"), Rereading)
    assert get_domain("database").read_again(WORLD, [], search(results(), "a"), Observation()) is None


@pytest.mark.parametrize("where", ["closed=true", "closed=false"])
def test_the_command_tells_it_for_closed_and_for_open_worlds(where):
    command = ["bench", "real", "--domain", "search", "--split", "dev", "--engine", "kernel", "--where", where]
    done = CliRunner().invoke(cli, [*command, "--json", "-"])
    assert done.exit_code == 0, done.output
    [measured] = json.loads(done.stdout)
    assert measured["n_read_again"] > 50
    assert measured["read_again"] >= 0.98
    assert measured["read_again_ci"][0] <= measured["read_again"] <= measured["read_again_ci"][1]
