import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.memory import Memory, Transition
from worldline.memory.evidence import told_here
from worldline.memory.mask import foreign_values
from worldline.memory.reground import align
from worldline.memory.shape import general_footprint, presence, shape_of
from worldline.memory.transition import Footing
from worldline.types import Action, Observation, VolatileSpan

HERE = {"user": "bo", "home": "/home/bo", "hostname": "den", "cwd": "/home/bo/work"}
THERE = {"user": "ann", "home": "/home/ann", "hostname": "box", "cwd": "/home/ann/src"}


def bash(command: str) -> Action:
    return Action(name="bash", arguments={"command": command})


def recorded(command: str, out: str = "", err: str = "", code: int = 0, number: int = 0, **told) -> Transition:
    return Transition(
        id=f"t:{number}",
        action=bash(command),
        observation=Observation.from_streams(out.encode(), err.encode(), code),
        domain="terminal",
        environment="e",
        footprint=None,
        values=THERE,
        **told,
    )


def near(memory: Memory, command: str, stands: Footing = Footing(None)):  # noqa: B008
    return memory.near("terminal", bash(command), HERE, stands)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("cat a.txt", "cat notes/b", True),
        ("cat a.txt", "cat -n a.txt", False),
        ("cat a.txt", "head a.txt", False),
        ("head -n 5 a", "head -n 12 b", True),
        ("head -n 5 a", "head -n x b", False),
        ("grep 'x' f", "grep 'yes' g", True),
        ("grep 'x' f", 'grep "x" f', False),
        ("git log", "git add", False),
        ("git add a", "git add b", True),
        ("cp a a", "cp a b", False),
        ("A=1 ls", "A=2 ls", True),
        ("sort f | uniq", "sort g | uniq", True),
        ("sort f | uniq", "sort f | wc", False),
        ("ls --sort=size", "ls --sort=time", True),
        ("ls", "ls", True),
    ],
)
def test_shapes(one, other, same):
    assert (shape_of(bash(one)).key == shape_of(bash(other)).key) is same


def test_shapes_of_tool_calls():
    one = Action(name="read", arguments={"path": "/a/b.txt", "limit": 5, "raw": True})
    two = Action(name="read", arguments={"limit": 70, "path": "/c.txt", "raw": True})
    assert shape_of(one).key == shape_of(two).key
    assert shape_of(one).slots == ("5", "/a/b.txt")
    assert shape_of(one).key != shape_of(Action(name="read", arguments={"path": "/a", "limit": 5, "raw": False})).key


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_two_actions_of_one_shape_can_be_aligned(one, other):
    first, second = shape_of(bash(one)), shape_of(bash(other))
    if first.key == second.key and first.key:
        assert len(first.slots) == len(second.slots)
        align(first, second, THERE, HERE).text(one)
    assert shape_of(Action(text=one)).key == first.key


@given(st.text(alphabet="ab/._- \n", max_size=40), st.text(alphabet="ab/._-", min_size=1, max_size=6))
def test_nothing_is_replaced_by_itself(text, name):
    shape = shape_of(bash(f"cat {name}"))
    assert align(shape, shape, THERE, THERE).text(text) == text


def test_missing_files_are_regrounded():
    memory = Memory([recorded("cat bar.txt", err="cat: bar.txt: No such file or directory\n", code=1)])
    hit = near(memory, "cat foo.md")
    assert hit is not None
    assert hit.observation.stderr == hit.observation.text == "cat: foo.md: No such file or directory\n"
    assert hit.observation.exit_code == 1 and hit.observation.is_error
    assert (hit.match, hit.attested, hit.votes, hit.agreement) == ("words", False, 1, 1.0)
    assert near(memory, "head foo.md") is None


def test_what_follows_from_a_value_and_the_session_s_own_values():
    out = "/home/ann/src/lib/old.py: by ann on box, see lib, old.pyc and /home/ann, old\n"
    memory = Memory([recorded("file lib/old.py", out=out)])
    hit = near(memory, "file core/new.py")
    assert hit is not None
    # `old.pyc` is another word than `old.py`, but its first part is the name without extension.
    assert hit.observation.text == "/home/bo/work/core/new.py: by bo on den, see core, new.pyc and /home/bo, new\n"


def test_values_that_stay_protect_what_lies_inside_them():
    memory = Memory([recorded("cp aa.txt aa", out="aa.txt to aa\n")])
    hit = near(memory, "cp aa.txt bb")
    assert hit is not None and hit.observation.text == "aa.txt to bb\n"


def test_facts_of_another_session_are_no_answer():
    memory = Memory([recorded("wc -l a.txt", out="17 a.txt\n")])
    assert near(memory, "wc -l b.txt") is None
    assert foreign_values("17 b.txt\n", "wc -l b.txt") == ["17"]
    memory.add(recorded("wc -l c.txt", out="17 c.txt\n", number=1))
    hit = near(memory, "wc -l b.txt")
    assert hit is not None and hit.attested and hit.agreement == 1.0


def test_equal_state_explains_its_values():
    memory = Memory(
        [
            recorded("wc -l a.txt", out="17 a.txt\n", state="s1", presence="+"),
            recorded("wc -l a.txt", out="4 a.txt\n", state="s2", presence="+", number=1),
        ]
    )
    hit = near(memory, "wc -l b.txt", Footing("f", "s2", "+", HERE["cwd"]))
    assert hit is not None and (hit.match, hit.observation.text) == ("state", "4 b.txt\n")
    assert hit.trust_class == "state once unanimous"
    assert near(memory, "wc -l b.txt", Footing("f", "s3", "-", HERE["cwd"])) is None


def test_recordings_of_untold_presence_are_heard_last():
    memory = Memory([recorded("rm aa", err="rm: cannot remove 'aa': No such file or directory\n", code=1)])
    hit = near(memory, "rm bb", Footing("f", None, "-", None))
    assert hit is not None and hit.match == "words"
    memory.add(recorded("rm cc", presence="+", number=1))
    hit = near(memory, "rm bb", Footing("f", None, "+", None))
    assert hit is not None and (hit.match, hit.observation.text) == ("presence", "")
    hit = near(memory, "rm bb", Footing("f", None, "-", None))
    assert hit is not None and (hit.match, hit.votes) == ("words", 1)


def test_values_that_name_nothing_are_told_apart():
    memory = Memory([recorded("grep 'xx' aa", out="xx\n", state="s", presence=".+")])
    hit = near(memory, "grep 'yy' bb", Footing("f", "s", ".+", HERE["cwd"]))
    assert hit is not None and hit.free and hit.trust_class == "state-free once unanimous"
    memory.add(recorded("grep 'yy' aa", out="", state="s", presence=".+", number=1))
    hit = near(memory, "grep 'yy' bb", Footing("f", "s", ".+", HERE["cwd"]))
    assert hit is not None and not hit.free and hit.observation.text == ""


def test_ambiguous_and_unreplaceable_answers_are_left_out():
    memory = Memory([recorded("cp a/xx b/xx", out="xx\n")])
    assert near(memory, "cp c/yy d/zz") is None  # xx would be yy and zz
    memory = Memory([recorded("cat a", err="cat: a: Is a directory\n", code=1)])
    assert near(memory, "cat b") is None
    volatile = recorded("cat p", out="12\n")
    marked = volatile.observation.model_copy(update={"volatile": (VolatileSpan(start=0, end=2, pattern=r"\d+"),)})
    odd = Observation.from_streams(b"\xff", b"", 0)
    for observation in (marked, odd, volatile.observation.model_copy(update={"truncated": True})):
        changed = Transition(**{**{f: getattr(volatile, f) for f in volatile.__slots__}, "observation": observation})
        assert near(Memory([changed]), "cat q") is None


def test_footprints_without_names():
    shape = shape_of(bash("cat a.txt ~/b nosuch"))
    footprint = {
        "cwd": "/home/bo/work",
        "/home/bo/work/a.txt": "h1",
        "/home/bo/b": "absent",
        "/home/bo/work/*": "h2",
        "/home/bo/x": "h3",
        "/etc/hosts": "h4",
    }
    assert general_footprint(footprint, shape, HERE) == {
        "<0>": "h1",
        "<1>": "absent",
        "<cwd>/*": "h2",
        "<home>/x": "h3",
        "/etc/hosts": "h4",
    }
    assert presence(footprint, shape, HERE) == "+-."


def test_evidence_is_told_with_the_session_s_values():
    found = recorded("cat bar.txt", err="cat: bar.txt: No such file or directory\n", code=1)
    told = told_here(found, bash("cat foo"), HERE)
    assert told.action == bash("cat foo") and told.observation.text == "cat: foo: No such file or directory\n"
    assert told_here(found, bash("head foo"), HERE) is found
