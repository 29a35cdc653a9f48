"""The time server: what time it is somewhere, and what time that is elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, ClassVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import BaseModel, create_model

from worldline.kernels.tools.base import Arguments
from worldline.kernels.tools.servers.host import Host
from worldline.kernels.tools.servers.python_server import PythonServer, ToolFailed
from worldline.kernels.tools.servers.replies import Unsure
from worldline.types import JsonDict, Observation

__all__ = ["TimeKernel"]

_NOW = "get_current_time"
_ZONES = "/opt/mcp/python/lib/python3.11/site-packages/tzdata/zoneinfo"
"""Where the recorded servers have their time zones."""


class TimeKernel(PythonServer):
    """Nothing but the host's clock.

    Args:
        host: Whose clock it tells.
    """

    kind = "time"
    models: ClassVar[Mapping[str, type[BaseModel]]] = {
        _NOW: create_model("get_current_timeArguments", timezone=(str, ...)),
        "convert_time": create_model(
            "convert_timeArguments", source_timezone=(str, ...), time=(str, ...), target_timezone=(str, ...)
        ),
    }

    def __init__(self, host: Host) -> None:
        self.host = host

    def run(self, tool: str, value: Any) -> str:
        """Run a tool."""
        if tool == _NOW:
            _require("timezone", value.timezone)
            return json.dumps(_moment(self.host.clock.astimezone(_zone(value.timezone)), value.timezone), indent=2)
        _require("source_timezone", value.source_timezone)
        _require("target_timezone", value.target_timezone)
        return self._convert(value.source_timezone, value.time, value.target_timezone)

    def _convert(self, source: str, time: str, target: str) -> str:
        here, there = _zone(source), _zone(target)
        try:
            wanted = datetime.strptime(time, "%H:%M").time()  # noqa: DTZ007 - a time of day has no zone
        except ValueError:
            raise ToolFailed("Invalid time format. Expected HH:MM [24-hour format]") from None
        today = self.host.clock.astimezone(here).date()
        moment = datetime.combine(today, wanted, here)
        if moment.astimezone(UTC).astimezone(here).replace(tzinfo=None) != moment.replace(tzinfo=None):
            raise ToolFailed(
                f"Invalid time: {time} does not exist in {source} on {today.isoformat()} (skipped by a clock change)"
            )
        result = moment.astimezone(there)
        shift = (result.utcoffset() or timedelta()) - (moment.utcoffset() or timedelta())
        shown = {"source": _moment(moment, source), "target": _moment(result, target)}
        return json.dumps({**shown, "time_difference": _hours(shift.total_seconds() / 3600)}, indent=2)

    def observe(self, tool: str, arguments: Arguments, observation: Observation) -> None:
        """Set the clock by an answer."""
        if tool != _NOW or observation.is_error:
            return
        try:
            told = datetime.fromisoformat(json.loads(observation.text)["datetime"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return
        if told.tzinfo is not None:
            self.host.clock = told.astimezone(UTC)

    def footprint(self, tool: str, arguments: Arguments) -> Mapping[str, str] | None:
        """The clock; of a conversion, the day."""
        if tool not in self.models:
            return {}
        return {"clock": self.host.clock.isoformat()} if tool == _NOW else {"day": self.host.clock.date().isoformat()}

    def fork(self) -> TimeKernel:
        """Nothing to copy."""
        return TimeKernel(self.host)

    def dump(self) -> JsonDict:
        """Nothing beside the host's clock."""
        return {}

    def load(self, data: JsonDict) -> None:
        """Nothing to take up."""

    def describe(self) -> JsonDict:
        """The clock."""
        return {"clock": self.host.clock.isoformat()}

    def close(self) -> None:
        """Nothing to free."""


@cache
def _names() -> frozenset[str]:
    return frozenset(available_timezones())


def _require(name: str, value: str) -> None:
    if not value:
        raise ToolFailed(f"Missing required argument: {name}")


def _zone(name: str) -> ZoneInfo:
    try:
        zone = ZoneInfo(name)
    except ZoneInfoNotFoundError as error:
        raise ToolFailed(f"Invalid timezone: {error}") from error
    except ValueError as error:
        raise ToolFailed(f"Invalid timezone: {error}") from error
    except OSError as error:
        said = f"[Errno {error.errno}] {error.strerror}: '{_ZONES}/{name}'"
        raise Unsure("the message names a file of the machine", f"Invalid timezone: {said}", failed=True) from error
    if name not in _names():
        raise ToolFailed(f"Invalid timezone: 'No time zone found with key {name}'")
    return zone


def _moment(moment: datetime, zone: str) -> JsonDict:
    return {
        "timezone": zone,
        "datetime": moment.isoformat(timespec="seconds"),
        "day_of_week": f"{moment:%A}",
        "is_dst": bool(moment.dst()),
    }


def _hours(hours: float) -> str:
    if hours.is_integer():
        return f"{hours:+.1f}h"
    return f"{hours:+.2f}".rstrip("0").rstrip(".") + "h"
