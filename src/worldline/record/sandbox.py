"""A box for foreign commands: bubblewrap, an unprivileged user, no network, and limits that bite.

Started as root, the box gets a user namespace of its own in which the world's user is a host id that nothing else
uses (root's per-user process limit is not enforced, that of a fresh id is) and root is root, so that system files
show their true owner. Without root, the box's user is the caller, and what root should own is the user's.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path, PurePosixPath

from worldline.domains.terminal.state import DEFAULT_CLOCK, TerminalState
from worldline.errors import SandboxError, StorageError, boundary
from worldline.kernels.shell.builtins.system.environment import bash_order
from worldline.record.clock import BOX_DIRECTORY, FrozenClock, clock_library
from worldline.record.compiled import compiled
from worldline.record.layout import build_layout
from worldline.types import WorldSpec

__all__ = [
    "STATUS_FD",
    "Box",
    "Limits",
    "Surroundings",
    "declared_state",
    "descendants",
    "find_bubblewrap",
    "remove_leftovers",
    "resident",
]

STATUS_FD = {"bash": 198, "sh": 9}
"""Where the shell reports the status of a command; dash knows single digits only."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the commands of a box may use."""

    processes: int = 256
    """Processes and threads of the box's user."""
    memory: int = 4 << 30
    """Address space of one process, bytes."""
    total_memory: int = 1 << 30
    """Resident bytes of all processes of the box; checked four times a second, breaking it ends the box."""
    file_size: int = 64 << 20
    """Bytes of one file."""
    disk: int = 128 << 20
    """Bytes of all files of the box (they live in memory)."""
    cpu: int = 60
    """Seconds of processor time of one process."""
    wall: float = 10.0
    """Seconds that a command may take if its caller says nothing else."""
    open_files: int = 1024
    """Open files of one process."""
    output: int = 256 << 10
    """Bytes kept of each stream of one command; the rest is thrown away."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a world file does not declare, and what therefore may be anything."""

    root: Path | None = None
    """The Debian root that programs come from; None: the host's."""
    first_pid: int = 0
    """The shell's process id is about this much higher than the lowest possible."""
    order_seed: int | None = None
    """Shuffles the order in which the declared files are created."""
    on_disk: bool = False
    """The box's files live on the host's disk (size, order and numbers as its file system likes), not on tmpfs."""
    processors: int | None = None
    """How many processors the box sees; None: all."""
    days_later: int = 0
    """Shift of a clock that the world leaves at its default."""
    other_machine: bool = False
    """Another kernel, memory size and processor are shown."""


def declared_state(world: WorldSpec, around: Surroundings) -> TerminalState:
    """The state that a world declares, its clock shifted where the world leaves it at its default."""
    state = TerminalState.model_validate(world.initial_state)
    if state.clock == DEFAULT_CLOCK and around.days_later and "clock" not in world.initial_state:
        return state.model_copy(update={"clock": state.clock + timedelta(days=around.days_later)})
    return state


@dataclass(slots=True)
class _Mapping:
    """Who the box's users are on the host."""

    lines: str
    owner: int
    holder: subprocess.Popen[bytes] | None = None


_counter = itertools.count(random.SystemRandom().randrange(1 << 16))


def find_bubblewrap() -> str:
    """Return the path of `bwrap`.

    Raises:
        SandboxError: It is not installed.
    """
    path = shutil.which("bwrap")
    if path is None:
        raise SandboxError("bubblewrap is not installed", hint="apt-get install bubblewrap")
    return path


def _fresh_host_ids(uid: int) -> _Mapping:
    """Map the box's ids so that its user is a host id of its own.

    For a world whose user is root, all of the box's ids are fresh ones: host root stays out of reach.
    """
    block = 0x20000000 + (os.getpid() % 0x1000) * 0x10000 * 4 + (next(_counter) % 0x40000)
    if uid == 0:
        block = 0x60000000 + (next(_counter) % 0x4000) * 0x10000
        return _Mapping(f"0 {block} 65536\n", block)
    system = [(first, last) for first, last in ((0, min(uid, 1000)), (uid + 1, 1000)) if first < last]
    lines = [f"{first} {first} {last - first}" for first, last in system] + [f"{uid} {block} 1"]
    if uid != 65534:
        lines.append("65534 65534 1")
    return _Mapping("\n".join(lines) + "\n", block)


def _hold_namespace(mapping: _Mapping) -> int:
    """Start a process that keeps a user namespace with that mapping; return its process id."""
    with boundary(SandboxError, "creating a user namespace"):
        holder = subprocess.Popen(["unshare", "--user", "sleep", "600"], start_new_session=True)
    mapping.holder = holder
    mine = os.readlink("/proc/self/ns/user")  # noqa: PTH115 - a magic link, not a path
    for _ in range(2000):
        with suppress(OSError):
            if os.readlink(f"/proc/{holder.pid}/ns/user") != mine:  # noqa: PTH115
                break
        if holder.poll() is not None:
            raise SandboxError("user namespaces are not allowed here", hint="sysctl user.max_user_namespaces")
        time.sleep(0.001)
    with boundary(SandboxError, "mapping the users of the sandbox"):
        for name in ("uid_map", "gid_map"):
            descriptor = os.open(f"/proc/{holder.pid}/{name}", os.O_WRONLY)
            try:
                os.write(descriptor, mapping.lines.encode())  # the kernel wants it in one piece
            finally:
                os.close(descriptor)
    return holder.pid


_SETUP = r"""
set -e
if [ "$UID" = 0 ]; then
  /usr/bin/mkdir -m 700 /run/.usr
  /usr/bin/mkdir /run/.usr/over /run/.usr/work
  /usr/bin/touch -r /usr /run/.usr/over
  overlay="lowerdir=/usr,upperdir=/run/.usr/over,workdir=/run/.usr/work,userxattr,volatile"
  if /usr/bin/mount -n -t overlay overlay -o "$overlay" /usr; then
    /usr/bin/mount -n -t tmpfs -o "size=$TMPFS_SIZE" tmpfs /usr/local
  fi
fi
options="--numeric-owner --delay-directory-restore --warning=no-timestamp $TAR_OPTIONS_BOX"
said=$(/usr/bin/tar -xpf - -C / $options <&$1 2>&1) ||
  { printf %.300s "$said" >&2; exit 97; }
eval "exec $1<&-"
if [ "$3" -gt 0 ]; then
  { echo "$3" >/proc/sys/kernel/ns_last_pid; } 2>/dev/null || for ((i = 0; i < $3; i++)); do (:); done
fi
[ "$2" = "$4" ] || eval "exec $2>&$4 $4>&-"
if [ "$5" = merged ]; then exec 2>&1; fi
cd -- "$6"
shift 6
exec 7>&2 2>/dev/null
/run/.clock/become "$@" 2>&7 7>&- || exit
"""
"""Runs as root in the box: unpacks the layout, then starts the shell, whose process id follows `ns_last_pid`.

Nothing that the world declares may act here: the environment is clean, programs are named by their paths, and once the
layout is there, which may replace any of them, only `become` is run (see `become.c`)."""


@dataclass(slots=True)
class Box:
    """A running shell in a sandbox, as a process with pipes. :class:`worldline.record.shell.RealShell` talks to it."""

    state: TerminalState
    shell: Sequence[str]
    """Program and arguments that run inside."""
    surroundings: Surroundings = Surroundings()
    limits: Limits = Limits()
    binds: Sequence[tuple[Path, str]] = ()
    """Folders or files of the host that the box sees, read-only, each with its place in the box."""
    process: subprocess.Popen[bytes] = field(init=False)
    status: int = field(init=False, default=-1)
    """File descriptor on which the shell reports."""
    clock: FrozenClock = field(init=False)
    rootless: bool = field(init=False, default=False)
    _scratch: tempfile.TemporaryDirectory[str] | None = field(init=False, default=None)
    _spawned: bool = field(init=False, default=False)
    _holder: subprocess.Popen[bytes] | None = field(init=False, default=None)

    def start(self) -> None:
        """Build the box and start its shell.

        Raises:
            SandboxError: bubblewrap is missing, namespaces are not allowed, or the layout cannot be unpacked.
            StorageError: The host's disk is full.
        """
        bubblewrap, library, become = find_bubblewrap(), clock_library(), compiled("become.c", "-static")
        variables = _packed(self._variables())
        _packed([self.state.start_directory, *self.shell])
        root = (self.surroundings.root or Path("/")).resolve()
        order = None if self.surroundings.order_seed is None else random.Random(self.surroundings.order_seed)
        self.rootless = os.geteuid() != 0
        layout = build_layout(self.state, root, order=order, rootless=self.rootless)
        mapping = None if self.rootless else _fresh_host_ids(self.state.user_id)
        owner = None if mapping is None else mapping.owner
        with boundary(StorageError, "preparing the sandbox"):
            self._scratch = tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-")
            shared = self._place / "clock"
            shared.mkdir()
            shutil.copyfile(library, shared / "clock.so")
            shutil.copyfile(become, shared / "become")
            (shared / "setup").write_text(_SETUP)
            (shared / "variables").write_bytes(variables)
            for name, text in _machine().items() if self.surroundings.other_machine else ():
                (shared / name).write_text(text)
            for place in (self._place, shared, *shared.iterdir()):
                place.chmod(0o755)
            if self.surroundings.on_disk:
                disk = self._place / "disk"
                disk.mkdir(mode=0o755)
                if owner is not None and self.state.user_id == 0:
                    os.chown(disk, owner, owner)
            self.clock = FrozenClock(shared, self.state.clock, owner)
        try:
            self._spawn(self._launch(bubblewrap, mapping), _packed(self._options(root, shared, mapping)), layout)
        finally:
            if mapping is not None and mapping.holder is not None:
                self._holder = mapping.holder

    def release_holder(self) -> None:
        """End the process that held the namespace open until the box was in it."""
        if self._holder is not None:
            self._holder.kill()
            self._holder.wait()
            self._holder = None

    def _launch(self, bubblewrap: str, mapping: _Mapping | None) -> list[str]:
        limits, command = self.limits, list[str]()
        if mapping is not None:
            command += ["nsenter", f"--user=/proc/{_hold_namespace(mapping)}/ns/user", "-S", "0", "-G", "0", "--"]
        if self.surroundings.processors is not None:
            command += ["taskset", "--cpu-list", _processors(self.surroundings.processors)]
        command += ["prlimit", f"--nproc={limits.processes}", f"--as={limits.memory}", f"--fsize={limits.file_size}"]
        command += [f"--cpu={limits.cpu}", "--core=0", f"--nofile={limits.open_files}:4096", "--"]
        return [*command, bubblewrap]

    def _options(self, root: Path, shared: Path, mapping: _Mapping | None) -> list[str]:
        options = ["--die-with-parent", *self._own_session(), "--unshare-pid", "--unshare-net"]
        options += ["--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", self.state.hostname]
        if mapping is None:
            identity = str(self.state.user_id)
            options += ["--unshare-user", "--uid", identity, "--gid", identity]
        else:
            options += ["--cap-add", "ALL"]
        return options + self._mounts(root, shared) + self._environment()

    def _own_session(self) -> list[str]:
        return ["--new-session"]

    def _mounts(self, root: Path, shared: Path) -> list[str]:
        size = ["--size", str(self.limits.disk)]
        files = ["--bind", str(self._place / "disk")] if self.surroundings.on_disk else [*size, "--tmpfs"]
        mounts = [*files, "/"]
        mounts += ["--ro-bind", str(root / "usr"), "/usr", *size, "--tmpfs", "/usr/local"]
        for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
            place = root / name
            if place.is_symlink():
                mounts += ["--symlink", str(place.readlink()).lstrip("/"), f"/{name}"]
            elif place.is_dir():
                mounts += ["--ro-bind", str(place), f"/{name}"]
        if (root / "var/lib/dpkg").is_dir():
            mounts += ["--ro-bind", str(root / "var/lib/dpkg"), "/var/lib/dpkg"]
        mounts += ["--proc", "/proc", "--dev", "/dev", *size, "--tmpfs", "/dev/shm"]
        mounts += ["--ro-bind", str(shared), BOX_DIRECTORY, "--bind", str(shared / "slept"), f"{BOX_DIRECTORY}/slept"]
        for parent in sorted({str(PurePosixPath(inside).parent) for _, inside in self.binds} - {"/"}):
            mounts += ["--perms", "0755", "--dir", parent]
        for host, inside in self.binds:
            mounts += ["--ro-bind", str(host), inside]
        if self.surroundings.other_machine:
            for name in _MACHINE_FILES:
                mounts += ["--ro-bind", str(shared / name), f"/proc/{name}"]
        return mounts

    def _environment(self) -> list[str]:
        """The environment of the set-up."""
        command = ["--clearenv", "--setenv", "PATH", "/usr/bin", "--setenv", "TMPFS_SIZE", str(self.limits.disk)]
        return [*command, *(["--setenv", "TAR_OPTIONS_BOX", "--no-same-owner"] if self.rootless else [])]

    def _variables(self) -> list[str]:
        """The environment of the shell, in the order in which a bash would hand it on."""
        state = self.state
        paths = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"
        if state.user_id == 0:
            paths = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        values = {
            "PATH": paths,
            "HOME": state.home,
            "USER": state.user,
            "LOGNAME": state.user,
            "SHELL": "/bin/bash",
            "LC_ALL": state.locale,
            "TZ": state.timezone,
            **self._terminal_variables(),
            **{name: value for name, value in state.env.items() if name not in ("SHLVL", "OLDPWD")},
            "PWD": state.start_directory,
            "_": "/usr/bin/setpriv",
        }
        return [f"{name}={values[name]}" for name in bash_order(values)]

    def _terminal_variables(self) -> dict[str, str]:
        return {}

    def _become_user(self) -> list[str]:
        if self.rootless:
            return []
        identity = str(self.state.user_id)
        keep = "-all"
        if self.state.user_id == 0:
            keep += ",+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+net_bind_service,+sys_chroot"
        become = ["--reuid", identity, "--regid", identity, "--clear-groups"]
        return ["setpriv", *become, "--inh-caps=-all", f"--bounding-set={keep}"]

    def _spawn(self, launch: list[str], options: bytes, layout: bytes) -> None:
        report_read, report_write = os.pipe()
        # the options go by a file, so that `ps` in the box does not show host paths
        with tempfile.TemporaryFile() as archive, tempfile.TemporaryFile() as arguments:
            with boundary(StorageError, "preparing the sandbox"):
                archive.write(layout)
                arguments.write(options)
                for file in (archive, arguments):
                    file.flush()
                    file.seek(0)
            status = str(STATUS_FD[self.state.shell.program])
            inner = self._inner(str(archive.fileno()), status, str(report_write))
            with boundary(SandboxError, "starting the sandbox"):
                self.process = subprocess.Popen(
                    [*launch, "--args", str(arguments.fileno()), *inner],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    pass_fds=(archive.fileno(), arguments.fileno(), report_write),
                    start_new_session=True,
                    env={"PATH": os.environ.get("PATH", os.defpath)},  # without root, the box can read it
                )
                self._spawned = True
        os.close(report_write)
        self.status = report_read

    def _inner(self, archive: str, status: str, report: str) -> list[str]:
        """What bubblewrap runs: the set-up and, as the user, the shell; the same `status` and `report` mean none."""
        inner = ["/usr/bin/bash", "--norc", "--noprofile", f"{BOX_DIRECTORY}/setup", archive, status]
        inner += [str(self.surroundings.first_pid), report, "merged" if self.state.shell.merged else "apart"]
        return [*inner, self.state.start_directory, *self._become_user(), *self.shell]

    @property
    def _place(self) -> Path:
        assert self._scratch is not None
        return Path(self._scratch.name)

    def is_crowded(self) -> bool:
        """Whether processes left behind (a fork bomb) have taken most of what the box may have."""
        count, level = 0, [self.process.pid]
        for _ in range(4):  # bubblewrap, the box's first process, the set-up, the shell
            level = [child for pid in level[:2] for child in _children(pid)]
            count += len(level)
        return count > self.limits.processes // 2

    def shell_pid(self) -> int | None:
        """Host id of the shell, or None if it is gone."""
        below = descendants(self.process.pid)
        return below[2] if len(below) > 2 else None

    def kill(self) -> None:
        """End everything in the box at once: with its first process the kernel ends all others."""
        first = descendants(self.process.pid)[:1]
        with suppress(ProcessLookupError):
            for pid in first:
                os.kill(pid, signal.SIGKILL)
            self.process.kill()
        self.process.wait()
        deadline = time.monotonic() + _LAST_BREATH
        while any(map(_is_running, first)) and time.monotonic() < deadline:
            time.sleep(0.001)

    def close(self) -> None:
        """End the box, however far it got, and remove its files."""
        self.release_holder()
        if self._spawned:
            self._spawned = False
            self.kill()
            self._release()
        if self._scratch is not None:
            self.clock.close()
            shutil.rmtree(self._place, ignore_errors=True)  # before cleanup(): the box may have locked folders
            self._scratch.cleanup()
            self._scratch = None

    def _release(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        os.close(self.status)


def _packed(words: Sequence[str]) -> bytes:
    """Words for a file, each ended by NUL.

    Raises:
        SandboxError: One holds NUL: what follows it would be taken for a word of its own.
    """
    for word in words:
        if "\0" in word:
            raise SandboxError(f"a box cannot be told a text with NUL in it: {word[:80]!r}")
    return "".join(f"{word}\0" for word in words).encode("utf-8", "surrogateescape")


_PREFIX = "worldline-box-"
_LAST_BREATH = 5.0
"""Seconds that the kernel may take to end what is in a box."""


def remove_leftovers() -> None:
    """Remove the files of boxes whose program was killed."""
    for place in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        pid = place.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            shutil.rmtree(place, ignore_errors=True)


_MACHINE_FILES = ("meminfo", "cpuinfo", "version")


def _machine() -> dict[str, str]:
    """Files that tell of a machine unlike this one."""
    memory = Path("/proc/meminfo").read_text()
    processor = re.sub(r"(?m)^(model name\s*:).*$", r"\1 Generic Processor", Path("/proc/cpuinfo").read_text())
    release, version = "6.1.0-37-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.140-1 (2025-05-22)"
    return {
        "meminfo": re.sub(r"\d{3,}", lambda number: f"{int(number[0]) * 5 // 8:{len(number[0])}d}", memory),
        "cpuinfo": processor.replace("family\t: ", "family\t: 1").split("\n\n")[0] + "\n\n",
        "version": f"Linux version {release} (debian-kernel) {version}\n",
        "kernel": f"{release}\n{version}\n",
    }


def _processors(count: int) -> str:
    return ",".join(str(number) for number in sorted(os.sched_getaffinity(0))[:count])


def descendants(pid: int) -> list[int]:
    """Return the host ids of all processes below `pid`, parents before children."""
    found, todo = list[int](), [pid]
    while todo:
        parent = todo.pop(0)
        below = _children(parent)
        found += below
        todo += below
    return found


def _children(pid: int) -> list[int]:
    ids: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                ids += [int(child) for child in (task / "children").read_text().split()]
    return ids


def _is_running(pid: int) -> bool:
    """Whether a process is there and no mere zombie. The first one of a box goes after all others of it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return False


def resident(pid: int) -> int:
    """Resident bytes of all processes below `pid`."""
    pages = 0
    for process in descendants(pid):
        with suppress(OSError, ValueError, IndexError):
            pages += int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
