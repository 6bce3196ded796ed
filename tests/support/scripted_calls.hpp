// System calls that a test answers itself. A seccomp filter has the kernel send SIGSYS instead of
// making them; the handler asks the test for the result. So any call can fail the k-th time, be cut
// short or be counted, wherever it is made: in sley, in libc, in a sanitizer.
//
//   const scripted_calls script({{SYS_accept4}}, [](const system_call& call) -> long {
//     return is_the_third_time() ? -EMFILE : call.pass_on();
//   });
//
// Calls that are made with SIGSYS blocked end the process: calls between the making of a thread and
// its first instruction. So do calls of a program that the process becomes or starts.
#pragma once

#include <initializer_list>

namespace sley_test {

struct system_call {
  long number;
  unsigned long arguments[6];

  // Makes it. Its result, or an error below 0.
  long pass_on() const;
};

// Which calls; if it matters, only calls where the low half of one argument has this value in these
// bits.
struct call_pattern {
  long number;
  unsigned argument = 0;
  unsigned bits = 0;
  unsigned value = 0;
};

// While it lives, those calls are answered by the function, in a signal handler, by many threads at
// once: it uses atomics and pass_on() alone. One at a time. The filter stays, and passes on.
class scripted_calls {
 public:
  using answer = long (*)(const system_call&);

  scripted_calls(std::initializer_list<call_pattern> which, answer how);
  ~scripted_calls();
  scripted_calls(const scripted_calls&) = delete;
  scripted_calls& operator=(const scripted_calls&) = delete;

  // False if filters are refused here.
  bool works() const { return works_; }

 private:
  bool works_;
};

}  // namespace sley_test
