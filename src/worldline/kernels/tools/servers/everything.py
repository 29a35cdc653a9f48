"""The everything server: one tool of each kind, hardly any state."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from worldline.errors import KernelError
from worldline.kernels.base import Proposal
from worldline.kernels.tools.base import Arguments
from worldline.kernels.tools.servers import zod
from worldline.kernels.tools.servers.blocks import text_of
from worldline.kernels.tools.servers.host import Host
from worldline.kernels.tools.servers.js import number_text, stringify
from worldline.kernels.tools.servers.node_server import NodeServer, Refused
from worldline.kernels.tools.servers.replies import Unsure, failed
from worldline.types import JsonDict, Observation

__all__ = ["EverythingKernel"]

_TASK_TOOL = "simulate-research-query"
_WEATHER = {
    "New York": {"temperature": 33, "conditions": "Cloudy", "humidity": 82},
    "Chicago": {"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82},
    "Los Angeles": {"temperature": 73, "conditions": "Sunny / Clear", "humidity": 48},
}
_MESSAGES = {
    "error": "Error: Operation failed",
    "success": "Operation completed successfully",
    "debug": "Debug: Cache hit ratio 0.95, latency 150ms",
}
_IMAGE: JsonDict = {"type": "image", "mimeType": "image/png"}
_TOGGLES = {
    "toggle-simulated-logging": (
        "Started simulated, random-leveled logging for session undefined at a 5 second pace. Client's selected "
        "logging level will be respected. If an interval elapses and the message to be sent is below the selected "
        "level, it will not be sent. Thus at higher chosen logging levels, messages should arrive further apart. ",
        "Stopped simulated logging for session undefined",
    ),
    "toggle-subscriber-updates": (
        "Started simulated resource updated notifications for session undefined at a 5 second pace. Client will "
        "receive updates for any resources the it is subscribed to.",
        "Stopped simulated resource updates for session undefined",
    ),
}
_ENVIRONMENT = {
    "SHELL": "/bin/bash",
    "PWD": "/home/user",
    "LOGNAME": "user",
    "TZ": "UTC",
    "HOME": "/home/user",
    "USER": "user",
    "LC_ALL": "C.UTF-8",
    "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games",
    "_": "/usr/bin/setpriv",
}
"""What every server of a world gets from the box it runs in."""
_BASE = "demo://resource/dynamic"


class EverythingKernel(NodeServer):
    """Two switches are all that it remembers."""

    kind = "everything"
    schemas: ClassVar[Mapping[str, zod.Schema]] = {
        "echo": zod.record(message=zod.text),
        "get-annotated-message": zod.record(
            messageType=zod.enum("error", "success", "debug"), includeImage=zod.default(zod.boolean, False)
        ),
        "get-env": zod.record(),
        "get-resource-links": zod.record(count=zod.default(zod.number(1, 10), 3)),
        "get-resource-reference": zod.record(
            resourceType=zod.default(zod.enum("Text", "Blob"), "Text"), resourceId=zod.default(zod.number(), 1)
        ),
        "get-structured-content": zod.record(location=zod.enum(*_WEATHER)),
        "get-sum": zod.record(a=zod.number(), b=zod.number()),
        "get-tiny-image": zod.record(),
        "gzip-file-as-resource": zod.record(
            name=zod.default(zod.text, "README.md.gz"),
            data=zod.default(zod.url, "https://raw.githubusercontent.com/"),
            outputType=zod.default(zod.enum("resourceLink", "resource"), "resourceLink"),
        ),
        "toggle-simulated-logging": zod.record(),
        "toggle-subscriber-updates": zod.record(),
        "trigger-long-running-operation": zod.record(
            duration=zod.default(zod.number(), 10), steps=zod.default(zod.number(), 5)
        ),
    }

    def __init__(self, host: Host) -> None:
        self.host = host
        self._on: frozenset[str] = frozenset()

    def call(self, tool: str, arguments: Arguments) -> Proposal:
        """Answer; one tool needs a kind of call that no plain client makes."""
        if tool == _TASK_TOOL:
            text = f"MCP error -32601: Tool {tool} requires task augmentation (taskSupport: 'required')"
            return failed(text, f"everything {tool}")
        return super().call(tool, arguments)

    def run(self, tool: str, value: Any) -> str:
        """Run one of the tools."""
        match tool:
            case "echo":
                return f"Echo: {value['message']}"
            case "get-sum":
                a, b = float(value["a"]), float(value["b"])
                return f"The sum of {number_text(a)} and {number_text(b)} is {number_text(a + b)}."
            case "get-structured-content":
                return stringify(_WEATHER[value["location"]])
            case "get-annotated-message":
                return _annotated(value["messageType"], value["includeImage"])
            case "get-resource-links":
                return _links(value["count"])
            case "get-resource-reference":
                return self._reference(value["resourceType"], value["resourceId"])
            case "trigger-long-running-operation":
                return self._wait(value["duration"], value["steps"])
            case "gzip-file-as-resource":
                return _gzipped(value)
            case "get-env":
                return self._environment()
            case "get-tiny-image":
                return text_of(
                    [_text("Here's the image you requested:"), _IMAGE, _text("The image above is the MCP logo.")]
                )
        return self._toggle(tool)

    def _toggle(self, tool: str) -> str:
        start, stop = _TOGGLES[tool]
        self._on ^= {tool}
        return start if tool in self._on else stop

    def _environment(self) -> str:
        shown = stringify(_ENVIRONMENT | dict(self.host.env), 2)
        if self.host.env:
            raise Unsure("the order of the variables is not known", shown)
        return shown

    def _wait(self, duration: float, steps: float) -> str:
        if duration > 0 and steps >= 1:
            self.host.wait(duration / steps * int(steps))
        seconds, count = number_text(duration), number_text(steps)
        return f"Long running operation completed. Duration: {seconds} seconds, Steps: {count}."

    def _reference(self, kind: str, number: float) -> str:
        shown = number_text(number)
        if not float(number).is_integer() or number < 1:
            raise Refused(f"Invalid resourceId: {shown}. Must be a finite positive integer.")
        resource = _resource(kind, shown, self.host)
        blocks: list[JsonDict] = [
            _text(f"Returning resource reference for Resource {shown}:"),
            {"type": "resource", "resource": resource},
            _text(f"You can access this resource using the URI: {resource['uri']}"),
        ]
        return text_of(blocks)

    def observe(self, tool: str, arguments: Arguments, observation: Observation) -> None:
        """Take the position of a switch from its answer."""
        if tool in _TOGGLES and re.match("Started|Stopped", observation.text):
            self._on = self._on | {tool} if observation.text.startswith("Started") else self._on - {tool}

    def footprint(self, tool: str, arguments: Arguments) -> Mapping[str, str] | None:
        """The switch, the environment or the clock where an answer depends on one."""
        if tool in _TOGGLES:
            return {tool: str(tool in self._on)}
        if tool == "get-env":
            return {"env": json.dumps(dict(sorted(self.host.env.items())))}
        if tool == "get-resource-reference":
            return {"clock": self.host.clock.isoformat()}
        return {}

    def fork(self) -> EverythingKernel:
        """Copy the switches."""
        twin = EverythingKernel(self.host)
        twin._on = self._on
        return twin

    def dump(self) -> JsonDict:
        """Return the switches."""
        return {"on": sorted(self._on)}

    def load(self, data: JsonDict) -> None:
        """Take the switches."""
        try:
            self._on = frozenset(map(str, data["on"]))
        except (KeyError, TypeError) as exc:
            raise KernelError("damaged state of an everything server") from exc

    def describe(self) -> JsonDict:
        """The switches that are on."""
        return {"on": sorted(self._on)}

    def close(self) -> None:
        """Nothing to free."""


def _text(text: str) -> JsonDict:
    return {"type": "text", "text": text}


def _annotated(kind: str, image: bool) -> str:
    text = _text(_MESSAGES[kind])
    return text_of([text, _IMAGE] if image else [text])


def _links(count: float) -> str:
    intro = f"Here are {number_text(count)} resource links to resources available in this server:"
    kinds = ((number, "blob" if number % 2 else "text") for number in range(1, int(count) + 1))
    links = [{"type": "resource_link", "uri": f"{_BASE}/{kind}/{number}"} for number, kind in kinds]
    blocks: list[JsonDict] = [_text(intro), *links]
    return text_of(blocks)


def _resource(kind: str, number: str, host: Host) -> JsonDict:
    moment = host.clock
    stamp = f"{moment.hour % 12 or 12}:{moment:%M:%S} {'AM' if moment.hour < 12 else 'PM'}"
    uri = f"{_BASE}/{kind.lower()}/{number}"
    if kind == "Text":
        text = f"Resource {number}: This is a plaintext resource created at {stamp}"
        return {"uri": uri, "mimeType": "text/plain", "text": text}
    blob = base64.b64encode(f"Resource {number}: This is a base64 blob created at {stamp}".encode()).decode()
    return {"uri": uri, "mimeType": "text/plain", "blob": blob}


def _gzipped(value: Mapping[str, Any]) -> str:
    data = value["data"]
    scheme = data.split(":", 1)[0].lower()
    if scheme in ("http", "https"):
        raise Refused("fetch failed")
    if scheme != "data":
        raise Refused(
            f"Error processing file {data}: Unsupported URL protocol for {data}. "
            "Only http, https, and data URLs are supported."
        )
    uri = f"demo://resource/session/{value['name']}"
    if value["outputType"] == "resource":
        return text_of([{"type": "resource", "resource": {"uri": uri}}])
    return text_of([{"type": "resource_link", "uri": uri}])
