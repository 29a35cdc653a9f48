"""Git repositories inside a kernel's files: objects, index, refs, differences, and the commands on top of them."""
