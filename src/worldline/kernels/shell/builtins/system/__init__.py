"""Commands about the machine and other programs: date, id, env, xargs, timeout, parallel, python3, git."""
