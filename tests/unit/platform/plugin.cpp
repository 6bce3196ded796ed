// A library with one function, for symbols_test.cpp, which knows its line.

extern "C" int of_a_plugin(int);

int of_a_plugin(int a) { return a + 1; }
