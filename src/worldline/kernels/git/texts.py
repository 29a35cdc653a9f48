"""Texts that git writes into new repositories and says at certain moments, word for word."""

from __future__ import annotations

__all__ = ["DEFAULT_BRANCH", "DESCRIPTION", "DETACHED", "EMPTY_AMEND", "EMPTY_PICK", "EXCLUDE"]

DESCRIPTION = "Unnamed repository; edit this file 'description' to name the repository.\n"
EXCLUDE = (
    "# git ls-files --others --exclude-from=.git/info/exclude\n"
    "# Lines that start with '#' are comments.\n"
    "# For a project mostly in C, the following would be a good set of\n"
    "# exclude patterns (uncomment them if you want to use them):\n"
    "# *.[oa]\n"
    "# *~\n"
)
DEFAULT_BRANCH = (
    "hint: Using 'master' as the name for the initial branch. This default branch name\n"
    "hint: is subject to change. To configure the initial branch name to use in all\n"
    "hint: of your new repositories, which will suppress this warning, call:\n"
    "hint: \n"
    "hint: \tgit config --global init.defaultBranch <name>\n"
    "hint: \n"
    "hint: Names commonly chosen instead of 'master' are 'main', 'trunk' and\n"
    "hint: 'development'. The just-created branch can be renamed via this command:\n"
    "hint: \n"
    "hint: \tgit branch -m <name>\n"
)
DETACHED = (
    "Note: switching to '{name}'.\n"
    "\n"
    "You are in 'detached HEAD' state. You can look around, make experimental\n"
    "changes and commit them, and you can discard any commits you make in this\n"
    "state without impacting any branches by switching back to a branch.\n"
    "\n"
    "If you want to create a new branch to retain commits you create, you may\n"
    "do so (now or later) by using -c with the switch command. Example:\n"
    "\n"
    "  git switch -c <new-branch-name>\n"
    "\n"
    "Or undo this operation with:\n"
    "\n"
    "  git switch -\n"
    "\n"
    "Turn off this advice by setting config variable advice.detachedHead to false\n"
    "\n"
)
EMPTY_PICK = (
    "The previous cherry-pick is now empty, possibly due to conflict resolution.\n"
    "If you wish to commit it anyway, use:\n"
    "\n"
    "    git commit --allow-empty\n"
    "\n"
    "Otherwise, please use 'git cherry-pick --skip'\n"
)
EMPTY_AMEND = (
    "You asked to amend the most recent commit, but doing so would make\n"
    "it empty. You can repeat your command with --allow-empty, or you can\n"
    'remove the commit entirely with "git reset HEAD^".\n'
)
