// A goroutine whose frame is larger than its stack: in C++ by default, in C with an argument.
#include <sley/sley.hpp>

#include <array>

extern "C" char touch_large_frame();

namespace {

[[gnu::noinline]] char touch_large_array() {
  std::array<char, 400'000> large;
  asm volatile("" : : "r"(large.data()) : "memory");
  large[0] = 1;
  return large[0];
}

}  // namespace

int main(int argc, char**) {
  return sley::run([=] {
    sley::async([=] { return argc > 1 ? touch_large_frame() : touch_large_array(); }).get();
  });
}
