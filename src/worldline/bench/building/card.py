"""The data card of a benchmark: what it holds, where from, and how it was made."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from worldline.types import JsonDict

__all__ = ["data_card"]


def data_card(record: JsonDict, fingerprint: str) -> str:
    """Write the card.

    Args:
        record: What `build.json` holds.
        fingerprint: Hash of all files of rows: names the benchmark where figures are reported.

    Returns:
        Markdown, with the metadata block that data hubs read.
    """
    environment = Environment(
        loader=PackageLoader("worldline.bench.building", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
        keep_trailing_newline=True,
    )
    return environment.get_template("card.md.j2").render(**record, fingerprint=fingerprint)
