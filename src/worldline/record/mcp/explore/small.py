"""Exploring the servers that hold little state: time, everything, sequential thinking."""

from __future__ import annotations

from collections.abc import Sequence

from worldline.record.mcp.explore.base import Move, Player, Scene, Weighted

__all__ = ["EverythingPlayer", "ThinkingPlayer", "TimePlayer"]

_ZONES = {
    "europe": "Europe/London Europe/Lisbon Europe/Helsinki Europe/Istanbul Atlantic/Azores UTC Europe/Dublin",
    "americas": "America/New_York America/St_Johns America/Sao_Paulo America/Denver Pacific/Honolulu America/Havana",
    "asia": "Asia/Tokyo Asia/Kolkata Asia/Kathmandu Asia/Tehran Asia/Dubai Asia/Manila Asia/Yangon",
    "pacific": "Pacific/Auckland Pacific/Chatham Australia/Adelaide Australia/Lord_Howe Pacific/Apia Pacific/Marquesas",
    "africa": "Africa/Cairo Africa/Lagos Africa/Nairobi Africa/Casablanca Africa/Johannesburg Indian/Mauritius",
}
_WRONG_ZONES = ("Mars/Base", "EST5", "europe/london", "GMT+2", "Europe", "", "Asia/", "Local", "America/Chicagoo")
_WRONG_TIMES = ("25:00", "9am", "12:60", "", "noon", "12:30:15", "7")


class TimePlayer(Player):
    """Asks for the time and converts it."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        region = scene.pick(sorted(_ZONES))
        self._zones = [*_ZONES[region].split(), *scene.pick(sorted(_ZONES.values())).split()]

    def moves(self) -> Sequence[Weighted]:
        """Right and wrong ones."""
        return [(2.0, self._now), (4.0, self._convert), (1.0, self._wrong_zone), (1.0, self._wrong_time)]

    def _time(self) -> str:
        chance = self.scene.random
        return f"{chance.randint(0, 23):02d}:{chance.randint(0, 59):02d}"

    def _now(self) -> Move:
        yield self.scene.call("get_current_time", timezone=self.scene.pick(self._zones))

    def _convert(self) -> Move:
        scene, one, other = self.scene, self.scene.pick(self._zones), self.scene.pick(self._zones)
        yield scene.call("convert_time", source_timezone=one, time=self._time(), target_timezone=other)
        if scene.chance(0.3):
            yield scene.call("convert_time", source_timezone=other, time=self._time(), target_timezone=one)

    def _wrong_zone(self) -> Move:
        scene, wrong, right = self.scene, self.scene.pick(_WRONG_ZONES), self.scene.pick(self._zones)
        if scene.chance(0.5):
            yield scene.call("get_current_time", timezone=wrong)
        else:
            pair = scene.pick(((wrong, right), (right, wrong)))
            yield scene.call("convert_time", source_timezone=pair[0], time=self._time(), target_timezone=pair[1])

    def _wrong_time(self) -> Move:
        scene = self.scene
        zones = {"source_timezone": scene.pick(self._zones), "target_timezone": scene.pick(self._zones)}
        yield scene.call("convert_time", time=scene.pick(_WRONG_TIMES), **zones)


class EverythingPlayer(Player):
    """Calls each tool that answers at once and without a network."""

    def moves(self) -> Sequence[Weighted]:
        """Right and wrong ones."""
        return [
            (2.0, self._echo),
            (2.0, self._sum),
            (1.0, self._annotated),
            (1.0, self._weather),
            (1.0, self._resource),
            (0.7, self._links),
            (0.4, self._image),
            (0.4, self._environment),
            (0.6, self._toggle),
            (0.5, self._zip),
            (0.3, self._long),
            (1.5, self._wrong),
        ]

    def _words(self) -> str:
        scene = self.scene
        return " ".join(scene.some((*scene.theme.things, *scene.theme.kinds, *scene.theme.places), 5))

    def _echo(self) -> Move:
        yield self.scene.call("echo", message=self._words())

    def _sum(self) -> Move:
        scene, chance = self.scene, self.scene.random
        numbers = (chance.randint(-900, 9000), round(chance.uniform(-20, 20), 2), chance.randint(0, 9))
        yield scene.call("get-sum", a=scene.pick(numbers), b=scene.pick(numbers))

    def _annotated(self) -> Move:
        scene = self.scene
        more = {"includeImage": scene.chance(0.3)} if scene.chance(0.4) else {}
        yield scene.call("get-annotated-message", messageType=scene.pick(("error", "success", "debug")), **more)

    def _weather(self) -> Move:
        places = ("New York", "Chicago", "Los Angeles", "Boston")
        yield self.scene.call("get-structured-content", location=self.scene.pick(places))

    def _resource(self) -> Move:
        scene = self.scene
        number = scene.random.randint(1, 60)
        yield scene.call("get-resource-reference", resourceType=scene.pick(("Text", "Text", "Blob")), resourceId=number)

    def _links(self) -> Move:
        yield self.scene.call("get-resource-links", count=self.scene.random.randint(1, 11))

    def _image(self) -> Move:
        yield self.scene.call("get-tiny-image")

    def _environment(self) -> Move:
        yield self.scene.call("get-env")

    def _toggle(self) -> Move:
        tool = self.scene.pick(("toggle-simulated-logging", "toggle-subscriber-updates"))
        yield self.scene.call(tool)
        yield self.scene.call(tool)

    def _zip(self) -> Move:
        scene = self.scene
        data = f"data:text/plain,{scene.pick(scene.theme.things)}"
        output = scene.pick(("resourceLink", "resource"))
        yield scene.call(
            "gzip-file-as-resource", name=f"{scene.pick(scene.theme.kinds)}.gz", data=data, outputType=output
        )

    def _long(self) -> Move:
        yield self.scene.call("trigger-long-running-operation", duration=0.2, steps=self.scene.random.randint(1, 4))

    def _wrong(self) -> Move:
        scene, word = self.scene, self.scene.pick(self.scene.theme.things)
        yield scene.pick(
            (
                scene.call("get-sum", a=word, b=1),
                scene.call("get-sum", a=scene.random.randint(1, 99)),
                scene.call("get-annotated-message", messageType=word),
                scene.call("get-structured-content", location=word),
                scene.call("get-resource-reference", resourceType=word, resourceId=1),
                scene.call("get-resource-reference", resourceType="Text", resourceId=-scene.random.randint(1, 9)),
                scene.call("get-resource-links", count=scene.random.randint(11, 40)),
                scene.call(f"get-{word}"),
                scene.call("echo", text=word),
            )
        )


class ThinkingPlayer(Player):
    """Thinks in steps: goes on, revises, branches, and gets the numbers wrong."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._number = 0
        self._total = scene.random.randint(3, 8)

    def moves(self) -> Sequence[Weighted]:
        """Right and wrong ones."""
        return [(4.0, self._go_on), (1.2, self._revise), (1.4, self._branch), (1.3, self._wrong)]

    def _thought(self) -> str:
        scene, theme = self.scene, self.scene.theme
        return (
            f"The {scene.pick(theme.things)} {scene.pick(theme.deeds).replace('_', ' ')} the "
            f"{scene.pick(theme.things)} in {scene.pick(theme.places)}, so check its "
            f"{scene.pick(theme.traits).replace('_', ' ')}."
        )

    def _step(self, **more: object) -> dict[str, object]:
        self._number += 1
        return {
            "thought": self._thought(),
            "nextThoughtNeeded": self._number < self._total,
            "thoughtNumber": self._number,
            "totalThoughts": self._total,
            **more,
        }

    def _go_on(self) -> Move:
        yield self.scene.call("sequentialthinking", **self._step())

    def _revise(self) -> Move:
        about = max(1, self._number - self.scene.random.randint(0, 2))
        yield self.scene.call("sequentialthinking", **self._step(isRevision=True, revisesThought=about))

    def _branch(self) -> Move:
        scene = self.scene
        branch = f"{scene.pick(scene.theme.kinds)}-{scene.random.randint(1, 3)}"
        about = max(1, self._number)
        yield scene.call("sequentialthinking", **self._step(branchFromThought=about, branchId=branch))

    def _wrong(self) -> Move:
        scene = self.scene
        wrong = {
            "thoughtNumber": scene.pick((0, -1, "three", 1.5, "2")),
            "totalThoughts": scene.pick((0, None, "many")),
            "nextThoughtNeeded": scene.pick(("maybe", "true", "False", 1, None)),
            "thought": scene.pick((None, 7, "")),
        }
        name = scene.pick(sorted(wrong))
        yield scene.call("sequentialthinking", **{**self._step(), name: wrong[name]})
