"""Names of git's commands, and those that resemble a misspelt one."""

from __future__ import annotations

__all__ = ["NAMES", "similar"]

_MAIN = (
    "add am annotate apply archimport archive bisect blame branch bugreport bundle cat-file check-attr check-ignore "
    "check-mailmap check-ref-format checkout checkout-index cherry cherry-pick citool clean clone "
    "column commit commit-graph "
    "commit-tree config count-objects credential credential-cache credential-store cvsexportcommit "
    "cvsimport cvsserver daemon "
    "describe diagnose diff diff-files diff-index diff-tree difftool fast-export fast-import fetch "
    "fetch-pack filter-branch "
    "fmt-merge-msg for-each-ref for-each-repo format-patch fsck fsck-objects fsmonitor--daemon gc "
    "get-tar-commit-id grep gui hash-object help hook "
    "http-backend http-fetch http-push imap-send index-pack init init-db instaweb interpret-trailers "
    "log ls-files ls-remote "
    "ls-tree mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-octopus "
    "merge-one-file merge-ours "
    "merge-recursive merge-recursive-ours merge-recursive-theirs merge-resolve merge-subtree "
    "merge-tree mergetool mktag mktree multi-pack-index mv name-rev "
    "notes p4 pack-objects pack-redundant pack-refs patch-id prune prune-packed pull push "
    "quiltimport range-diff read-tree "
    "rebase receive-pack reflog remote remote-ext remote-fd remote-ftp remote-ftps remote-http "
    "remote-https repack replace "
    "request-pull rerere reset restore rev-list rev-parse revert rm send-email send-pack "
    "sh-i18n--envsubst shell shortlog show show-branch "
    "show-index show-ref sparse-checkout stage stash status stripspace submodule submodule--helper "
    "subtree svn switch symbolic-ref tag "
    "unpack-file unpack-objects update-index update-ref update-server-info upload-archive "
    "upload-pack var verify-commit "
    "verify-pack verify-tag version web--browse whatchanged worktree write-tree"
)
NAMES = frozenset(_MAIN.split())

_COMMON = [
    "add",
    "bisect",
    "branch",
    "checkout",
    "clone",
    "commit",
    "diff",
    "fetch",
    "grep",
    "init",
    "log",
    "merge",
    "mv",
    "pull",
    "push",
    "rebase",
    "reset",
    "restore",
    "rm",
    "show",
    "status",
    "switch",
    "tag",
]
_FLOOR = 7


def _distance(one: str, two: str, swap: int = 0, substitute: int = 2, insert: int = 1, delete: int = 3) -> int:
    """Weighted edit distance with swaps of neighbours (Damerau and Levenshtein)."""
    before: list[int] = []
    last = [column * insert for column in range(len(two) + 1)]
    for i, char in enumerate(one):
        row = [(i + 1) * delete]
        for j, other in enumerate(two):
            cost = last[j] + substitute * (char != other)
            if i and j and one[i - 1] == other and char == two[j - 1] and cost > before[j - 1] + swap:
                cost = before[j - 1] + swap
            cost = min(cost, last[j + 1] + delete, row[j] + insert)
            row.append(cost)
        before, last = last, row
    return last[-1]


def similar(name: str) -> list[str]:
    """Commands that a word most resembles, as git suggests them."""
    scored = []
    for command in sorted(NAMES):
        if command in _COMMON and command.startswith(name):
            scored.append((0, command))
        else:
            scored.append((_distance(name, command) + 1, command))
    scored.sort()
    prefixes = [item for item in scored if item[0] == 0]
    if prefixes:
        return [command for _, command in prefixes]
    best = scored[0][0]
    return [command for score, command in scored if score == best] if best < _FLOOR else []
