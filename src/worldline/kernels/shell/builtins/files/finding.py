"""The command `find`."""

from __future__ import annotations

from worldline.kernels.shell.builtins.base import Builtin, Call, FileStat, Result
from worldline.kernels.shell.builtins.files.find_actions import finish_batches
from worldline.kernels.shell.builtins.files.find_parser import parse_expression, split_arguments
from worldline.kernels.shell.builtins.files.find_tests import Rule, Run, Visit
from worldline.kernels.shell.builtins.shared.messages import Report, quote
from worldline.kernels.shell.builtins.shared.options import command
from worldline.kernels.shell.builtins.shared.order import directory_order
from worldline.kernels.shell.builtins.shared.paths import join

__all__ = ["COMMANDS"]


def _stat(run: Run, path: str, *, top: bool) -> FileStat:
    if run.follow or (top and run.follow_operands):
        try:
            return run.call.files.stat(path)
        except FileNotFoundError:
            return run.call.files.stat(path, follow=False)
    return run.call.files.stat(path, follow=False)


def _visit(run: Run, rule: Rule, path: str, start: str, depth: int) -> None:
    try:
        stat = _stat(run, path, top=depth == 0)
    except OSError as error:
        if depth and isinstance(error, PermissionError):
            run.call.unknown("what lies in a directory that may be read but not searched")
        run.report.fail(quote(path), error)
        return
    visit = Visit(path, start, depth, stat)
    wanted = depth >= run.min_depth
    if wanted and not run.depth_first:
        rule(run, visit)
    enters = stat.kind == "directory" and not run.quit and (run.depth_first or not visit.prune)
    if enters and (run.max_depth is None or depth < run.max_depth):
        _descend(run, rule, visit)
    if wanted and run.depth_first and not run.quit:
        rule(run, visit)


def _descend(run: Run, rule: Rule, visit: Visit) -> None:
    try:
        names = directory_order(run.call, visit.path)
    except OSError as error:
        run.report.fail(quote(visit.path), error)
        return
    for name in names:
        if run.quit:
            return
        _visit(run, rule, join(visit.path, name), visit.start, visit.depth + 1)


@command()
def _find(call: Call) -> Result:
    run = Run(call, Report("find"))
    starts, words = split_arguments(run, call.argv)
    rule = parse_expression(run, words)
    for start in starts:
        if run.quit:
            break
        if start == "":
            run.report.fail(f"{quote('')}: No such file or directory")
            continue
        _visit(run, rule, start, start, 0)
    finish_batches(run)
    for name, texts in run.saved.items():
        call.files.write(name, "".join(texts).encode("utf-8", "surrogateescape"))
    return run.report.result()


COMMANDS: dict[str, Builtin] = {"find": _find}
