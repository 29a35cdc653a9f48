"""Recording software engineering: real packages with their tests in the box, and who works on them."""
