"""The live page at /debug/ and what it asks for: groups of goroutines as JSON, and a trace.

usage: live_page_test.py PROGRAM
The page itself is looked at by Chromium; without that, and where it can't start, that test is skipped.
"""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

LIMIT_S = 120


class LivePage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        files = [os.path.join(cls.folder.name, name) for name in ("goroutine", "cpu")]
        cls.process = subprocess.Popen([PROGRAM, *files], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
        cls.pages = f"http://{cls.process.stdout.readline().split()[0]}/debug/"

    @classmethod
    def tearDownClass(cls):
        cls.process.stdin.close()
        status = cls.process.wait(LIMIT_S)
        cls.process.stdout.close()
        cls.folder.cleanup()
        assert status == 0, status

    def get(self, page):
        with urllib.request.urlopen(self.pages + page, timeout=LIMIT_S) as answer:
            return answer.read()

    def test_groups_are_json(self):
        whole = json.loads(self.get("goroutines.json"))
        groups = whole["groups"]
        self.assertEqual(whole["all_groups"], len(groups))
        self.assertEqual(whole["goroutines"], sum(g["count"] for g in groups))
        self.assertEqual(groups, sorted(groups, key=lambda g: -g["count"]))
        [known] = [g for g in groups if g.get("name") == "known"]
        self.assertEqual((known["count"], known["state"]), (7, "chan receive"))
        self.assertRegex(known["waits_for"], "^0x[0-9a-f]+$")
        functions = [f["function"] for f in known["stack"]]
        self.assertTrue(any(f.startswith("waits_for_work(") for f in functions), functions)
        self.assertFalse(any("sley::detail::run_task" in f for f in functions), functions)
        self.assertRegex(known["creator"]["file"], "known_program.cpp$")

    def test_thread_blocks_are_json(self):
        groups = json.loads(self.get("threadblocks.json"))["groups"]
        [known] = [g for g in groups
                   if any(f["function"].startswith("blocks_its_thread(") for f in g["stack"])]
        self.assertEqual((known["count"], known["system_call"]), (1, "read"))
        self.assertGreaterEqual(known["delay_ns"], 5_000_000)
        self.assertLessEqual(known["lost_ns"], known["delay_ns"])

    def test_trace(self):
        trace = gzip.decompress(self.get("pprof/trace?seconds=1"))
        events = json.loads(trace)["traceEvents"]
        self.assertIn({"name": "sley"}, [e.get("args") for e in events])
        self.assertTrue(any(e["ph"] == "X" for e in events), events)

    def browse(self, address):
        return subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu",
             f"--user-data-dir={self.folder.name}/chromium", "--virtual-time-budget=5000",
             "--dump-dom", address],
            capture_output=True, text=True, timeout=LIMIT_S, check=False)

    def test_page_in_a_browser(self):
        if shutil.which("chromium") is None:
            self.skipTest("no Chromium (Debian's package chromium)")
        done = self.browse("about:blank")
        if done.returncode != 0:
            self.skipTest("Chromium does not run here: " + done.stderr[-200:])
        done = self.browse(self.pages)
        self.assertEqual(done.returncode, 0, done.stderr)
        row = r'<td>7</td><td>chan receive</td><td>known</td><td><code>waits_for_work\('
        self.assertRegex(done.stdout, row)
        self.assertRegex(done.stdout, r'<span class="faint">waiting</span><b>[\d,]+</b>')
        row = r'<td>read</td><td title="[^"]+"><code>blocks_its_thread\('
        self.assertRegex(done.stdout, row)
        self.assertIn('role="status"></span>', done.stdout)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop()
    unittest.main(verbosity=2)
