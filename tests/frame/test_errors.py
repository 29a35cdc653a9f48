import errno

import pytest

from worldline.errors import (
    ConfigError,
    FormatError,
    MissingExtraError,
    StorageError,
    boundary,
    require_extra,
    unknown_name,
)


def test_located_errors_name_file_and_line():
    error = FormatError("expected a trajectory", path="a.jsonl", line=3, hint="check the file")
    assert str(error) == "a.jsonl:3: expected a trajectory (check the file)"
    assert error.as_record() == {
        "type": "FormatError",
        "message": "a.jsonl:3: expected a trajectory",
        "hint": "check the file",
        "path": "a.jsonl",
        "line": 3,
    }


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES])
def test_disk_troubles_become_storage_errors_with_advice(number):
    with pytest.raises(StorageError) as caught, boundary(ConfigError, "writing x"):
        raise OSError(number, "no")
    assert caught.value.hint


def test_boundary_turns_and_chains_foreign_errors_and_lets_others_pass():
    with pytest.raises(ConfigError, match="reading x: bad") as caught, boundary(ConfigError, "reading x"):
        raise ValueError("bad")
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(KeyError), boundary(ConfigError, "reading x"):
        raise KeyError("other")
    with pytest.raises(FormatError), boundary(ConfigError, "reading x"):
        raise FormatError("mine")


def test_missing_extra_says_how_to_install_it():
    with pytest.raises(MissingExtraError, match=r"pip install 'worldline\[serve\]'"):
        require_extra("no_such_module_here.part", "serve")


def test_unknown_names_list_the_known_ones():
    assert "known: a, b" in str(unknown_name("engine", "c", ["b", "a"]))
