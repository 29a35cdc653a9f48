#!/usr/bin/env python3
"""Record the data set `Worldline-Real/terminal/keystrokes` v1 and write its card.

    debootstrap --variant=minbase --include=PACKAGES trixie VARIANT     # PACKAGES: see the data card
    python3 scripts/build_keystroke_recordings.py --variant-root VARIANT --jobs 12

Recording is mostly waiting, so many jobs fit on few processors. A run that was stopped goes on where it stopped.
`--card` writes only the card and SPLITS.json anew.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from worldline.record.families import freeze
from worldline.record.keystroke_plans import generate, split_of
from worldline.record.keystroke_plans.card import card
from worldline.record.recording import RecordingSettings
from worldline.record.shell import Limits
from worldline.record.store import record_plans
from worldline.recordings import SPLITS

SEED = 1
TARGET = Path(__file__).parents[1] / "src/worldline/recordings/terminal/keystrokes/v1"


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
    if os.geteuid() == 0:
        os.nice(-10)  # so that looking at the boxes is not delayed; what runs in them goes back to 0
    plans = list(generate(SEED))
    if not args.card:
        settings = RecordingSettings(variant_root=args.variant_root, limits=Limits(wall=10.0))
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        for split in SPLITS:
            mine = [plan for plan in plans if split_of(plan.family) == split]
            with Progress(*columns, console=Console(stderr=True)) as bar:
                task = bar.add_task(split, total=len(mine))
                summary = record_plans(
                    mine,
                    args.out / f"{split}.jsonl.zst",
                    settings,
                    jobs=args.jobs,
                    fresh=args.fresh,
                    on_progress=lambda done, bar=bar, task=task: bar.update(task, completed=done),  # type: ignore[misc]
                )
            print(split, json.dumps(summary.as_record(), ensure_ascii=False), file=sys.stderr)
    facts = {
        "name": "Worldline-Real/terminal/keystrokes",
        "version": 1,
        "seed": SEED,
    }
    freeze(args.out, facts, {plan.family: split_of(plan.family) for plan in plans}, card)


if __name__ == "__main__":
    main()
