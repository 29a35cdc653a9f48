"""The tools of a coding assistant, run for real inside the recorder's box. Imports the standard library only."""
