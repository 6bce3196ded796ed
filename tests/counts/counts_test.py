#!/usr/bin/env python3
"""Tests of counts.py: what it reads of callgrind's files, and what it says of growth."""
import contextlib
import io
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import callgrind  # noqa: E402
import counts  # noqa: E402

FILE = """\
events: Ir Ge
ob=/tmp/program
fl=a.cpp
fn=sley::rt::finish(sley::rt::machine*)
0 40 1
cob=/lib/libc.so.6
cfn=malloc
calls=3 0
0 300
0 7
fn=sley::rt::(anonymous namespace)::next_local(sley::rt::machine*) [clone .part.0]
0 20
ob=/lib/libc.so.6
fn=malloc
0 300 5
"""


class Callgrind(unittest.TestCase):
    def test_costs_of_calls_and_of_libc_do_not_count(self):
        read = callgrind.read(FILE.splitlines(True), "/tmp/program")
        self.assertEqual({"sley::rt::finish": 47, "sley::rt::next_local": 20}, read.instructions)
        self.assertEqual((1, 3), (read.locked, read.mallocs))

    def test_a_difference_may_have_less_of_a_function(self):
        more = callgrind.Counts({"f": 5}, 4, 3)
        less = callgrind.Counts({"f": 2, "g": 1}, 1, 1)
        self.assertEqual(({"f": 3, "g": -1}, 3, 2), callgrind.difference(more, less))

    def test_names_are_without_arguments_and_results(self):
        for name, short in {
            "main": "main",
            "main'2": "main",
            "f(int) const": "f",
            "sley::chan_status sley::sync::wait<sley::chan<int> >(int (*)(int))": "sley::sync::wait",
            "std::_Function_handler<void (), bench::f(int)::{lambda()#1}>::_M_invoke(std::_Any_data const&)":
                "std::_Function_handler::_M_invoke",
            "bench::(anonymous namespace)::f(int)::{lambda()#2}::operator()() const":
                "bench::f::{lambda#2}::operator()",
            "a::p<int>::operator->() const": "a::p::operator->",
        }.items():
            self.assertEqual(short, callgrind.short(name))


def row(locked=1.0, mallocs=0.0, **functions):
    return counts.Row(locked, mallocs, functions)


class Comparison(unittest.TestCase):
    def compare(self, old, new):
        table = list(counts.write_table({"spawn": old}, "g++ 12"))
        self.assertEqual("g++ 12", counts.read_table(table)[0])
        return list(counts.compare(counts.read_table(table)[1], {"spawn": new}))

    def test_the_same_again_is_no_growth(self):
        self.assertEqual([], self.compare(row(start=300, finish=67, small=0.4), row(start=300, finish=67, small=0.4)))

    def test_three_percent_are_no_growth(self):
        self.assertEqual([], self.compare(row(start=300, finish=100), row(start=300, finish=112)))

    def test_a_function_that_has_grown_is_named_and_others_are_not(self):
        found = self.compare(row(start=300, finish=100), row(start=299, finish=120))
        self.assertEqual("spawn: instructions for one operation grew from 400.00 to 419.00", found[0])
        self.assertEqual(["+20.0  finish (was 100.0)"], [line.strip() for line in found[1:]])

    def test_a_function_that_is_new_is_named(self):
        found = self.compare(row(start=300), row(start=300, trace=20))
        self.assertEqual(["+20.0  trace (new among the larger ones)"], [line.strip() for line in found[1:]])

    def test_a_locked_instruction_is_growth_by_itself(self):
        found = self.compare(row(start=300), row(start=302, locked=2.0))
        self.assertEqual("spawn: locked for one operation grew from 1.00 to 2.00", found[0])
        self.assertEqual(["+2.0  start (was 300.0)"], [line.strip() for line in found[1:]])

    def test_a_malloc_is_growth_by_itself(self):
        self.assertEqual(["spawn: mallocs for one operation grew from 0.00 to 1.00"],
                         self.compare(row(start=300), row(start=300, mallocs=1.0)))

    def test_what_has_shrunk_is_no_growth(self):
        old, new = row(start=300, finish=100), row(start=300, finish=50, locked=0)
        self.assertEqual([], self.compare(old, new))
        self.assertEqual(["spawn 400.0 to 350.0"], counts.shrunk({"spawn": old}, {"spawn": new}))

    def test_a_row_without_a_record_is_an_error(self):
        self.assertEqual(["spawn is not in the table"], list(counts.compare({}, {"spawn": row(start=1)})))

    def test_growth_is_status_1_and_says_how_to_record_anew(self):
        before = counts.TABLE
        with tempfile.TemporaryDirectory() as folder, io.StringIO() as output:
            counts.TABLE = os.path.join(folder, "counts.txt")
            try:
                with open(counts.TABLE, "w", encoding="utf-8") as file:
                    file.writelines(line + "\n" for line in counts.write_table({"spawn": row(start=9)}, "g++ 12"))
                with contextlib.redirect_stdout(output):
                    self.assertEqual(0, counts.check({"spawn": row(start=9)}))
                    self.assertEqual(1, counts.check({"spawn": row(start=19)}))
            finally:
                counts.TABLE = before
            self.assertIn("./dev counts --record", output.getvalue())


if __name__ == "__main__":
    unittest.main()
