"""GNU make."""
