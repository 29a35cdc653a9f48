"""Tool worlds: servers whose tools an agent calls, each answered by a kernel of its own."""
