# SPDX-License-Identifier: Apache-2.0
"""A private Slurm, run by root with a temporary key: two nodes on this machine, all files in one folder, free ports;
stop() ends it.

    slurm = PrivateSlurm(folder)      # raises RuntimeError with a daemon's output if it does not start
    slurm.run("squeue")
    slurm.stop()
"""
import contextlib
import ctypes
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "sinfo")
NODES = ("n1", "n2")


def missing():
    """Why no private Slurm can run here, or ""."""
    if os.geteuid() != 0:
        return "Slurm's daemons need root"
    absent = [name for name in PROGRAMS if shutil.which(name, path=search_path()) is None]
    if absent:
        return f"there is no {absent[0]} (slurmctld, slurmd, slurm-client and munge)"
    if not can_do_without_cgroups() and not os.path.ismount("/sys/fs/cgroup"):
        return "this Slurm needs control groups, and nothing is mounted on /sys/fs/cgroup"
    return ""


def can_do_without_cgroups():
    """Slurm 24.11 loads a plugin for control groups that can be disabled; 22.05 needs them."""
    version = subprocess.run(["slurmd", "-V"], env={**os.environ, "PATH": search_path()}, capture_output=True, text=True,
                             check=True).stdout
    return int(re.search(r"(\d+)\.", version)[1]) >= 24


def search_path():
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def wait_until(condition, what, seconds=60, instead=lambda: ""):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what}: not within {seconds} s; {instead()}")
        time.sleep(0.2)


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class PrivateSlurm:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.chmod(0o755)  # every user must be able to reach the socket of munged
        self.environment = {**os.environ, "PATH": search_path(), "SLURM_CONF": str(self.folder / "slurm.conf")}
        for name in [name for name in self.environment if name.startswith(("SLURM_", "SBATCH_"))]:
            if name != "SLURM_CONF":
                del self.environment[name]
        self.daemons = []
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def start(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        socket_file = self.folder / "munge.socket"
        self.daemon("munged", "--foreground", "--num-threads=2", f"--key-file={key}", f"--socket={socket_file}",
                    f"--pid-file={self.folder}/munge.pid", f"--seed-file={self.folder}/munge.seed")
        wait_until(lambda: socket_file.exists() or self.ended(), "munged's socket")
        self.configure(socket_file)
        self.daemon("slurmctld", "-D")
        for node in NODES:
            (self.folder / f"spool-{node}").mkdir()
            self.daemon("slurmd", "-D", "-N", node)
        wait_until(lambda: self.ended() or self.idle_nodes() == len(NODES), "idle nodes")
        if self.ended():
            raise RuntimeError(self.ended())

    def configure(self, socket_file):
        controller, *nodes = free_ports(1 + len(NODES))
        (self.folder / "state").mkdir()
        name = socket.gethostname().split(".")[0]
        lines = [
            "ClusterName=attnscope", f"SlurmctldHost={name}(127.0.0.1)", f"SlurmctldPort={controller}",
            "SlurmUser=root", "SlurmdUser=root", "AuthType=auth/munge", "CredType=cred/munge",
            f"AuthInfo=socket={socket_file}", f"StateSaveLocation={self.folder}/state",
            f"SlurmdSpoolDir={self.folder}/spool-%n", f"SlurmctldPidFile={self.folder}/slurmctld.pid",
            f"SlurmdPidFile={self.folder}/slurmd-%n.pid", "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none",
            "JobAcctGatherType=jobacct_gather/none", "AccountingStorageType=accounting_storage/none",
            "SelectType=select/cons_tres", "SelectTypeParameters=CR_CPU", "SchedulerType=sched/backfill",
            "SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1,bf_resolution=1",
            "SwitchType=switch/none", "MpiDefault=none", "ReturnToService=2", "KillWait=5", "MinJobAge=600",
            # The nodes claim more cores than this machine may have: their tasks need little time.
            "SlurmdParameters=config_overrides", "MailProg=/bin/true", "JobCompType=jobcomp/none",
        ]
        for node, port in zip(NODES, nodes):
            lines.append(f"NodeName={node} NodeHostname={name} NodeAddr=127.0.0.1 Port={port} CPUs=4 RealMemory=1000")
        lines.append(f"PartitionName=test Nodes={','.join(NODES)} Default=YES MaxTime=10 State=UP")
        (self.folder / "slurm.conf").write_text("\n".join(lines) + "\n")
        if can_do_without_cgroups():
            (self.folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n")

    def daemon(self, name, *arguments):
        log = open(self.folder / f"{name}-{len(self.daemons)}.log", "w")
        self.daemons.append((name, log.name, subprocess.Popen(
            [shutil.which(name, path=search_path()), *arguments], stdin=subprocess.DEVNULL, stdout=log,
            stderr=subprocess.STDOUT, env=self.environment, preexec_fn=die_with_parent)))
        log.close()

    def ended(self):
        """The output of a daemon that has ended, or ""."""
        for name, log, process in self.daemons:
            if process.poll() is not None:
                return f"{name} ended: {pathlib.Path(log).read_text()[-2000:]}"
        return ""

    def idle_nodes(self):
        answer = self.run("sinfo", "--noheader", "--Node", "--format=%N %T")
        return answer.stdout.split().count("idle")

    def run(self, *command, **options):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=120, **options)

    def queue(self):
        """States of all jobs that have not ended: {"12_3": "RUNNING"}."""
        answer = self.run("squeue", "--noheader", "--array", "--format=%i %T")
        if answer.returncode != 0:
            raise RuntimeError(answer.stderr)
        return dict(line.split() for line in answer.stdout.splitlines())

    def lose_node(self, node):
        """Kills all processes of the node without notice and marks it as down."""
        daemon, = [daemon for daemon in self.daemons
                   if daemon[1].startswith(str(self.folder / f"slurmd-{2 + NODES.index(node)}"))]
        self.daemons.remove(daemon)
        daemon[2].kill()
        daemon[2].wait()
        while found := self.parents_at(node):
            # The process that watches a job has no parent here, and would report how the job ended.
            watching = {process for process in found.values() if self.is_watcher(process)}
            for process in [*watching, *found]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        self.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=lost")

    @staticmethod
    def is_watcher(process):
        try:
            return pathlib.Path(f"/proc/{process}/comm").read_text() == "slurmstepd\n"
        except OSError:
            return False  # it has ended

    def parents_at(self, node):
        """The parent of every process of a job on the node, found by its environment."""
        own = {f"SLURM_CONF={self.environment['SLURM_CONF']}".encode(), f"SLURMD_NODENAME={node}".encode()}
        found = {}
        for process, parent in parents().items():
            with contextlib.suppress(OSError):  # it has ended
                if own <= set(pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")):
                    found[process] = parent
        return found

    def stop(self):
        if len(self.daemons) == 2 + len(NODES) and not self.ended():
            for job in self.queue():
                self.run("scancel", "--signal=KILL", "--full", job)
                self.run("scancel", job)
            try:
                wait_until(lambda: not self.queue(), "the end of all jobs", 30)
            except RuntimeError:
                pass
        for name, _, process in reversed(self.daemons):
            # The processes that watch jobs are children of the node's daemon.
            if name == "slurmd":
                for child in [child for child, parent in parents().items() if parent == process.pid]:
                    os.kill(child, signal.SIGKILL)
            process.terminate()
        for _, _, process in self.daemons:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.daemons = []


def parents():
    """The parent of every process."""
    found = {}
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            found[int(process.name)] = int((process / "stat").read_text().rpartition(")")[2].split()[1])
    return found
