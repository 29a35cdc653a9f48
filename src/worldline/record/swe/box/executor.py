"""The program that runs in the box: one JSON request a line in, one answer a line out on a descriptor of its own."""

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from worldline.record.swe.box.common import Refused, environment, failure, first_issue, issues
from worldline.record.swe.box.editor import EditorTools
from worldline.record.swe.box.envelope import EnvelopeTools
from worldline.record.swe.box.running import prepare, run

__all__ = ["main"]

_REPLY, _SECONDS = 198, 120


def _call(
    tools: EditorTools | EnvelopeTools, schemas: Mapping[str, Any], name: str, arguments: Mapping[str, Any]
) -> tuple[str, bool]:
    """Run a tool; the text and whether it is an error."""
    editing = isinstance(tools, EditorTools)
    schema = schemas.get(name)
    method = None if name.startswith("_") else getattr(tools, name, None)
    if schema is None or not callable(method):
        unknown = f"<tool_use_error>Error: No such tool available: {name}</tool_use_error>"
        return (unknown if editing else f'Tool "{name}" not found in registry.'), True
    said = (issues if editing else first_issue)(name, arguments, schema)
    if said:
        return (f"<tool_use_error>InputValidationError: {said}</tool_use_error>" if editing else said), True
    known = {key: value for key, value in arguments.items() if key in schema["properties"] and value is not None}
    try:
        result = method(**known)
    except Refused as refusal:
        said = str(refusal)
    except OSError as error:
        said = failure(error)
    except ValueError as error:  # NUL in a path or a command, a text that is no Unicode
        said = f"Invalid argument: {error}"
    else:
        return result if isinstance(result, tuple) else (result, False)
    return (f"<tool_use_error>{said}</tool_use_error>" if editing else said), True


def _plain(command: str, root: str) -> dict[str, Any]:
    """Run a command of a world whose agent has a shell alone."""
    try:
        ran = run(command, root, _SECONDS)
    except OSError as error:
        return {"text": f"{failure(error)}\n", "status": 127}
    except ValueError as error:
        return {"text": f"Invalid argument: {error}\n", "status": 127}
    return {"text": ran.text, "status": 124 if ran.status is None else ran.status}


def _hide() -> None:
    """Keep commands from this process's descriptors and memory, so that none can answer in its place."""
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def _set_up(script: str, root: str) -> dict[str, Any]:
    """Run what makes the repository."""
    done = subprocess.run(
        ["bash", "-c", script], cwd=root, capture_output=True, stdin=subprocess.DEVNULL, env=environment()
    )
    return {"status": done.returncode, "text": (done.stdout + done.stderr).decode("utf-8", "replace")}


def main() -> None:
    """Answer requests until there are no more."""
    root, family, schemas = os.path.realpath(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
    _hide()
    prepare()
    tools = EditorTools(root) if family == "editor" else EnvelopeTools(root)
    replies = os.fdopen(_REPLY, "w", encoding="utf-8")
    os.set_inheritable(_REPLY, False)
    print(json.dumps({"ready": True}), file=replies, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if "plain" in request:
            reply = _plain(request["plain"], root)
        elif "setup" in request:
            reply = _set_up(request["setup"], root)
        else:
            text, error = _call(tools, schemas, request["name"], request["arguments"])
            reply = {"text": text, "error": error}
        reply["text"] = reply["text"].encode("utf-8", "surrogatepass").decode("utf-8", "replace")  # names of files
        print(json.dumps(reply), file=replies, flush=True)
