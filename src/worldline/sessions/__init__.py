"""Sessions: a live run of a world, kept as an event log that can be resumed, rewound and forked."""

from worldline.sessions.session import Session, StepResult
from worldline.sessions.store import EventStore, SessionRecord
from worldline.sessions.sync import SyncSession

__all__ = ["EventStore", "Session", "SessionRecord", "StepResult", "SyncSession"]
