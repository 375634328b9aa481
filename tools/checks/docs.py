#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the documentation site with warnings as errors and checks what the generator does not: anchors of links, pages that no
link leads to, lists that are shown as text, anything loaded from another site, and references from sources to sections of
docs/spec/. Run as a CTest.

usage: docs.py SOURCE_TREE [SITE]     the site stays in SITE

exit status 1: a line for each finding; 77: there is no mkdocs
"""
import html.parser
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

SOURCES = (".c", ".h", ".cpp", ".hpp", ".def", ".inc", ".py", ".sh", ".cl", ".hip", ".s", ".txt", ".md")
# "docs/spec/front-end.md 6.3, 6.7": a page and at least one section of it.
REFERENCE = re.compile(r"docs/spec/([\w-]+\.md)((?:,? (?:and )?\d+(?:\.\d+)*\b)*)")
HEADING = re.compile(r"^#+ (\d+(?:\.\d+)*)\.? ", re.M)
EXEMPT = ("docs/", "tools/checks/docs.py", "mkdocs.yml", "CONTRIBUTING.md", "CHANGELOG.md", "README.md")


class Page(html.parser.HTMLParser):
    """Identifiers and links of a page, and addresses that a browser loads by itself."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loaded, self.lists, self.in_text = set(), [], [], [], False
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.in_text = tag == "p" or (self.in_text and tag in ("code", "em", "strong", "a"))
        self.ids.update(v for k, v in attributes if v and (k == "id" or (k == "name" and tag == "a")))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag == "link" and values.get("rel") not in ("canonical", None) and values.get("href"):
            self.loaded.append(values["href"])
        if tag in ("script", "img", "iframe", "source") and values.get("src"):
            self.loaded.append(values["src"])

    def handle_endtag(self, tag):
        self.in_text = self.in_text and tag != "p"

    def handle_data(self, data):
        if self.in_text and "\n- " in data:
            self.lists.append(data[data.index("\n- ") + 1:][:50])


def check_site(site):
    pages = {}
    for base, _, names in os.walk(site):
        for name in names:
            if name.endswith(".html"):
                path = os.path.join(base, name)
                pages[os.path.relpath(path, site)] = Page(path)
    problems, reached = [], {"index.html", "404.html", "search.html"}
    todo = ["index.html"]
    for name, page in sorted(pages.items()):
        for address in page.loaded:
            if urllib.parse.urlsplit(address).netloc:
                problems.append(f"{name}: loads {address}")
        problems += [f"{name}: no empty line before the list at: {text}" for text in page.lists]
    while todo:
        name = todo.pop()
        for link in pages[name].links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path = urllib.parse.unquote(parts.path)
            target = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            if target not in pages:
                if not os.path.exists(os.path.join(site, target)):
                    problems.append(f"{name}: leads to {link}, which does not exist")
                continue
            fragment = urllib.parse.unquote(parts.fragment)
            if fragment and fragment not in pages[target].ids:
                problems.append(f"{name}: leads to {link}, and {target} has no such anchor")
            if target not in reached:
                reached.add(target)
                todo.append(target)
    problems += [f"{name}: no link leads to it" for name in sorted(set(pages) - reached)]
    return problems, len(pages)


def check_references(tree):
    """Sections that sources name have to exist; a page named without a section is a problem too."""
    sections, problems, count = {}, [], 0
    folder = os.path.join(tree, "docs/spec")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            sections[name] = set(HEADING.findall(file.read()))
    for base, dirs, names in os.walk(tree):
        dirs[:] = sorted(d for d in dirs if d not in (".git", "__pycache__") and not d.startswith("build"))
        for name in sorted(names):
            path = os.path.relpath(os.path.join(base, name), tree)
            if not name.endswith(SOURCES) or path.startswith(EXEMPT):
                continue
            with open(os.path.join(tree, path), encoding="utf-8") as file:
                lines = file.read().split("\n")
            for number, line in enumerate(lines, 1):
                for page, wanted in REFERENCE.findall(line):
                    count += 1
                    numbers = re.findall(r"\d+(?:\.\d+)*", wanted)
                    where = f"{path}:{number}: docs/spec/{page}"
                    if page not in sections:
                        problems.append(f"{where} does not exist")
                    elif not numbers:
                        problems.append(f"{where}: names no section")
                    problems += [f"{where} has no section {n}" for n in numbers if page in sections and n not in sections[page]]
    return problems, count


def main():
    tree = os.path.realpath(sys.argv[1])
    problems, references = check_references(tree)
    mkdocs = shutil.which("mkdocs")
    if not mkdocs:
        print("\n".join(problems) or "mkdocs is missing")
        return 1 if problems else 77
    site = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else tempfile.mkdtemp(prefix="lyra-docs.")
    try:
        built = subprocess.run([mkdocs, "build", "--strict", "-f", os.path.join(tree, "mkdocs.yml"), "-d", site],
                               capture_output=True, text=True)
        if built.returncode != 0:
            problems.append(built.stdout + built.stderr)
            pages = 0
        else:
            found, pages = check_site(site)
            problems += found
    finally:
        if len(sys.argv) <= 2:
            shutil.rmtree(site)
    print("\n".join(problems) or f"{pages} pages, {references} references from sources to docs/spec")
    return 1 if problems or pages == 0 or references == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
