"""The screen kernel: keystrokes in, screens out, from the same state as the shell kernel."""
