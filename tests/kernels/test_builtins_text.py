"""Properties of what the text builtins are made of: differences, patches, bytes in transit, numbers, archives."""

from __future__ import annotations

import io
import json
import math
import tarfile
import zipfile
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldline.kernels.shell import ShellKernel
from worldline.kernels.shell.builtins.archives.compressors import compress, decompress
from worldline.kernels.shell.builtins.archives.zip_archive import Entry, build, load
from worldline.kernels.shell.builtins.data import bc_numbers
from worldline.kernels.shell.builtins.data.json_text import JsonProblem, canonical, number_text, scan
from worldline.kernels.shell.builtins.shared.textio import escape, restore, unescape
from worldline.kernels.shell.builtins.shared.versions import version_compare
from worldline.kernels.shell.builtins.text import patches
from worldline.kernels.shell.builtins.text.diff_styles import Sides, normal, unified
from worldline.kernels.shell.builtins.text.differences import changes
from worldline.types import Action, WorldSpec

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"}\n"]), max_size=40)


@given(LINES, LINES, st.integers(0, 4))
def test_changes_turn_one_file_into_the_other(old: list[bytes], new: list[bytes], horizon: int) -> None:
    result: list[bytes] = []
    at = 0
    for change in changes(old, new, horizon=horizon):
        assert change.deleted or change.inserted
        result += old[at : change.old_start] + new[change.new_start : change.new_end]
        at = change.old_end
    assert result + old[at:] == new


@given(LINES, LINES, st.sampled_from([0, 1, 3]))
def test_a_printed_difference_can_be_applied(old: list[bytes], new: list[bytes], size: int) -> None:
    for text in (
        unified(Sides(old, new, "a", "b"), changes(old, new, horizon=size), size),
        normal(Sides(old, new), changes(old, new)),
    ):
        found = patches.parse(text)
        if old == new:
            assert found == []
            continue
        result, reports = patches.apply(old, found[0].hunks)
        assert result == new
        assert all(report.ok and not report.offset and not report.fuzz for report in reports)
        back, _ = patches.apply(new, [hunk.reversed() for hunk in found[0].hunks])
        assert back == old


@given(st.binary(max_size=200))
def test_bytes_survive_the_shell(data: bytes) -> None:
    text = escape(data)
    assert text.encode().decode() == text
    assert unescape(text) == data
    assert restore(text.encode()) == data


NUMBERS = st.builds(bc_numbers.Number, st.integers(-(10**12), 10**12), st.integers(0, 6))


def _exact(number: bc_numbers.Number) -> Fraction:
    return Fraction(number.value, 10**number.scale)


@given(NUMBERS, NUMBERS, st.integers(0, 10))
def test_bc_arithmetic_truncates_the_exact_result(
    left: bc_numbers.Number, right: bc_numbers.Number, scale: int
) -> None:
    assert _exact(bc_numbers.add(left, right)) == _exact(left) + _exact(right)
    product = bc_numbers.multiply(left, right, scale)
    assert product.value == math.trunc(_exact(left) * _exact(right) * 10**product.scale)
    if right.value:
        quotient = bc_numbers.divide(left, right, scale)
        assert quotient.value == math.trunc(_exact(left) / _exact(right) * 10**scale)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_as_jq_writes_it_reads_back(value: float) -> None:
    assert float(number_text(value)) == value


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=4), st.sampled_from([None, 2]))
def test_good_json_has_no_problem(values: list[Any], indent: int | None) -> None:
    text = "\n".join(json.dumps(value, indent=indent) for value in values)
    assert scan(text) == len(values)
    assert canonical(text) == text


@given(st.text(alphabet='{}[]:,"a1 \n\\', max_size=20))
def test_bad_json_is_found(text: str) -> None:
    try:
        json.loads(text)
    except ValueError:
        return
    assert scan(text) == 1


def test_bad_json_in_jqs_words() -> None:
    with pytest.raises(JsonProblem, match="Objects must consist of key:value pairs at line 1, column 5"):
        scan('{"a"}')


@given(st.lists(st.text(alphabet="a1.~-v0", max_size=6).map(str.encode), min_size=3, max_size=3))
def test_version_order_is_an_order(names: list[bytes]) -> None:
    a, b, c = names
    assert (version_compare(a, b) > 0) == (version_compare(b, a) < 0)
    if version_compare(a, b) <= 0 and version_compare(b, c) <= 0:
        assert version_compare(a, c) <= 0


@settings(max_examples=30)
@given(st.sampled_from(["gzip", "bzip2", "xz", "zstd"]), st.binary(max_size=500))
def test_compressed_data_comes_back(kind: str, data: bytes) -> None:
    assert decompress(kind, compress(kind, data)) == data


def test_zip_archives_are_read_by_others() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC)
    entries = [Entry("d/", b"", 0o755, moment), Entry("d/ä.txt", b"text " * 50, 0o640, moment)]
    for entry in entries:
        entry.pack(6)
    data = build(entries)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["d/", "d/ä.txt"]
        assert archive.read("d/ä.txt") == b"text " * 50
    back = load(data)
    assert [(entry.name, entry.content, entry.mode, entry.mtime) for entry in back] == [
        (entry.name, entry.content, entry.mode, entry.mtime) for entry in entries
    ]


def _run(kernel: ShellKernel, command: str) -> tuple[str | None, str | None, int | None, bool]:
    proposal = kernel.propose(Action(name="bash", arguments={"command": command}))
    observation = proposal.observation
    kernel.accept()
    return observation.stdout, observation.stderr, observation.exit_code, proposal.known


@pytest.fixture
def kernel() -> ShellKernel:
    files = {"/home/user/f": "b\na\n", "/home/user/secret": {"content": "x\n", "mode": "000"}}
    packages = ["jq", "zip", "unzip", "bc", "patch", "sqlite3", "xxd", "gawk"]
    return ShellKernel(WorldSpec(domain="terminal", initial_state={"files": files, "packages": packages}))


def test_a_tar_archive_is_read_by_others(kernel: ShellKernel) -> None:
    assert _run(kernel, "mkdir d && cp f d/g && tar cf x.tar f d && base64 -w0 x.tar")[3]
    text = _run(kernel, "base64 -w0 x.tar")[0]
    import base64

    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(text or ""))) as archive:
        assert archive.getnames() == ["f", "d", "d/g"]
        assert archive.getmember("f").uname == "user"


@pytest.mark.parametrize(
    "command",
    ["cat secret", "sort secret", "grep x secret", "wc -l secret", "head secret", "cut -c1 secret", "diff f secret",
     "md5sum secret", "jq . secret", "sed p secret", "awk 1 secret", "xxd secret", "od secret", "base64 secret"],
)  # fmt: skip
def test_closed_files_stay_closed(kernel: ShellKernel, command: str) -> None:
    stdout, stderr, status, known = _run(kernel, command)
    assert (status != 0 and "Permission denied" in (stderr or "") and "x" not in (stdout or "").split()) or not known


@pytest.mark.parametrize(
    "command",
    ["cat /srv/unheard/of", "sort /etc/fstab", "grep -r x /var", "sort -R f", "awk 'BEGIN{print rand()}'",
     "tar czf x.tgz /etc"],
)  # fmt: skip
def test_what_cannot_be_known_is_not_claimed(kernel: ShellKernel, command: str) -> None:
    assert not _run(kernel, command)[3]


def test_files_written_by_awk_and_sed_are_the_kernels(kernel: ShellKernel) -> None:
    assert _run(kernel, "awk '{print > \"out\"}' f; sed -i s/a/A/ f; cat out f") == ("b\na\nb\nA\n", "", 0, True)


def test_bytes_pass_through_pipes(kernel: ShellKernel) -> None:
    assert _run(kernel, "echo /wD+ | base64 -d | xxd -p") == ("ff00fe\n", "", 0, True)
    assert _run(kernel, "gzip -c f | gunzip | sort | tr a-z A-Z") == ("A\nB\n", "", 0, True)
    assert _run(kernel, "gzip -c f > f.gz; zcat f.gz | head -1") == ("b\n", "", 0, True)
