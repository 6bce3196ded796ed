char touch_large_frame(void) {
  char large[400000];
  __asm__ volatile("" : : "r"(large) : "memory");
  large[0] = 1;
  return large[0];
}
