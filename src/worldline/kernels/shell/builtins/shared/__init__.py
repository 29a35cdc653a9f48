"""What several commands share: options, messages, dates, sizes, paths, patterns, text as bytes."""
