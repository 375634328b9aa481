#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The session of docs/first_hour/scheduling_idea.md, as it is written there: its commands, and its change of a policy, in a copy of the checkout.

    session.py CHECKOUT

Exit status 1 when something is not as the document says.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

DOCUMENT = "docs/first_hour/scheduling_idea.md"
POLICY = "scheduler/core/policies.c"


def steps(text):
    """Commands, and ("change", old, new), in the order of the document's indented lines."""
    found, old = [], None
    for line in text.splitlines():
        if line.startswith("    ./lyra "):
            found.append(line.strip())
        elif line.startswith("    -"):
            old = line[5:]
        elif line.startswith("    +"):
            found.append(("change", old, line[5:]))
    return found


def results(path):
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [row for row in rows if "configuration" in row]


def builds_of(copy):
    """Where the program `lyra` has built a checkout."""
    cache = os.environ.get("LYRA_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "lyra")
    return [os.path.dirname(link) for link in glob.glob(f"{cache}/build-*/src") if os.path.realpath(link) == copy]


def check(name, good, detail=""):
    print(f"{'passed' if good else 'FAILED'}: {name}{'' if good else ': ' + str(detail)}", flush=True)
    return good


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    checkout = os.path.realpath(sys.argv[1])
    with open(os.path.join(checkout, DOCUMENT), encoding="utf-8") as file:
        todo = steps(file.read())
    work = os.path.realpath(tempfile.mkdtemp(prefix="lyra-session."))
    copy = os.path.join(work, "lyra")
    good = True
    try:
        shutil.copytree(checkout, copy, symlinks=True, ignore=lambda folder, names: [n for n in names if folder == checkout and (n == ".git" or n.startswith("build"))])
        changes = 0
        for step in todo:
            if isinstance(step, tuple):
                path = os.path.join(copy, POLICY)
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                good &= check("the line that changes is there once", text.count(step[1] + "\n") == 1, step[1])
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text.replace(step[1] + "\n", step[2] + "\n"))
                changes += 1
                continue
            done = subprocess.run(step, shell=True, cwd=copy, capture_output=True, text=True)
            good &= check(step, done.returncode == 0, f"status {done.returncode}\n{done.stdout}{done.stderr}")
            if not good:
                return 1
        good &= check("the document has one change and four commands", changes == 1 and len(todo) == 5, todo)
        before, after = (results(os.path.join(copy, name)) for name in ("before.jsonl", "after.jsonl"))
        good &= check("before: pre-emptions, p50 about 56 us", len(before) == 1 and before[0]["preemptions"] >= 30 and
                      50 <= before[0]["preemption_latency_us"]["p50"] <= 60, before and before[0]["preemption_latency_us"]["p50"])
        good &= check("after: none, and the latency is what is left of a kernel", len(after) == 1 and after[0]["preemptions"] == 0 and
                      300 <= after[0]["latency_us"]["p50"] <= 2100, after and (after[0]["preemptions"], after[0]["latency_us"]["p50"]))
        good &= check("no work was lost", all(row["lost_work"] == 0 for row in before + after))
        with open(os.path.join(copy, "session.html"), encoding="utf-8") as file:
            html = file.read()
        good &= check("the report has both", all(re.search(rf"\b{name}\b", html) for name in ("before", "after")) and "<svg" in html)
    finally:
        for folder in [*builds_of(copy), work]:
            shutil.rmtree(folder, ignore_errors=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
