#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what `lyra bench` prints, and how it refuses what it cannot compare. Run as a CTest, skipped without PoCL. No time is
judged.

usage: cli_bench.py PROGRAM     PROGRAM is lyra
"""
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]
SHORT = ("--min-time", "0.001", "--repetitions", "1")
STREAMING = {"saxpy", "vector_add", "reduction", "histogram", "stencil_f64", "spmv_csr", "dot_f16_i8"}
FURTHER = {"fft", "spmv_csr", "sha256", "dot_f16_i8", "sort_bitonic"}
ROWS = "^(saxpy|mandelbrot|fft|spmv_csr|sha256|dot_f16_i8|sort_bitonic|salu|aql_packets)$"


def bench(*arguments, **environment):
    return subprocess.run([PROGRAM, "bench", *SHORT, *arguments], capture_output=True, text=True, timeout=600, check=False,
                          env={**os.environ, **environment})


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


class Bench(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.file = os.path.join(cls.folder.name, "old.json")
        done = bench("--json", "--filter", ROWS)
        assert done.returncode == 0, done.stdout + done.stderr
        with open(cls.file, "w", encoding="utf-8") as out:
            out.write(done.stdout)
        cls.result = json.loads(done.stdout)
        cls.kernels = {row["name"]: row for row in cls.result["rows"] if row["kind"] == "kernel"}

    def test_every_kernel_is_right_and_has_its_engine(self):
        self.assertEqual(set(self.kernels), FURTHER | {"saxpy", "mandelbrot"})
        for name, row in self.kernels.items():
            with self.subTest(name):
                self.assertTrue(row["ok"], row.get("error"))
                self.assertGreater(row["wave_instructions"], 0)
                share = row["translated_share"]
                self.assertEqual(row["engine"], "translator" if share else "interpreter")
                self.assertEqual(row["translated_blocks"] > 0, share > 0)
                self.assertEqual(row["translate_ms"] > 0, share > 0)
                if self.result["machine"]["translator"]:
                    self.assertGreater(share, 0.5)
                    self.assertLessEqual(share, 1)

    def test_waves_of_another_chip_run_generated_code_too(self):
        done = bench("--json", "--chip", "gfx90a", "--filter", "^(saxpy|mandelbrot|mfma_f32)$")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        result = json.loads(done.stdout)
        rows = {row["name"]: row for row in result["rows"]}
        self.assertEqual(set(rows), {"saxpy", "mandelbrot", "mfma_f32"})
        self.assertEqual(result["options"]["chip"], "gfx90a")
        for name, row in rows.items():
            with self.subTest(name):
                self.assertTrue(row["ok"], row.get("error"))
                if row["kind"] == "kernel" and result["machine"]["translator"]:
                    self.assertGreater(row["translated_share"], 0.5)

    def test_a_chip_that_nobody_knows_is_refused(self):
        done = bench("--chip", "gfx1")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("unknown chip 'gfx1'", done.stderr)

    def test_bytes_per_second_are_those_of_kernels_that_stream(self):
        for name, row in self.kernels.items():
            with self.subTest(name):
                for engine in ("lyra", "pocl"):
                    self.assertEqual(row[f"{engine}_gb_per_s"] is not None, name in STREAMING)
        saxpy = self.kernels["saxpy"]
        for engine in ("lyra", "pocl"):
            self.assertAlmostEqual(saxpy[f"{engine}_gb_per_s"] * saxpy[f"{engine}_ms"] * 1e6 / (12 << 19), 1)

    def test_means_are_of_the_eleven_and_of_all(self):
        ratios = {name: row["pocl_ms"] / row["lyra_ms"] for name, row in self.kernels.items()}
        self.assertAlmostEqual(self.result["geomean_vs_pocl_1t_all"], geomean(ratios.values()))
        self.assertAlmostEqual(self.result["geomean_vs_pocl_1t"], geomean([ratios["saxpy"], ratios["mandelbrot"]]))

    def test_what_two_devices_gain_is_there_where_two_processors_are(self):
        several = self.result["machine"]["processors"] > 1
        gains = {name: row["scaling_2_devices"] for name, row in self.kernels.items()}
        for name, gain in gains.items():
            with self.subTest(name):
                self.assertEqual(gain is not None, several)
                self.assertGreater(gain or 1, 0)
        self.assertEqual(self.result["scaling_2_devices"] is not None, several)
        if several:
            self.assertAlmostEqual(self.result["scaling_2_devices"], geomean([gains["saxpy"], gains["mandelbrot"]]))

    def test_the_interpreter_alone(self):
        done = bench("--json", "--filter", "^(fft|spmv_csr|sha256|dot_f16_i8|sort_bitonic)$", LYRA_JIT="off")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertFalse(result["machine"]["translator"])
        self.assertEqual({row["name"] for row in result["rows"]}, FURTHER)
        for row in result["rows"]:
            with self.subTest(row["name"]):
                self.assertEqual([row["ok"], row["engine"]], [True, "interpreter"], row.get("error"))
                self.assertEqual([row[key] for key in ("translated_share", "translated_blocks", "translate_ms")], [0, 0, 0])
                self.assertEqual(row["wave_instructions"], self.kernels[row["name"]]["wave_instructions"])

    def test_no_jit_interprets(self):
        done = bench("--json", "--no-jit", "--filter", "^saxpy$")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertFalse(result["options"]["jit"])
        row = result["rows"][0]
        self.assertEqual([row["ok"], row["engine"], row["translated_share"]], [True, "interpreter", 0])

    def test_the_table_has_what_the_json_has(self):
        done = bench("--filter", "^(fft|saxpy)$")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.split() for line in done.stdout.splitlines()]
        engines = {words[0]: words for words in lines if len(words) == 7 and words[1] in ("translator", "interpreter")}
        self.assertEqual(set(engines), {"fft", "saxpy"})
        for name, words in engines.items():
            self.assertEqual(words[1], self.kernels[name]["engine"])
        self.assertEqual(engines["fft"][5:], ["-", "-"])
        self.assertGreater(float(engines["saxpy"][5]), 0)

    def test_a_comparison_has_the_ratio_of_every_row(self):
        done = bench("--json", "--filter", ROWS, "--compare", self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        now = json.loads(done.stdout)
        key = {"kernel": "lyra_ms"}
        before = {row["name"]: row[key.get(row["kind"], "value")] for row in self.result["rows"]}
        after = {row["name"]: row[key.get(row["kind"], "value")] for row in now["rows"]}
        rows = now["comparison"]["rows"]
        self.assertEqual([row["name"] for row in rows], [row["name"] for row in now["rows"]])
        for row in rows:
            name = row["name"]
            ratio = after[name] / before[name] if row["kind"] == "rate" else before[name] / after[name]
            self.assertEqual([row["before"], row["now"]], [before[name], after[name]], name)
            self.assertAlmostEqual(row["ratio"] / ratio, 1)
        self.assertAlmostEqual(now["comparison"]["geomean_ratio"] / geomean([row["ratio"] for row in rows]), 1)
        self.assertEqual([now["comparison"][part] for part in ("differences", "unmatched")], [[], []])

    def test_a_comparison_as_text_tells_what_differs(self):
        old = {**self.result, "machine": {**self.result["machine"], "processor": "Another"}}
        file = os.path.join(self.folder.name, "other.json")
        with open(file, "w", encoding="utf-8") as out:
            json.dump(old, out)
        done = bench("--filter", "^salu$", "--compare", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('DIFFERENT machine processor: "Another" before, ', done.stdout)
        self.assertIn('DIFFERENT option filter: ', done.stdout)
        self.assertIn("not in both: saxpy\n", done.stdout)
        self.assertRegex(done.stdout, r"\nsalu +[0-9.]+ +[0-9.]+ +[0-9.]+  ns_per_wave_instruction\n")
        self.assertRegex(done.stdout, r"\ngeometric mean of the ratios: [0-9.]+\n")


class Refusals(unittest.TestCase):
    """Before anything runs, also without PoCL."""

    def test_what_cannot_be_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "old.json")
            for text, why in (("no JSON at all", "no JSON"), ('{"rows": []}', "no result of `lyra bench --json`"),
                              ('{"format": "lyra bench", "version": 77}', "a result of version 77; this program compares")):
                with self.subTest(text):
                    with open(file, "w", encoding="utf-8") as out:
                        out.write(text)
                    done = bench("--compare", file)
                    self.assertEqual([done.returncode, done.stdout], [2, ""])
                    self.assertIn(f"--compare {file}: {why}", done.stderr)
            done = bench("--compare", os.path.join(folder, "nothing"))
            self.assertEqual([done.returncode, done.stdout], [2, ""])
            self.assertIn("nothing", done.stderr)


if __name__ == "__main__":
    if "PoCL is missing" in (tried := bench("--filter", "^salu$")).stderr:
        print(tried.stderr)
        refused = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromTestCase(Refusals))
        sys.exit(77 if refused.wasSuccessful() else 1)
    unittest.main(argv=sys.argv[:1], verbosity=2)
