"""Seeded makers of the files a session starts with."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from random import Random

from worldline.record.plans.vocabulary import BASICS, CSV_SCHEMAS, SENTENCES

__all__ = [
    "access_log",
    "app_log",
    "colon_table",
    "config_ini",
    "config_object",
    "csv_table",
    "env_file",
    "ndjson",
    "number_list",
    "prose",
    "python_module",
    "records",
    "shell_script",
    "two_versions",
    "word_list",
]


def prose(rng: Random, lines: tuple[int, int] = (6, 18)) -> str:
    """Sentences, one or two a line, with a blank line now and then."""
    out: list[str] = []
    for _ in range(rng.randint(*lines)):
        out.append(" ".join(rng.sample(SENTENCES, rng.choice((1, 1, 2)))))
        if rng.random() < 0.15:
            out.append("")
    return "\n".join(out).rstrip("\n") + "\n"


def word_list(rng: Random, words: int = 12) -> str:
    """One word a line, unsorted, some of them repeated."""
    chosen = rng.sample(BASICS["list"], words)
    chosen += rng.choices(chosen, k=rng.randint(2, 5))
    rng.shuffle(chosen)
    return "\n".join(chosen) + "\n"


def number_list(rng: Random) -> str:
    """One whole number a line, unsorted, of differing length."""
    return "".join(
        f"{rng.choice((rng.randint(1, 9), rng.randint(10, 99), rng.randint(100, 5000)))}\n" for _ in range(14)
    )


def csv_table(rng: Random, schema: int, separator: str = ",") -> tuple[str, dict[str, str]]:
    """A table of five columns (id, item, category, number, date) under the header names of a schema.

    Returns:
        The text, and the names `citem`, `ccat`, `cnum`, `cdate`, a category value `cval` and an item `ival`.
    """
    columns = CSV_SCHEMAS[schema][1]
    categories = rng.sample(BASICS["category"], rng.randint(3, 5))
    first = rng.choice((1, 100, 1001))
    day = datetime(2025, rng.randint(1, 11), rng.randint(1, 28), tzinfo=UTC)
    rows, items = [separator.join(columns)], []
    for number in range(rng.randint(8, 24)):
        item = rng.choice(BASICS["list"]).lower()
        items.append(item)
        amount = f"{rng.uniform(1, 400):.2f}" if schema % 2 else str(rng.randint(1, 900))
        stamp = f"{day + timedelta(days=rng.randint(0, 30)):%Y-%m-%d}"
        rows.append(separator.join((str(first + number), item, rng.choice(categories), amount, stamp)))
    known = {"cid": columns[0], "citem": columns[1], "ccat": columns[2], "cnum": columns[3], "cdate": columns[4]}
    used = rows[1].split(separator)[2]
    return "\n".join(rows) + "\n", {**known, "cval": used, "ival": rng.choice(items)}


def app_log(rng: Random, lines: int | None = None) -> str:
    """Lines `DATE TIME LEVEL component: message`."""
    moment = datetime(2025, rng.randint(1, 12), rng.randint(1, 28), rng.randint(0, 20), tzinfo=UTC)
    out = []
    for _ in range(lines or rng.randint(15, 45)):
        moment += timedelta(seconds=rng.randint(1, 400))
        level = rng.choices(("INFO", "DEBUG", "WARN", "ERROR"), (6, 2, 2, 2))[0]
        out.append(f"{moment:%Y-%m-%d %H:%M:%S} {level} {rng.choice(BASICS['component'])}: {_message(rng, level)}")
    return "\n".join(out) + "\n"


def _message(rng: Random, level: str) -> str:
    number = rng.randint(1, 999)
    return rng.choice(
        {
            "INFO": (f"request {number} done in {number % 90} ms", "started", f"loaded {number} records", "health ok"),
            "DEBUG": (f"cache miss key=item:{number}", f"retry {number % 4}", "socket opened"),
            "WARN": (f"slow query took {number} ms", "disk usage at 91%", f"queue length {number}"),
            "ERROR": (f"timeout after {number} ms", "connection refused", f"no such record {number}", "invalid token"),
        }[level]
    )


def access_log(rng: Random) -> tuple[str, dict[str, str]]:
    """A web server's access log in the common format; also an address and a path that stand in it."""
    hosts = [f"10.0.{rng.randint(0, 3)}.{rng.randint(2, 250)}" for _ in range(rng.randint(4, 7))]
    moment = datetime(2025, rng.randint(1, 12), rng.randint(1, 28), 6, tzinfo=UTC)
    out, paths = [], []
    for _ in range(rng.randint(18, 40)):
        moment += timedelta(seconds=rng.randint(1, 300))
        path = rng.choice(BASICS["path"])
        paths.append(path)
        status = rng.choices((200, 301, 304, 403, 404, 500), (12, 1, 2, 1, 3, 2))[0]
        method = rng.choices(("GET", "POST"), (8, 2))[0]
        size = rng.choice((0, rng.randint(120, 9000)))
        out.append(
            f'{rng.choice(hosts)} - - [{moment:%d/%b/%Y:%H:%M:%S} +0000] "{method} {path} HTTP/1.1" {status} {size}'
        )
    return "\n".join(out) + "\n", {"ip": out[0].split()[0], "path": paths[0]}


def records(rng: Random) -> list[dict[str, object]]:
    """Objects with `id`, `name`, `kind`, `qty`, `tags` and `active`, as a JSON file would hold."""
    kinds = rng.sample(BASICS["category"], 3)
    return [
        {
            "id": number,
            "name": rng.choice(BASICS["list"]).lower(),
            "kind": rng.choice(kinds),
            "qty": rng.randint(0, 60),
            "price": round(rng.uniform(1, 90), 2),
            "tags": rng.sample(("new", "sale", "heavy", "fragile", "green", "used"), rng.randint(0, 3)),
            "active": rng.random() < 0.7,
        }
        for number in range(1, rng.randint(5, 10))
    ]


def ndjson(rng: Random) -> str:
    """The same objects, one a line."""
    return "".join(json.dumps(record) + "\n" for record in records(rng))


def config_object(rng: Random) -> str:
    """A nested JSON object like an application's configuration."""
    value = {
        "name": rng.choice(BASICS["list"]).lower(),
        "version": f"{rng.randint(0, 4)}.{rng.randint(0, 12)}.{rng.randint(0, 9)}",
        "debug": rng.random() < 0.5,
        "server": {"host": "127.0.0.1", "port": rng.choice((8000, 8080, 9000, 5432)), "workers": rng.randint(1, 8)},
        "database": {
            "path": "var/data.db",
            "timeout": rng.randint(5, 60),
            "pool": {"min": 1, "max": rng.randint(4, 20)},
        },
        "features": rng.sample(("search", "export", "login", "billing", "themes"), 3),
        "limits": {"upload_mb": rng.choice((5, 10, 50)), "rate": None},
    }
    return json.dumps(value, indent=2) + "\n"


def config_ini(rng: Random) -> str:
    """An INI file with comments, three sections and blank lines."""
    return (
        f"# settings, last changed 2025-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}\n[server]\nhost = localhost\n"
        f"port = {rng.choice((8000, 8080, 9090, 3000))}\nworkers = {rng.randint(1, 8)}\n; timeout = 30\ndebug = "
        f"{rng.choice(('true', 'false'))}\n\n[database]\nengine = sqlite\n"
        f"path = /var/lib/{rng.choice(BASICS['list']).lower()}.db\n"
        f"timeout = {rng.randint(5, 90)}\n\n[logging]\n"
        f"level = {rng.choice(('info', 'debug', 'warning'))}\nfile = app.log\n"
        f"max_size = {rng.choice((10, 20, 100))}M\n"
    )


def env_file(rng: Random) -> str:
    """Shell assignments as in a `.env` file."""
    return (
        f"APP_NAME={rng.choice(BASICS['list']).lower()}\nAPP_PORT={rng.choice((8000, 8080, 3000))}\nAPP_DEBUG="
        f'{rng.choice(("0", "1"))}\nDATA_DIR=./data\nGREETING="hello from {rng.choice(BASICS["list"]).lower()}"\n'
    )


def colon_table(rng: Random) -> str:
    """Lines of seven fields separated by colons, like a user data base."""
    out = []
    for number, name in enumerate(
        rng.sample(("alpha", "beta", "gamma", "delta", "ops", "web", "db", "mail", "build"), 6)
    ):
        shell = rng.choice(("/bin/bash", "/bin/sh", "/usr/sbin/nologin"))
        out.append(
            f"{name}:x:{1000 + number * rng.randint(1, 3)}:{100 + rng.randint(0, 2)}:"
            f"{name} account:/home/{name}:{shell}"
        )
    return "\n".join(out) + "\n"


def two_versions(rng: Random) -> tuple[str, str]:
    """A text and an edited version of it: a line changed, one dropped, one added."""
    old = prose(rng, (8, 12)).splitlines()
    new = list(old)
    position = rng.randrange(1, len(new) - 2)
    new[position] = new[position].replace("the", "that").replace(".", "!", 1) or "one more line"
    del new[rng.randrange(len(new))]
    new.insert(rng.randrange(len(new)), rng.choice(SENTENCES).replace("The", "A"))
    return "\n".join(old) + "\n", "\n".join(new) + "\n"


def python_module(rng: Random) -> str:
    """A small program that reads the files named on its command line and prints something about them."""
    body = rng.choice(
        (
            "    words = text.split()\n    return f'{len(words)} words, {len(set(words))} distinct'\n",
            "    lines = text.splitlines()\n    longest = max(lines, key=len, default='')\n"
            "    return f'{len(lines)} lines, longest {len(longest)}'\n",
            "    counts = Counter(text.lower().split())\n    top = counts.most_common(3)\n"
            "    return ', '.join(f'{word}={n}' for word, n in top)\n",
        )
    )
    return (
        "#!/usr/bin/env python3\nimport sys\nfrom collections import Counter\nfrom pathlib import Path\n\n\n"
        f"def describe(text):\n{body}\n\ndef main(argv):\n    if not argv:\n"
        "        print('usage: PROG FILE...', file=sys.stderr)\n"
        "        return 2\n    for name in argv:\n"
        "        print(f'{name}: {describe(Path(name).read_text())}')\n    return 0\n\n\n"
        "if __name__ == '__main__':\n    sys.exit(main(sys.argv[1:]))\n"
    )


def shell_script(rng: Random) -> str:
    """A small script with a usage check, a loop and an exit status."""
    word = rng.choice(("processing", "checking", "copying", "reading"))
    return (
        '#!/bin/bash\nset -u\nif [ $# -lt 1 ]; then\n  echo "usage: $0 FILE..." >&2\n  exit 2\nfi\nstatus=0\n'
        f'for f in "$@"; do\n  if [ -f "$f" ]; then\n    echo "{word} $f: $(wc -l < "$f") lines"\n'
        '  else\n    echo "skipping $f" >&2\n    status=1\n  fi\ndone\nexit $status\n'
    )
