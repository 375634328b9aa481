#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks results, reports and sweeps as a user meets them: files, output, messages, exit codes. Run as a CTest.

usage: cli_results.py PROGRAM     PROGRAM is lyra
"""
import html.parser
import json
import math
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/measure")
STAGES = ["submit", "detect", "request", "wait", "save", "notify", "switch", "dispatch"]
VARIABLES = ("SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "PARALLEL_SEQ")
failures = 0


def call(*arguments, **variables):
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    return subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=280, check=False, text=True, env={**environment, **variables},
                          stdin=subprocess.DEVNULL)


def check(name, good, what=""):
    global failures
    print(("passed " if good else "FAILED ") + name)
    if not good:
        failures += 1
        print("   ", what)


def expect(name, result, status, out=None, err=None):
    """out is the whole standard output, err a part of standard error."""
    good = result.returncode == status and (out is None or result.stdout == out) and (err is None or err in result.stderr)
    check(name, good, f"exit status {result.returncode}, expected {status}; output {result.stdout[:500]!r}; errors {result.stderr[:500]!r}")


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Page(html.parser.HTMLParser):
    """Tags that are open and never closed, pictures by id with their paths, texts of cells."""
    def __init__(self, text):
        super().__init__()
        self.open, self.wrong, self.pictures, self.cells, self.words = [], [], {}, [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.open.append(tag)
        if tag == "meta":
            self.open.pop()
        if tag == "svg" and "id" in attrs:
            self.pictures[attrs["id"]] = {"attrs": attrs, "paths": []}
        if tag == "path" and self.pictures:
            list(self.pictures.values())[-1]["paths"].append(attrs)
        if tag == "td":
            self.cells.append("")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        self.words += data
        if "td" in self.open:
            self.cells[-1] += data


def lines_of(path):
    return [json.loads(line) for line in text_of(path).splitlines()]


def check_distribution(name, page, picture, quantiles):
    """The first line of the picture, from places back to values."""
    kind, low, high, start, end = page.pictures[picture]["attrs"]["data-x"].split()
    low, high, start, end = map(float, (low, high, start, end))
    line = next(path for path in page.pictures[picture]["paths"] if path["class"].startswith("line"))
    places = [float(x) for x, _ in re.findall(r"([0-9.]+),([0-9.]+)", line["d"])]
    values = [low * (high / low) ** ((x - start) / (end - start)) for x in places]
    good = kind == "log" and len(values) == len(quantiles) and all(abs(v / q - 1) < 1e-3 for v, q in zip(values, quantiles))
    check(name, good, (kind, values[:5], quantiles[:5]))


def results(folder):
    path = os.path.join(folder, "kernel.jsonl")
    spec = os.path.join(EXAMPLES, "kernel-length.toml")
    expect("results", call("sim", spec, "--samples=1500", "--results", path), 0, None, "")
    manifest, *rows = lines_of(path)
    spec_text = text_of(spec)
    check("manifest", manifest["lyra_results"] == 2 and manifest["source"] == "sim" and manifest["name"] == "kernel-length"
          and manifest["spec"] == spec_text and manifest["seed"] == 1 and manifest["timing"]["doorbell_ns"] == 700
          and manifest["lyra"] in call("version").stdout, manifest)
    check("p99 of most", len(rows) == 8 and sum(row["preemption_latency_us"]["p99"] is not None for row in rows) >= 5)
    for row in rows:
        cdf = row["preemption_latency_cdf_us"]
        latency = row["preemption_latency_us"]
        good = (len(cdf) == 201 and cdf == sorted(cdf) and cdf[100] == latency["p50"] and cdf[190] == latency["p95"]
                and latency["p99"] in (cdf[198], None) and (latency["p99"] is None) == (row["preemptions"] < 1000)
                and cdf[200] == latency["max"] and list(row["stages_us"]) == STAGES)
        check("distribution of " + str(row["configuration"]), good, latency)
        mean = sum((a + b) / 2 for a, b in zip(cdf, cdf[1:])) / 200
        check("stages add up to the mean", math.isclose(sum(row["stages_us"].values()), mean, rel_tol=0.05), (row["stages_us"], mean))
    few, again = (os.path.join(folder, name) for name in ("few.jsonl", "again.jsonl"))
    for file in few, again:
        call("sim", spec, "--samples=100", "--results", file)
    check("equal runs, equal files", text_of(few) == text_of(again))
    short = [json.loads(line) for line in call("sim", spec, "--samples=100", "--json").stdout.splitlines()]
    check("--json has part of it", len(short) == 8 and all(row | part == row for row, part in zip(lines_of(few)[1:], short)))
    check("no path of this machine", os.path.realpath(EXAMPLES) not in text_of(path) and folder not in text_of(path))
    check("nothing else is left", sorted(os.listdir(folder)) == ["again.jsonl", "few.jsonl", "kernel.jsonl"], os.listdir(folder))
    expect("results on standard output", call("sim", spec, "--samples=100", "--results", "-"), 0, text_of(few), "")
    expect("results that cannot be written", call("sim", spec, "--samples=1", "--results", os.path.join(folder, "no/such")), 2, "", "no/such")
    expect("a job that there is not", call("sim", spec, "--job=0123456789abcdef"), 2, "", "not what the sweep was planned with")
    return path, rows


def reports(folder, path, rows):
    expect("report beside its results", call("report", path), 0, "", "kernel.html")
    page = Page(text_of(os.path.join(folder, "kernel.html")))
    check("the page is well formed", not page.wrong and not page.open, (page.wrong, page.open))
    wanted = {"run1-cdf", "run1-stages", "run1-parameter-1", "run1-retained"}
    check("pictures", wanted == set(page.pictures), set(page.pictures))
    check_distribution("the distribution is the quantiles", page, "run1-cdf", rows[0]["preemption_latency_cdf_us"])
    for row in rows:
        for name in ("p50", "p99"):
            value = row["preemption_latency_us"][name]
            if value is None:
                continue
            low, high = row["preemption_latency_us"][name + "_95"]
            check(name + " and its interval are in a table", f"{value:.1f} {low:.1f}–{high:.1f}" in page.cells, value)
    context = os.path.join(folder, "context.jsonl")
    call("sim", os.path.join(EXAMPLES, "context-bytes.toml"), "--samples=1500", "--results", context)
    out = os.path.join(folder, "context out.html")
    expect("report with a name", call("report", context, "-o", out), 0, "", out)
    page = Page(text_of(out))
    fits = re.findall(r"p50: [0-9.]+ µs \+ ([0-9.]+) µs per MiB \([0-9]+ GB/s\), R² = ([0-9.]+)", page.words)
    speed = 1048576 / (484000 * 0.6)  # microseconds a MiB by the timing table
    check("latency is linear in context bytes", fits and abs(float(fits[0][0]) / speed - 1) < 0.1 and float(fits[0][1]) > 0.99, (fits, speed))
    both = call("report", path, context, "-o", "-")
    expect("two files", both, 0, None, "")
    page = Page(both.stdout)
    check("two files without a common configuration", "No configuration is in both" in page.words and {"run1-cdf", "run2-cdf", "run2-parameter-1-fit"} <= set(page.pictures))
    other = os.path.join(folder, "other.jsonl")
    call("sim", os.path.join(EXAMPLES, "kernel-length.toml"), "--samples=300", "--seed=5", "--results", other)
    page = Page(call("report", path, other, "-o", "-").stdout)
    check("before and after", "Before and after" in page.words and "Configurations in both: 8, in one only: 0." in page.words and "compare-cdf" in page.pictures)
    measured = os.path.join(folder, "measured.jsonl")
    write(measured, text_of(other).replace('"source":"sim"', '"source":"measure"'))
    a, b = rows[0]["preemption_latency_us"]["p50"], lines_of(other)[1]["preemption_latency_us"]["p50"]
    page = Page(call("report", path, measured, "-o", "-").stdout)
    check("simulation and measurement", "Simulation and measurement" in page.words and f"{(a - b) / b * 100:+.1f} %" in page.cells, (a, b))

    # What a file must not do to a page, and files that are none.
    evil = "</svg><script>alert(1)</script>"
    write(other, text_of(path).replace("kernel-length", evil).replace("client.effort.kernel_us\":\"10\"", evil + "\":\"10\"").replace('"effort"', f'"{evil}"'))
    page = call("report", other, "-o", "-").stdout
    check("text from files stays text", page.count("&lt;/svg&gt;&lt;script&gt;") > 5 and "<script" not in page and not Page(page).wrong)
    bad = os.path.join(folder, "bad.jsonl")
    for name, text, message in (("an empty file", "", "bad.jsonl: empty"), ("a text", "hello\n", "bad.jsonl:1: not JSON"),
                                ("a cut file", text_of(path)[:-100], "bad.jsonl:9: not JSON"),
                                ("lines of --json", "\n".join(text_of(path).splitlines()[1:]), "bad.jsonl:1: not a file of results"),
                                ("a later format", text_of(path).replace('"lyra_results":2', '"lyra_results":3'), "format 3"),
                                ("binary data", "\0\0\0", "bad.jsonl:1: not JSON")):
        write(bad, text)
        expect(f"report of {name}", call("report", bad), 2, "", message)
    check("no page of bad files", not os.path.exists(os.path.join(folder, "bad.html")))
    expect("report of nothing", call("report", os.path.join(folder, "none.jsonl")), 2, "", "cannot read")
    expect("experiment that is a folder", call("sim", folder), 2, "", "cannot read")
    expect("report of a folder", call("report", folder), 2, "", "cannot read")
    expect("report onto its results", call("report", path, "-o", path), 2, "", "overwrite")


SPEC = """samples = 200
[detection]
kind = "notify"
period_us = 100
[action]
unmap = "queue"
[policy]
name = "fixed"
[[client]]
name = "critical"
priority = 15
kernel_us = 50
arrival = "poisson"
rate_hz = 100
latency_critical = true
[[client]]
name = "it's effort"
kernel_us = 10000
context_bytes = 22230000
[sweep]
"client.it's effort.context_bytes" = [0, 1000000, 22230000]
"policy.name" = ["fixed", "ageing"]
"""


def sweeps(folder):
    os.chdir(folder)
    write("my spec.toml", SPEC)
    plan = call("sweep", "plan", "my spec.toml", "--out", "the out")
    expect("plan", plan, 0, None, "")
    check("equal plans", plan.stdout == call("sweep", "plan", "my spec.toml", "--out", "the out").stdout)
    head, *rows = (line.split("\t") for line in plan.stdout.splitlines())
    check("list of jobs", head == ["id", "command", "output"] and len(rows) == 6 and len({row[0] for row in rows}) == 6
          and all(row[2] == f"the out/{row[0]}.jsonl" for row in rows), rows)
    write("jobs.tsv", plan.stdout)
    expect("one job", call("sweep", "run", "jobs.tsv", "--index=2"), 0, "", "job 2")
    output = rows[2][2]
    manifest, row = lines_of(output)
    before = os.stat(output)
    expect("a job that is done", call("sweep", "run", "jobs.tsv", "--index=2"), 0, "", "done already")
    check("it is left alone", os.stat(output).st_mtime_ns == before.st_mtime_ns and os.stat(output).st_ino == before.st_ino)
    write(output, text_of(output)[:300])
    expect("a job whose output is cut", call("sweep", "run", "jobs.tsv", "--index=2"), 0, "", "is done")
    check("equal jobs, equal outputs", lines_of(output) == [manifest, row])
    partial = call("sweep", "collect", "the out")
    expect("collect what is not complete", partial, 1, None, "6 jobs: 1 done, 5 missing, 0 failed")
    check("collect names what is missing", all(f"({other[0]}) is missing" in partial.stderr for n, other in enumerate(rows) if n != 2), partial.stderr)
    for variable, first in zip(VARIABLES, (0, 0, 1)):
        expect("number by " + variable, call("sweep", "run", "jobs.tsv", **{variable: str(3 + first)}), 0, "", f"job 3 ({rows[3][0]})")
    expect("no number", call("sweep", "run", "jobs.tsv"), 2, "", "which job?")
    expect("number too large", call("sweep", "run", "jobs.tsv", "--index=6"), 2, "", "the jobs are 0 to 5")
    expect("no number of a job", call("sweep", "run", "jobs.tsv", PARALLEL_SEQ="0"), 2, "", "PARALLEL_SEQ='0'")
    for n in range(6):
        call("sweep", "run", "jobs.tsv", "--index", str(n))
    complete = call("sweep", "collect", "the out")
    expect("collect everything", complete, 0, None, "6 jobs: 6 done, 0 missing, 0 failed")
    lines = [json.loads(line) for line in complete.stdout.splitlines()]
    check("one manifest and six configurations", ["lyra_results" in line for line in lines] == [True] + 6 * [False], len(lines))
    check("six seeds", len({line["seed"] for line in lines[1:]}) == 6)
    check("as the jobs made it", lines[3] == row and lines[0] == manifest)
    write("all.jsonl", complete.stdout)
    expect("report of a sweep", call("report", "all.jsonl"), 0, "", "all.html")

    # The file changes after the plan: jobs fail and say why; with the old file they work again.
    os.remove(output)
    write("my spec.toml", SPEC.replace("samples = 200", "samples = 201"))
    expect("a changed experiment", call("sweep", "run", "jobs.tsv", "--index=2"), 1, "", "not what the sweep was planned with")
    expect("collect what failed", call("sweep", "collect", "the out"), 1, None, f"job 2 ({rows[2][0]}) failed: exit status 2")
    write("my spec.toml", SPEC)
    expect("the next attempt", call("sweep", "run", "jobs.tsv", "--index=2"), 0, "", "is done")
    expect("collect after it", call("sweep", "collect", "the out"), 0, complete.stdout, "")
    check("nothing else is left", sorted(os.listdir("the out")) == sorted([os.path.basename(line[2]) for line in rows] + ["jobs.tsv"]), os.listdir("the out"))

    # Lists that are none.
    write("bad.tsv", plan.stdout.replace("lyra sim", "rm -rf"))
    expect("another program's command", call("sweep", "run", "bad.tsv", "--index=0"), 2, "", "not one of lyra's")
    write("bad.tsv", plan.stdout.replace("lyra sim", "lyra sim; touch bad; lyra"))
    expect("a shell's command", call("sweep", "run", "bad.tsv", "--index=0"), 2, "", "single quotes")
    expect("no list", call("sweep", "run", "my spec.toml", "--index=0"), 2, "", "not a list of jobs")
    expect("collect without a list", call("sweep", "collect", "."), 1, None, "6 missing")
    os.mkdir("empty")
    expect("collect in an empty folder", call("sweep", "collect", "empty"), 2, "", "--jobs")
    expect("collect nowhere", call("sweep", "collect", "nowhere"), 2, "", "not a folder")
    write("twice.toml", SPEC.replace("[0, 1000000, 22230000]", "[0, 0]"))
    expect("a configuration that is there twice", call("sweep", "plan", "twice.toml"), 2, "", "was there before")
    write("bad.toml", "x = \n")
    expect("a plan of nothing", call("sweep", "plan", "bad.toml"), 2, "", "bad.toml:1")
    expect("sweep without a verb", call("sweep"), 2, "", "subcommand")


MEASURED = SPEC.replace("samples = 200", "samples = 200\nseed = 5").replace("it's effort", "effort").replace(
    "[0, 1000000, 22230000]", "[0]")


def write_run(path, manifest, rows, seed, samples, latency_us):
    """What a guest's job might write: kernels that come every millisecond and begin so much later."""
    row = next(row for row in rows if row["configuration"]["policy.name"] == "fixed")
    none = {**row["preemption_latency_us"], **dict.fromkeys(("p50", "p95", "p99", "p99.9"))}
    row = {**row, "seed": seed, "samples": samples, "preemptions": 0, "lost_work": 0, "preemption_latency_us": none}
    times = {"rate": 0.0001, "alone_rate": 0.0002, "turnaround_ns": 1500.0, "alone_turnaround_ns": 1000.0}
    run = {"asked": samples, "duration_ns": 10 ** 9, "samples": [],
           "clients": [{"latency_critical": critical, **times} for critical in (True, False)]}
    for n in range(1, samples + 1):
        arrival = 1000000 * n
        wave = arrival + 1000 * latency_us + n
        run["samples"].append([0, 0, arrival, arrival, 0, 0, 0, 0, 0, 0, wave, wave, arrival + 300000])
    lines = ({**manifest, "source": "measure", "seed": seed}, row, {"run": run})
    write(path, "".join(json.dumps(line) + "\n" for line in lines))


def ids_of(plan):
    return [line.split("\t")[0] for line in plan.stdout.splitlines()[1:]]


def plans_of_measurements(folder):
    """Plans and options of jobs of lyra measure. @return the list and its rows"""
    os.chdir(folder)
    write("spec.toml", MEASURED)
    plan = call("sweep", "plan", "--measure", "spec.toml", "--seeds=3", "--samples=40")
    expect("plan of measurements", plan, 0, None, "")
    _, *rows = (line.split("\t") for line in plan.stdout.splitlines())
    commands = [f"lyra measure spec.toml --job {row[0]} --seed {5 + n % 3} --samples 40 --results out/{row[0]}.jsonl"
                for n, row in enumerate(rows)]
    check("a job for each configuration and seed", len(set(ids_of(plan))) == 6 and [row[1] for row in rows] == commands, rows)
    fewer = ids_of(call("sweep", "plan", "--measure", "spec.toml", "--seeds=1", "--samples=40"))
    check("fewer seeds are some of these jobs", fewer == [rows[0][0], rows[3][0]], fewer)
    other = ids_of(call("sweep", "plan", "--measure", "spec.toml", "--seeds=3", "--samples=41"))
    check("other samples are other jobs", len(other) == 6 and not set(other) & set(ids_of(plan)), other)
    chip = call("sweep", "plan", "--measure", "spec.toml", "--seeds=3", "--samples=40", "--chip=gfx90a")
    check("another chip are other jobs, with its name", len(ids_of(chip)) == 6 and not set(ids_of(chip)) & set(ids_of(plan))
          and chip.stdout.count(" --samples 40 --chip gfx90a --results ") == 6, chip)
    same = call("sweep", "plan", "--measure", "spec.toml", "--seeds=3", "--samples=40", "--chip=gfx900")
    check("the usual chip needs no name", same.stdout == plan.stdout, same)
    default = call("sweep", "plan", "--measure", "spec.toml").stdout
    check("the file's seeds and samples", default.count("\n") == 3 and default.count(" --seed 5 --results ") == 2, default)

    def refused(name, message, *words, text=None):
        if text is not None:
            write("other.toml", text)
        expect(name, call(*words), 2, "", message)
    refused("seeds of a simulation's plan", "--measure", "sweep", "plan", "spec.toml", "--seeds=3")
    refused("samples of a simulation's plan", "--measure", "sweep", "plan", "spec.toml", "--samples=3")
    refused("a chip of a simulation's plan", "--measure", "sweep", "plan", "spec.toml", "--chip=gfx90a")
    refused("a chip that no guest has", "cannot be the GPU of a guest", "sweep", "plan", "--measure", "spec.toml",
            "--chip=gfx906")
    refused("no seeds", "--seeds", "sweep", "plan", "--measure", "spec.toml", "--seeds=0")
    refused("too many samples", "--samples", "sweep", "plan", "--measure", "spec.toml", "--samples=1000001")
    many = MEASURED.replace("samples = 200", "samples = 600000").replace('name = "critical"', 'name = "critical"\ncount = 2')
    refused("too many samples of two clients", "may have 1000000 in all", "sweep", "plan", "--measure", "other.toml", text=many)
    room = MEASURED.replace("kernel_us = 10000", "kernel_us = 10000\nroom = 0.5")
    refused("plan of what no guest can do", "only lyra sim can do that", "sweep", "plan", "--measure", "other.toml", text=room)
    job = ["measure", "spec.toml", "--job", rows[0][0]]
    refused("a job with another seed", "not what the sweep was planned with", *job, "--samples=40", "--seed=6")
    refused("a job with other samples", "not what the sweep was planned with", *job, "--samples=41", "--seed=5")
    refused("a job without its seed", "--seed", *job, "--samples=40")
    refused("a job with another chip", "not what the sweep was planned with", *job, "--samples=40", "--seed=5", "--chip=gfx90a")
    refused("a job with several seeds", "excludes", *job, "--samples=40", "--seed=5", "--seeds=2")
    refused("a job with another driver", "excludes", *job, "--samples=40", "--seed=5", "--kfd=lyra")
    return plan.stdout, rows


def measurement_sweeps(folder):
    """Jobs of lyra measure, whose outputs are made up here: no guest runs."""
    plan, rows = plans_of_measurements(folder)
    write("jobs.tsv", plan)
    call("sim", "spec.toml", "--samples=40", "--results", "sim.jsonl")
    manifest, *simulated = lines_of("sim.jsonl")
    os.mkdir("out")
    ids, outputs = [row[0] for row in rows[:3]], [row[2] for row in rows[:3]]
    for n, output in enumerate(outputs):
        write_run(output, manifest, simulated, 5 + n, 40, 10 + 20 * n)
    some = call("sweep", "collect", "out", "--jobs=jobs.tsv")
    expect("collect a configuration of two", some, 1, None, "6 jobs: 3 done, 3 missing, 0 failed")
    head, *merged = [json.loads(line) for line in some.stdout.splitlines()]
    row = merged[0]
    check("one line of three seeds", len(merged) == 1 and head == {**manifest, "source": "measure"}
          and (row["seed"], row["seeds"], row["samples"], row["configuration"]["policy.name"]) == (5, 3, 120, "fixed"), some)
    latency = row["arrival_latency_us"]
    low, high = latency["p50_95"]
    # Of 120 values the 60th: all of the first seed and 20 of the second one.
    check("percentiles over all seeds, and their interval", latency["p50"] == 30.02 and low < 11 and high > 50, latency)
    check("means over all seeds", (row["stp"], row["antt"], row["simulated_ms"]) == (1.0, 1.5, 3000), row)
    check("nothing lost or stuck", row["deadlocked"] is False and row["lost_work"] == 0, row)
    expect("a job that is there is done", call("sweep", "run", "jobs.tsv", "--index=1"), 0, "", "done already")
    write("part.jsonl", some.stdout)
    expect("report of merged seeds", call("report", "part.jsonl"), 0, "", "part.html")
    check("a report of a job's output", call("report", outputs[0], "-o", "-").returncode == 0)
    write("three.tsv", "".join(plan.splitlines(keepends=True)[:4]))
    collect = ("sweep", "collect", "out", "--jobs=three.tsv")
    expect("collect all of a list", call(*collect), 0, some.stdout, "3 jobs: 3 done")

    # A seed that is missing, failed, cut, changed or of another experiment: its configuration is left out.
    good = text_of(outputs[1])

    def left_out(name, message, text):
        os.remove(outputs[1])
        if text is not None:
            write(outputs[1], text)
        result = call(*collect)
        expect(name, result, 1, "", message)
        check(name + ": the configuration", f"({ids[0]}) is left out: 1 of its 3 seeds" in result.stderr, result.stderr)
        write(outputs[1], good)
    left_out("a missing seed", f"job 1 ({ids[1]}) is missing", None)
    left_out("a cut run", "3: not JSON", good[:-100])
    left_out("an output without its run", "not what this job makes", "".join(good.splitlines(keepends=True)[:2]))
    first = good[good.index("[0, 0, 1000000,"):good.index("[0, 0, 2000000,")]
    left_out("a run with too few samples", "run.samples are 39", good.replace(first, ""))
    left_out("a run of other samples", "not what this job makes", good.replace('"asked": 40', '"asked": 41'))
    left_out("a run of another seed", "not what this job makes", text_of(outputs[2]))
    write(outputs[1] + ".failed", "the guest\nexit status 4\n")
    left_out("a failed seed", f"job 1 ({ids[1]}) failed: exit status 4", None)
    write(outputs[1], good.replace('"lost_work": 0', '"lost_work": 3'))
    lost = call(*collect)
    check("lost work", lost.returncode == 1 and json.loads(lost.stdout.splitlines()[1])["lost_work"] == 3
          and "lost work" in lost.stderr, lost)


with tempfile.TemporaryDirectory() as temporary:
    file, configurations = results(temporary)
    reports(temporary, file, configurations)
def validations(folder):
    """The simulator against a guest, whose part results of its own play here; and the timing of a GPU."""
    spec = os.path.join(EXAMPLES, "notify.toml")
    own, guest = os.path.join(folder, "own.jsonl"), os.path.join(folder, "guest.jsonl")
    call("sim", spec, "--samples=2000", "--results", own)
    expect("against a simulation", call("sim", spec, "--against", own), 2, "", "one run of lyra measure")
    write(guest, text_of(own).replace('"source":"sim"', '"source":"measure"'))
    same = call("sim", spec, "--samples=2000", "--against", guest)
    check("against the same", same.returncode == 0 and "\n1 of 1 configurations" in same.stdout, same)
    other = call("sim", spec, "--samples=2000", "--against", guest, "--seed=9")
    check("against another seed", other.returncode == 0, other)
    slow = os.path.join(folder, "slow.toml")
    write(slow, text_of(spec) + "[driver]\nnotify_us = 60\n")
    far = call("sim", slow, "--samples=2000", "--against", guest)
    check("against a faster driver", far.returncode == 1 and "\n0 of 1 configurations" in far.stdout, far)
    fitted = call("sim", slow, "--samples=2000", "--fit", guest)
    times = dict(line.split(" = ") for line in fitted.stdout.splitlines() if " = " in line)
    found = float(times["driver.notify_us"]) + float(times["driver.look_us"])
    check("a fit finds the driver's time", fitted.returncode == 0 and abs(found - 9.2) < 1, fitted)
    expect("a fit to two", call("sim", spec, "--fit", guest, "--against", guest), 2, "", "excludes")
    card = os.path.join(folder, "card.jsonl")
    write(card, '{"record":"machine","gpu":"g","chip":"gfx900","kernel":"k","amdgpu_module":"m","max_mhz":1600}\n')
    timing = call("timing", "import", card)
    check("timing of a GPU", timing.returncode == 0 and "[timing]\nshader_clock_mhz = 1600" in timing.stdout, timing)
    check("what a GPU's timing lacks", "# not there: scheduler_packet_ns" in timing.stdout, timing)
    with open(card, "a") as file:
        file.write('{"record":"mmio","doorbell_write_ns":81}\n')
    expect("timing of a malformed record", call("timing", "import", card), 2, "", 'doorbell_write_ns of "mmio" has no median')
    expect("timing out of results", call("timing", "import", own), 2, "", "own.jsonl:1: no record of preempt_timing")
    expect("timing without a verb", call("timing"), 2, "", "subcommand")


with tempfile.TemporaryDirectory() as temporary:
    sweeps(temporary)
    os.chdir("/")
with tempfile.TemporaryDirectory() as temporary:
    measurement_sweeps(temporary)
    os.chdir("/")
with tempfile.TemporaryDirectory() as temporary:
    validations(temporary)
print(f"{failures} failures")
sys.exit(1 if failures else 0)
