#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a small sweep by a job engine on this machine, and compares what it collects with the same jobs run one by one.

usage: sweep_engines.py PROGRAM parallel     GNU parallel (package parallel); a CTest
       sweep_engines.py PROGRAM slurm        as root: a Slurm of its own (packages slurmctld, slurmd, slurm-client), of one node, ended afterwards

exit status 77: the engine is not installed
"""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

PROGRAM, ENGINE = os.path.abspath(sys.argv[1]), sys.argv[2]
SPEC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/measure/context-bytes.toml")
CONFIGURATIONS = 7


def run(*words, **more):
    return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE, **more).stdout


def by_parallel(folder):
    run("parallel", "--will-cite", "-j2", "--joblog", "log", PROGRAM, "sweep", "run", "jobs.tsv", "--index", "{}", ":::", *map(str, range(CONFIGURATIONS)), cwd=folder)
    with open(os.path.join(folder, "log"), encoding="utf-8") as log:
        rows = [line.split("\t") for line in log.read().splitlines()[1:]]
    if len(rows) != CONFIGURATIONS or any(row[6] != "0" for row in rows):
        sys.exit(f"FAILED the job log is {rows}")


# Authentication by nothing, accounting by nothing: for a test on one machine only.
CONFIGURATION = """ClusterName=lyra
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmctldPort={port}
SlurmdPort={port1}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/completed
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_ports():
    """Two neighbours that nobody has now."""
    for port in range(26817, 36817, 2):
        with socket.socket() as one, socket.socket() as two:
            try:
                one.bind(("127.0.0.1", port))
                two.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port
    sys.exit("FAILED no port is free")


def by_slurm(folder):
    slurm = tempfile.mkdtemp(prefix="lyra-slurm.")
    host, port = socket.gethostname().split(".")[0], free_ports()
    for name in ("state", "spool"):
        os.mkdir(os.path.join(slurm, name))
    conf = os.path.join(slurm, "slurm.conf")
    with open(conf, "w", encoding="utf-8") as file:
        file.write(CONFIGURATION.format(host=host, port=port, port1=port + 1, folder=slurm, cpus=len(os.sched_getaffinity(0))))
    environment = {**os.environ, "SLURM_CONF": conf}
    path = os.environ["PATH"] + ":/usr/sbin"
    daemons = []
    try:
        for words in (["slurmctld", "-D", "-c", "-f", conf], ["slurmd", "-D", "-N", host, "-f", conf]):
            with open(os.path.join(slurm, words[0] + ".out"), "w", encoding="utf-8") as out:
                daemons.append(subprocess.Popen([shutil.which(words[0], path=path), *words[1:]], stdout=out, stderr=out, env=environment))
        with open(os.path.join(folder, "job.sh"), "w", encoding="utf-8") as script:
            script.write(f"#!/bin/sh\nexec '{PROGRAM}' sweep run jobs.tsv\n")
        deadline = time.monotonic() + 60
        while subprocess.run(["sinfo", "-h", "-t", "idle", "-o", "%D"], env=environment, capture_output=True, text=True, check=False).stdout.strip() != "1":
            if time.monotonic() > deadline:
                sys.exit("FAILED the node does not become idle")
            time.sleep(0.5)
        # --wait ends with the highest exit status of the array's jobs.
        run("sbatch", "--wait", f"--array=0-{CONFIGURATIONS - 1}%2", "--output=slurm-%a.out", "job.sh", cwd=folder, env=environment, timeout=300)
        with open(os.path.join(slurm, "completed"), encoding="utf-8") as file:
            states = [line for line in file if "JobState=COMPLETED" in line]
        if len(states) != CONFIGURATIONS:
            sys.exit(f"FAILED {len(states)} jobs are completed")
    except BaseException:
        for name in ("slurmctld.log", "slurmd.log", "slurmctld.out", "slurmd.out"):
            if os.path.exists(os.path.join(slurm, name)):
                with open(os.path.join(slurm, name), encoding="utf-8", errors="replace") as log:
                    print(f"--- {name}\n" + log.read()[-3000:])
        raise
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(slurm, ignore_errors=True)


ENGINES = {"parallel": (by_parallel, ["parallel"]), "slurm": (by_slurm, ["slurmctld", "slurmd", "sbatch", "sinfo"])}
work, needs = ENGINES[ENGINE]
missing = [name for name in needs if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")]
if missing:
    print("skipped: not installed:", *missing)
    sys.exit(77)
with tempfile.TemporaryDirectory() as top:
    collected = []
    for name in ("one by one", ENGINE):
        place = os.path.join(top, name)
        os.mkdir(place)
        shutil.copy(SPEC, os.path.join(place, "spec.toml"))
        with open(os.path.join(place, "spec.toml"), encoding="utf-8") as original:
            text = original.read().replace("samples = 10000", "samples = 500")
        with open(os.path.join(place, "spec.toml"), "w", encoding="utf-8") as smaller:
            smaller.write(text)
        with open(os.path.join(place, "jobs.tsv"), "w", encoding="utf-8") as jobs:
            jobs.write(run(PROGRAM, "sweep", "plan", "spec.toml", cwd=place))
        if name == ENGINE:
            work(place)
        else:
            for number in range(CONFIGURATIONS):
                run(PROGRAM, "sweep", "run", "jobs.tsv", "--index", str(number), cwd=place)
        collected.append(run(PROGRAM, "sweep", "collect", "out", cwd=place))
if collected[0] != collected[1] or collected[0].count("\n") != CONFIGURATIONS + 1:
    sys.exit(f"FAILED the results of {ENGINE} are not those of the jobs one by one")
print(f"passed: {CONFIGURATIONS} jobs by {ENGINE} give what they give one by one")
