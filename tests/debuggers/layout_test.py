"""The scripts for debuggers know the layout that the library describes: the fields' order, and the
version."""
import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
SOURCES = sys.argv[1]
sys.path.insert(0, os.path.join(SOURCES, "tools/debuggers"))
import sley_goroutines  # noqa: E402


class Layout(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(SOURCES, "src/runtime/state/layout.hpp"), encoding="utf-8") as file:
            cls.text = re.search(r"(?s)struct layout \{(.*?)\n\};", file.read())[1]

    def test_fields(self):
        fields = re.findall(r"(?m)^  (?:std::uint64_t|const void\*) (\w+)(?: = .*)?;", self.text)
        self.assertEqual(fields, sley_goroutines.FIELDS)

    def test_version(self):
        version = re.search(r"version = (\d+);", self.text)[1]
        self.assertEqual(int(version), sley_goroutines.VERSION)

    def test_another_version_is_refused(self):
        record = bytearray(b"sleylout" + bytes(8 * 100))
        record[8] = sley_goroutines.VERSION + 1
        with self.assertRaisesRegex(sley_goroutines.Unreadable, f"version {sley_goroutines.VERSION + 1} .* "
                                    f"know version {sley_goroutines.VERSION}"):
            sley_goroutines.read_layout(lambda at, size: bytes(record[at:at + size]), 0)
        with self.assertRaisesRegex(sley_goroutines.Unreadable, "no layout"):
            sley_goroutines.read_layout(lambda at, size: bytes(size), 0)


class Names(unittest.TestCase):
    def test_are_on_one_line(self):
        self.assertEqual(sley_goroutines.shown("größer".encode()), "größer")
        self.assertEqual(sley_goroutines.shown(b"a\n\x1b[1m\xff"), "a\\n\\x1b[1m\\xff")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
