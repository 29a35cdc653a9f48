#!/usr/bin/env python3
"""Extract programs and options from the sources of command lines into the package's `sources.json`.

    pip download --no-deps --no-binary :all: cheat==2.5.1
    npm pack @withfig/autocomplete@2.692.3 && tar xzf withfig-autocomplete-2.692.3.tgz
    apt-get download bash-completion && dpkg-deb -x bash-completion_*.deb completion
    python3 scripts/extract_command_sources.py --cheat cheat-2.5.1.tar.gz --specs package/build \
        --completion completion/usr/share/bash-completion

Man pages are those of this machine. `--help` and git's completion helper are asked in a sandbox without network.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import tarfile
from pathlib import Path

from worldline.record.plans.script import families
from worldline.record.plans.sources import skeleton
from worldline.record.shell import RealShell
from worldline.types import WorldSpec

TARGET = Path(__file__).parents[1] / "src/worldline/record/plans/resources/sources.json"

GIT_COMMANDS = (
    "add branch checkout cherry-pick clean clone commit config diff fetch grep init log ls-files merge mv push rebase "
    "reflog remote reset restore revert rm show stash status switch tag worktree describe blame rev-list rev-parse "
    "shortlog"
)

DUMP = """
import fs from 'fs'; import path from 'path';
const out = {};
const names = s => (s.options || []).flatMap(o => [].concat(o.name));
for (const name of process.argv.slice(2)) {
  const file = path.resolve(name); const program = path.basename(name, '.js');
  try {
    let spec = (await import(file)).default; if (typeof spec === 'function') spec = spec();
    const subs = (spec.subcommands || []).flatMap(c => names(c).map(o => [].concat(c.name)[0] + ' ' + o));
    out[program] = names(spec).concat(subs);
  } catch (e) { }
}
console.log(JSON.stringify(out));
"""


def cheat_lines(archive: Path) -> dict[str, list[list[list[str]]]]:
    """Skeletons of the command lines of every sheet."""
    found = {}
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            if "/cheat/cheatsheets/" not in member.name or not member.isfile():
                continue
            text = tar.extractfile(member).read().decode("utf-8", "replace")
            lines = (re.sub(r"^\$ ", "", line.strip()) for line in text.split("\n"))
            found[Path(member.name).name] = [skeleton(line) for line in lines if line and line[0] != "#"]
    return found


def man_lines(pages: set[str]) -> dict[str, list[list[list[str]]]]:
    """Skeletons of the lines in the EXAMPLES of the named pages (for jq, of all its examples)."""
    found = {}
    for page in sorted(pages):
        path = next(Path("/usr/share/man").glob(f"man[18]/{page}.[18]*"), None)
        if path is None:
            continue
        shown = subprocess.run(
            ["man", "-P", "cat", str(path)], capture_output=True, text=True,
            env={**os.environ, "MANWIDTH": "200", "LC_ALL": "C.UTF-8"}, check=False,
        ).stdout  # fmt: skip
        inside, lines = False, []
        for line in shown.split("\n"):
            if re.match(r"^\S", line) or (re.match(r"^   \S", line) and "EXAMPLE" in line.upper()):
                inside = "EXAMPLE" in line.upper() or page == "jq"
            text = re.sub(r"^(\$|%|#) +", "", line.strip())
            if inside and len(text.split()) > 0 and len(text) < 200:
                lines.append(skeleton(text))
        found[page] = lines
    return found


def completion_options(programs: set[str], specs: Path, completion: Path) -> dict[str, list[str]]:
    """Options that the completion specs offer, for each program."""
    script = specs.parent / "dump.mjs"
    script.write_text(DUMP)
    files = [str(specs / f"{program}.js") for program in sorted(programs) if (specs / f"{program}.js").exists()]
    found: dict[str, set[str]] = {}
    for name, options in json.loads(subprocess.check_output(["node", str(script), *files])).items():
        found.setdefault(name, set()).update(options)
    general = (completion / "bash_completion").read_text()
    listed = re.search(r"complete -F _longopt (.*?)\n\n", general, re.S)
    long = set(listed[1].replace("\\\n", " ").split()) if listed else set()
    long |= {f"sha{bits}sum" for bits in ("1", "224", "256", "384", "512")}
    with RealShell(WorldSpec(domain="terminal")) as shell:
        for program in sorted(programs):
            names = (completion / f"completions/{program}", completion / f"completions/_{program}")
            file = next((name for name in names if name.exists()), None)
            if file is None and program not in long and program != "git":
                continue
            texts = [file.read_text() if file is not None and file.is_file() else ""]
            texts.append(shell.run(f"{program} --help 2>&1 < /dev/null").text)
            options = set(re.findall(r"(?<![\w-])--?[A-Za-z0-9][\w-]*", " ".join(texts)))
            found.setdefault(program, set()).update(options)
        for sub in GIT_COMMANDS.split():
            helped = shell.run(f"git {sub} --git-completion-helper-all").text
            found["git"].update(f"{sub} {option.rstrip('=')}" for option in helped.split() if option.startswith("--"))
    found["git"].update(
        re.findall(r"(?<![\w-])--[a-z][\w-]*", Path("/usr/share/bash-completion/completions/git").read_text())
    )
    return {name: sorted(options) for name, options in sorted(found.items())}


def main() -> None:
    """Write the resource for the sources that the families name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cheat", type=Path, required=True)
    parser.add_argument("--specs", type=Path, required=True)
    parser.add_argument("--completion", type=Path, required=True)
    args = parser.parse_args()
    used = {line.source for family in families() for block in family.blocks for line in block.lines}
    named = {kind: {source.split(":", 1)[1] for source in used if source.startswith(f"{kind}:")}
             for kind in ("cheat", "man", "completion")}  # fmt: skip
    named["cheat"] |= {family.name.partition("/")[2] for family in families()}
    sheets = cheat_lines(args.cheat)
    result = {
        "cheat": {name: sheets[name] for name in sorted(named["cheat"] & sheets.keys())},
        "man": man_lines(named["man"]),
        "completion": completion_options(named["completion"], args.specs, args.completion),
    }
    TARGET.write_text(json.dumps(result, separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
