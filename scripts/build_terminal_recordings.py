#!/usr/bin/env python3
"""Record the data set `Worldline-Real/terminal` v1 and write its card.

    debootstrap --variant=minbase --include=PACKAGES trixie VARIANT     # PACKAGES: see the data card
    python3 scripts/build_terminal_recordings.py --variant-root VARIANT --jobs 2

A run that was stopped goes on where it stopped. `--card` writes only the card and SPLITS.json anew.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from worldline.record.families import freeze
from worldline.record.plans import generate, split_of
from worldline.record.plans.card import card
from worldline.record.recording import RecordingSettings
from worldline.record.shell import Limits
from worldline.record.store import record_plans
from worldline.recordings import SPLITS

COUNT, SEED = 480, 1
TARGET = Path(__file__).parents[1] / "src/worldline/recordings/terminal/v1"


def main() -> None:
    """Record what is missing, then write the card and the list of families."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variant-root", type=Path, help="a Debian 13 root made with debootstrap")
    parser.add_argument("--out", type=Path, default=TARGET)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--fresh", action="store_true", help="record anew what is there")
    parser.add_argument("--card", action="store_true", help="record nothing")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    plans = list(generate(COUNT, SEED))
    if not args.card:
        settings = RecordingSettings(variant_root=args.variant_root, limits=Limits(wall=10.0))
        for split in SPLITS:
            mine = [plan for plan in plans if split_of(plan.family) == split]
            summary = record_plans(mine, args.out / f"{split}.jsonl.zst", settings, jobs=args.jobs, fresh=args.fresh)
            print(split, json.dumps(summary.as_record(), ensure_ascii=False), file=sys.stderr)
    facts = {
        "name": "Worldline-Real/terminal",
        "version": 1,
        "count": COUNT,
        "seed": SEED,
    }
    freeze(args.out, facts, {plan.family: split_of(plan.family) for plan in plans}, card)


if __name__ == "__main__":
    main()
