"""Whether a session in a repository reads what it wrote there."""

from __future__ import annotations

import posixpath

from worldline.domains.swe import SweState
from worldline.kernels.repository.starting import files_of
from worldline.record.written import Use, lines, reads_written, texts
from worldline.types import Action, Trajectory

__all__ = ["reads_back"]

_WRITERS = ("Write", "Edit", "write_file", "edit")


def reads_back(trajectory: Trajectory) -> bool:
    """Whether a file is read, or a line of it shown, that a writing tool wrote before; commands write nothing here."""
    state = SweState.model_validate(trajectory.world.initial_state)
    package = [spec.content for spec in files_of(state).values() if spec.content]

    def use(action: Action) -> Use:
        told = action.arguments
        paths = [told[key] for key in ("file_path", "absolute_path", "path") if isinstance(told.get(key), str)]
        records = frozenset(posixpath.normpath(posixpath.join(state.cwd, path)) for path in paths)
        if action.name not in _WRITERS:
            return Use(False, records=records)
        fresh = lines(told.get("content"), told.get("new_string")) - lines(told.get("old_string"))
        return Use(True, records=records, texts=fresh)

    return reads_written(trajectory, use, "\n".join([*texts(trajectory.world.initial_state), *package]))
