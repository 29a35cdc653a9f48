"""What was shown only in part is given again: batches that cannot be split, snippets, passages of long pages."""

from worldline.kernels.search import SearchKernel
from worldline.types import Action, Observation, Turn, WorldSpec

URL = "https://a.test/plum"
LONG = "\n\n".join(f"Passage {number} on {word}. {'x' * 700}" for number, word in enumerate(("plums", "pears", "figs")))


def results(*snippets):
    blocks = (f"[{n}] {URL}\nTitle: Plum\nSnippet: {snippet}\nDate: N/A" for n, snippet in enumerate(snippets, 1))
    return "```\n" + "\n\n".join(blocks) + "\n```"


def opened(goal, evidence):
    summary = " ".join(evidence.split()).split(". ")
    told = ". ".join(summary[:2]) + ("." if len(summary) > 2 else "")
    return (
        f"The useful information in {URL} for user goal {goal} as follows:\n\n"
        f"Evidence in page:\n{evidence}\n\nSummary:\nPlum: {told}"
    )


def follow(*turns):
    kernel = SearchKernel(WorldSpec(domain="search", initial_state={"results": 2}))
    for name, arguments, text in turns:
        answer = Observation.from_text(text, is_error=text.startswith("Error: "))
        kernel.absorb(Turn(action=Action(name=name, arguments=arguments), observation=answer))
    return kernel


def page(goal):
    return Action(name="web_extractor", arguments={"url": URL, "goal": goal})


def test_a_batch_whose_parts_cannot_be_told_is_known_as_a_whole():
    text = results("one", "two", "three")
    kernel = follow(("web_search", {"queries": ["a", "b"]}, text))
    again = kernel.propose(Action(name="web_search", arguments={"queries": ["a", "b"]}))
    assert again.known and again.observation.text == text
    assert not kernel.propose(Action(name="web_search", arguments={"queries": ["b", "a"]})).known
    assert not kernel.propose(Action(name="web_search", arguments={"query": "a"})).known
    other = SearchKernel(WorldSpec(domain="search", initial_state={"results": 2}))
    other.load(kernel.dump())
    assert other.propose(Action(name="web_search", arguments={"queries": ["a", "b"]})).observation.text == text


def test_a_guess_of_a_page_holds_every_snippet_that_was_shown():
    kernel = follow(("web_search", {"queries": ["a", "b"]}, results("Plums are", "Pears are", "Plums are")))
    guess = kernel.propose(page("g"))
    assert not guess.known and not guess.observation.is_error
    assert "Evidence in page:\nPlums are\n\nPears are\n\nSummary:" in guess.observation.text


def test_a_guess_of_a_page_holds_the_passages_that_were_shown_and_no_snippet_of_them_twice():
    first, second, third = LONG.split("\n\n")
    shown = opened("plums", f"{first}\n\n{second}\n\n[...]")
    kernel = follow(
        ("web_search", {"query": "plum"}, results("Passage 0 on plums.")),
        ("web_extractor", {"url": URL, "goal": "plums"}, shown),
    )
    same, other = kernel.propose(page("plums")), kernel.propose(page("figs"))
    assert same.known and same.observation.text == shown
    assert not other.known
    assert first in other.observation.text and second in other.observation.text and third not in other.observation.text
    assert other.observation.text.partition("\nSummary:")[0].count("Passage 0 on plums.") == 1
    twin = kernel.fork()
    twin.load(kernel.dump())
    assert twin.propose(page("figs")).observation == other.observation
