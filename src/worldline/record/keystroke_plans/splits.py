"""Which family of keystroke sessions stands in which split."""

from __future__ import annotations

import hashlib

from worldline.record.plans.vocabulary import Split

__all__ = ["SALT", "split_of"]

SALT = 651
"""Number mixed into the hash; chosen by the families' names alone, before any session was written, so that each area
(shell, jobs, repl, input, games, screen, git) stands in every split."""


def split_of(family: str) -> Split:
    """Return the split of a family: 40 of 100 hashes train, 25 dev, 35 test."""
    value = int(hashlib.sha256(f"keystrokes:{SALT}:{family}".encode()).hexdigest()[:8], 16) % 100
    return "train" if value < 40 else "dev" if value < 65 else "test"
