"""Commands about files and directories: listing, finding, copying, removing, permissions, times."""
