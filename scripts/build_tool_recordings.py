#!/usr/bin/env python3
"""Record the data set `Worldline-Real/DOMAIN` of a domain of tool calls and write its card.

    python3 scripts/build_tool_recordings.py database --jobs 2

A run that was stopped goes on where it stopped. `--split train` leaves the files of the other splits alone, `--card`
writes only the card and SPLITS.json anew, `--sample N` takes N sessions of the train split into --out, to look at.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path

from worldline.record.card import card, prose, split_plans
from worldline.record.environment import planned
from worldline.record.families import freeze
from worldline.record.store import record_plans
from worldline.recordings import SPLITS

SEED = 1
TARGET = Path(__file__).parents[1] / "src/worldline/recordings"


def main() -> None:
    """Record what is missing, then write the card and the list of families."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("domain", choices=["code", "database", "mcp", "search", "swe"])
    parser.add_argument("--out", type=Path, help="folder; with --sample, a file")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--fresh", action="store_true", help="record anew what is there")
    parser.add_argument("--split", choices=SPLITS, help="record this one alone")
    parser.add_argument("--card", action="store_true", help="record nothing")
    parser.add_argument("--sample", type=int)
    args = parser.parse_args()
    plans = list(planned(args.domain, SEED))
    split_of = split_plans(plans, SEED)
    if args.sample:
        mine = [plan for plan in plans if split_of[plan.family] == "train"][:: max(1, len(plans) // args.sample)]
        summary = record_plans(mine[: args.sample], args.out, jobs=args.jobs, fresh=args.fresh)
        print(json.dumps(summary.as_record(), ensure_ascii=False), file=sys.stderr)
        return
    out = args.out or TARGET / args.domain / "v1"
    out.mkdir(parents=True, exist_ok=True)
    for split in () if args.card else [args.split] if args.split else SPLITS:
        mine = [plan for plan in plans if split_of[plan.family] == split]
        summary = record_plans(mine, out / f"{split}.jsonl.zst", jobs=args.jobs, fresh=args.fresh)
        print(split, json.dumps(summary.as_record(), ensure_ascii=False), file=sys.stderr)
    facts = {"name": f"Worldline-Real/{args.domain}", "version": 1, "seed": SEED, "sessions": len(plans)}
    freeze(out, facts, split_of, partial(card, prose(args.domain)))


if __name__ == "__main__":
    main()
