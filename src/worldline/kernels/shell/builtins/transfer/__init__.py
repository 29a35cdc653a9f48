"""rsync between directories of one machine."""
