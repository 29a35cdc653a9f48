"""Words that fixtures and file names are made of, dealt out to the splits so that they share no file name."""

from __future__ import annotations

from typing import Literal

__all__ = ["BASICS", "CSV_SCHEMAS", "SENTENCES", "STEMS", "Split", "deal", "words"]

Split = Literal["train", "dev", "test"]

_SHARE: dict[Split, tuple[int, ...]] = {"train": (0, 1), "dev": (2,), "test": (3,)}


def words(text: str) -> tuple[str, ...]:
    """Split a list of words, written as one text."""
    return tuple(text.split())


STEMS: dict[str, tuple[str, ...]] = {
    "project": words(
        "inventory webshop tracker station library billing atlas harbor orchard metrics beacon archive planner "
        "garden ledger survey courier depot foundry meadow lantern quarry relay signal timber vessel workshop "
        "zephyr cinder delta ember falcon glacier hollow island jigsaw kernel-notes lagoon mosaic nimbus"
    ),
    "text": words(
        "notes draft report minutes readme story summary letter journal article chapter1 proposal agenda memo "
        "essay recipe manual intro overview changes poem speech faq guide howto abstract outline review plan "
        "appendix handbook bulletin diary brief transcript leaflet caption preface digest profile"
    ),
    "list": words(
        "names fruits hosts cities words colors animals tags tools countries planets metals trees birds rivers "
        "topics modules teams labels owners herbs stones items parts routes queue members keys flags terms "
        "flowers fishes roles groups streets genres skills brands nodes places"
    ),
    "nums": words(
        "numbers scores sizes values temps counts weights prices samples points ages marks heights delays totals "
        "levels ranks speeds lengths hits grades costs widths rates ticks depths volumes steps sums angles times "
        "loads offsets laps yields ratios votes primes codes odds"
    ),
    "log": words(
        "app server worker system auth service daemon backup deploy cron debug events gateway mailer scheduler "
        "sync build monitor proxy api ingest batch crawler router storage broker cache indexer notifier uploader "
        "importer exporter watcher renderer payments search sensors jobs audit session"
    ),
    "access": words(
        "access httpd requests web nginx traffic site-access visits edge frontend www portal static shop-access "
        "blog-access lb cdn hits-www origin public"
    ),
    "json": words(
        "users products books config-dump packages devices movies servers recipes songs issues plants courses "
        "tickets repos parcels bikes games lamps routes-api stations albums boats sensors-api printers rooms "
        "trains cameras planes phones shelves desks museums trails bridges lakes peaks parks ports towers"
    ),
    "object": words(
        "config settings manifest package profile-data options defaults state metadata schema deploy-config "
        "app-settings theme pipeline features limits layout policy preset index"
    ),
    "conf": words(
        "app server site database mail client backup logging worker proxy agent-conf service cluster storage "
        "runtime network display printer player editor"
    ),
    "dir": words(
        "src docs assets photos project site backup letters music reports scripts templates uploads public drafts "
        "samples incoming shared material notes.d modules pages exports recordings library drawings invoices "
        "receipts sketches slides content resources vendor snapshots outbox articles bundles tables plots sheets"
    ),
    "py": words(
        "main stats parse convert tool process analyze clean report_gen merge fetch_local summarize check "
        "transform count filter render score collect pack scan rank split_rows validate tally extract reformat "
        "bucket dedupe flatten inspect_data rollup compare measure sample trim group annotate resolve index_words"
    ),
    "sh": words(
        "run deploy backup build setup rotate cleanup start check sync install_local publish nightly prepare "
        "release verify collect archive launch bootstrap"
    ),
    "new": words(
        "out result copy tmp1 sorted merged filtered output final work extract selection clean part latest total "
        "combined picked stage export subset scratch before snapshot trimmed unique collected render preview "
        "joined result2 matches bundle mirror spare packed cut slice dump edited ready keep test1 first second "
        "third fixed patched demo trial batch1 run1 tidy raw small short wide flat mixed fresh"
    ),
}

BASICS: dict[str, tuple[str, ...]] = {
    "list": words(
        "apple banana cherry damson elder fig grape hazel iris juniper kiwi lemon mango nutmeg olive peach quince "
        "raisin sage thyme umbra violet walnut yarrow oslo paris quito rome seoul tokyo utrecht vienna warsaw "
        "zurich berlin cairo delhi essen florence geneva Helsinki Istanbul Jakarta Kyoto lima Madrid nairobi red "
        "green blue amber copper silver cobalt iron zinc nickel"
    ),
    "category": words(
        "tools garden kitchen office outdoor books toys music paper sport north south east west bronze gold basic "
        "premium"
    ),
    "component": words("auth db cache http queue disk mail sched api worker"),
    "path": words(
        "/ /index.html /login /api/items /api/items/42 /static/app.js /static/site.css /favicon.ico "
        "/search?q=lamp /cart /admin /robots.txt /img/logo.png /docs/start /health"
    ),
}

CSV_SCHEMAS: tuple[tuple[str, tuple[str, str, str, str, str]], ...] = (
    ("orders", ("id", "item", "category", "amount", "date")),
    ("products", ("sku", "product", "group", "price", "added")),
    ("stock", ("part", "name", "shelf", "qty", "checked")),
    ("readings", ("n", "sensor", "zone", "value", "day")),
    ("sales", ("no", "article", "region", "revenue", "sold_on")),
    ("trips", ("trip", "vehicle", "area", "km", "date")),
    ("expenses", ("ref", "what", "kind", "cost", "paid")),
    ("results", ("run", "case", "suite", "millis", "finished")),
    ("visits", ("visit", "page", "source", "seconds", "day")),
    ("shipments", ("code", "goods", "depot", "weight", "shipped")),
    ("harvest", ("row", "crop", "field", "kilos", "picked")),
    ("loans", ("loan", "title", "branch", "days", "due")),
    ("budget", ("line", "purpose", "unit", "euros", "booked")),
    ("devices", ("asset", "model", "site", "watts", "installed")),
    ("scores", ("entry", "player", "league", "points", "played")),
    ("meters", ("meter", "label", "district", "kwh", "read_on")),
)

SENTENCES: tuple[str, ...] = (
    "The quick brown fox jumps over the lazy dog.",
    "Every morning the harbor wakes before the town does.",
    "The report was late, and nobody asked for the numbers.",
    "Three lamps were missing from the last delivery.",
    "We moved the old server to the second rack on Tuesday.",
    "Rain fell all day and the garden drank it up.",
    "TODO: check the totals once more before Friday.",
    "The library opens at nine and closes at six.",
    "A small change in the config broke the nightly build.",
    "Nothing in the list was marked as urgent.",
    "The index is rebuilt whenever a file changes.",
    "Please read the manual before you open the case.",
    "It was a bright day in the harbor and the boats were out.",
    "The second test failed with a timeout error.",
    "Most of the data came from the north station.",
    "An error in line 12 stopped the import.",
    "The team agreed to meet again in two weeks.",
    "Old paper maps still hang on the wall of the office.",
    "Each item has a number, a name and a price.",
    "The lamp in the kitchen flickers when the fridge starts.",
    "Backups are kept for thirty days and then removed.",
    "Water the plants twice a week, more often in summer.",
    "The first draft had 42 pages and no conclusion.",
    "Trains to the coast leave at 07:15 and 18:40.",
    "The password file was readable by everyone, which is an error.",
    "She sells sea shells by the sea shore.",
    "FIXME: the second table does not add up.",
    "The winter market sells candles, bread and honey.",
    "All tests pass on the build machine, but not here.",
    "Words on a page do not weigh anything.",
    "The bridge was closed in March and opened again in May.",
    "Put the key under the stone next to the gate.",
)


def deal(pool: tuple[str, ...], split: Split) -> tuple[str, ...]:
    """Return the words of `pool` that `split` may use: every fourth for dev and test each, the rest for train."""
    share = _SHARE[split]
    return tuple(word for position, word in enumerate(pool) if position % 4 in share)
