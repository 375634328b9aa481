#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks a report in headless Chromium: everything is present, texts lie within their pictures and do not overlap, light and
dark differ as they should. Run as a CTest.

usage: report_browser.py PROGRAM [FOLDER]     PROGRAM is lyra; pictures of the page stay in FOLDER

exit status 77: there is no Chromium
"""
import html
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

PROGRAM = os.path.abspath(sys.argv[1])
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/measure")
CHROMIUM = shutil.which("chromium")
# Enumeration of Blink: what the page is told that its reader prefers.
SCHEMES = {"light": 1, "dark": 0}
PAGE = {"light": (0xfc, 0xfc, 0xfb), "dark": (0x1a, 0x1a, 0x19)}     # --page of the style
CURVE = {"light": (0x2a, 0x78, 0xd6), "dark": (0x39, 0x87, 0xe5)}    # --c1
failures = 0

# Puts what it finds into an attribute of the page. Half a pixel is rounding.
LOOK = """<script>
const found = [];
for (const svg of document.querySelectorAll('svg[id]')) {
    const box = svg.getBoundingClientRect();
    if (box.width < 300 || box.height < 50) found.push(svg.id + ': ' + box.width + ' x ' + box.height);
    const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
    for (const [text, t] of texts) {
        if (t.left < box.left - .5 || t.right > box.right + .5 || t.top < box.top - .5 || t.bottom > box.bottom + .5) found.push(svg.id + ': outside: ' + text);
    }
    for (let a = 0; a < texts.length; ++a) for (let b = 0; b < a; ++b) {
        const [s, t] = [texts[a][1], texts[b][1]];
        if (s.left < t.right - .5 && t.left < s.right - .5 && s.top < t.bottom - 2 && t.top < s.bottom - 2) found.push(svg.id + ': on each other: ' + texts[a][0] + ' / ' + texts[b][0]);
    }
}
if (document.documentElement.scrollWidth > document.documentElement.clientWidth) found.push('the page is wider than the window');
document.body.setAttribute('data-found', JSON.stringify({found, pictures: document.querySelectorAll('svg[id]').length,
    rows: document.querySelectorAll('tbody tr').length, scheme: matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'}));
</script>"""


def check(name, good, what=""):
    global failures
    print(("passed " if good else "FAILED ") + name)
    if not good:
        failures += 1
        print("   ", what)


def browse(folder, scheme, width, height, *more):
    words = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--disable-component-update", f"--user-data-dir={folder}/profile", f"--window-size={width},{height}",
             f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}", *more]
    result = subprocess.run(words, capture_output=True, timeout=250, check=False, stdin=subprocess.DEVNULL)
    if result.returncode != 0:
        print(result.stderr.decode(errors="replace")[-2000:])
    return result


def pixels(path):
    """Rows of a PNG with 8 bits a channel, as lists of (red, green, blue)."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert depth == 8 and colour in (2, 6) and interlaced == 0, (depth, colour, interlaced)
        if kind == b"IDAT":
            packed += body
        at += 12 + size
    raw, step = zlib.decompress(packed), 3 if colour == 2 else 4
    line = width * step
    before, out = bytearray(line), []
    for y in range(height):
        method, row = raw[y * (line + 1)], bytearray(raw[y * (line + 1) + 1:(y + 1) * (line + 1)])
        for x in range(line):
            a, b, c = (row[x - step] if x >= step else 0), before[x], (before[x - step] if x >= step else 0)
            if method == 1:
                row[x] = row[x] + a & 255
            elif method == 2:
                row[x] = row[x] + b & 255
            elif method == 3:
                row[x] = row[x] + (a + b) // 2 & 255
            elif method == 4:
                p = a + b - c
                row[x] = row[x] + min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2] & 255
        out.append([tuple(row[x:x + 3]) for x in range(0, line, step)])
        before = row
    return out


def results(folder, example, *more):
    path = os.path.join(folder, example + ".jsonl")
    subprocess.run([PROGRAM, "sim", os.path.join(EXAMPLES, example + ".toml"), "--samples=1500", "--results", path, *more], check=True, stdout=subprocess.DEVNULL)
    return path


if not CHROMIUM:
    print("skipped: there is no chromium")
    sys.exit(77)
with tempfile.TemporaryDirectory() as temporary:
    for example, looks in (("context-bytes", (("light", 1100), ("dark", 500))), ("kernel-length", (("light", 500),)), ("adaptive-100us", ())):
        subprocess.run([PROGRAM, "-q", "report", results(temporary, example)], check=True)
        with open(os.path.join(temporary, example + ".html"), encoding="utf-8") as file:
            page = file.read()
        looked = os.path.join(temporary, "looked.html")
        with open(looked, "w", encoding="utf-8") as file:
            # The page itself forbids scripts.
            file.write(re.sub(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>", "", page).replace("</body>", LOOK + "</body>"))
        for scheme, width in looks:
            name = f"{example}, {scheme}, {width} pixels"
            dom = browse(temporary, scheme, width, 900, "--dump-dom", "file://" + looked).stdout.decode()
            seen = re.search(r'data-found="([^"]*)"', dom)
            check(f"{name}: the page is shown", seen, dom[:500])
            if not seen:
                continue
            seen = json.loads(html.unescape(seen.group(1)))
            check(f"{name}: nothing lies where it should not", not seen["found"], seen["found"])
            check(f"{name}: everything is there", seen["scheme"] == scheme and seen["pictures"] == page.count("<svg id=") > 2
                  and seen["rows"] == page.count("<tr>") - page.count("<thead>") > 2, seen)
    keep = sys.argv[2] if len(sys.argv) > 2 else temporary
    for scheme in SCHEMES:
        shot = os.path.join(keep, scheme + ".png")
        browse(temporary, scheme, 700, 700, "--screenshot=" + shot, "file://" + os.path.join(temporary, "adaptive-100us.html"))
        picture = pixels(shot)
        check(f"{scheme}: colour of the page", picture[3][3] == PAGE[scheme] == picture[690][3], (picture[3][3], picture[690][3]))
        curve = sum(colour == CURVE[scheme] for row in picture for colour in row)
        check(f"{scheme}: the curve is drawn", curve > 100, curve)
print(f"{failures} failures")
sys.exit(1 if failures else 0)
