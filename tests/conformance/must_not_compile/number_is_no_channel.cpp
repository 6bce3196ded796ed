// expect: conversion from .int. to non-scalar type
// expect: no viable conversion from .int.
#include <sley/sley.hpp>

void snippet() {
#ifdef CORRECTED
  const sley::chan<int> c(5);
#else
  const sley::chan<int> c = 5;
#endif
}
