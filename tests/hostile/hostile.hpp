// Calls of public functions with extreme arguments.
//
//   CALLS(endpoint, "net::endpoint::endpoint(string_view ip, uint16_t port)") {
//     use(net::endpoint(x.text("127.0.0.1"), x.number<std::uint16_t>(80)));
//   }
//
// is a test. Its body runs again and again: each request of `x` for an argument is answered with
// the usual value at first, then with one extreme after another, in all combinations as long as
// they are few. A call may return, or throw what derives from std::exception and says clearly what
// is wrong; it may not lose a descriptor or a goroutine. The sanitizers' builds look for the rest.
//
// The texts are the functions that the body calls, as declarations.py reads the headers.
// tables_test.py fails for a public function that no such text names.
#pragma once

#include "support/harness.hpp"

#include <sley/sley.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

namespace sley_hostile {

using namespace std::chrono_literals;

// What the argument is, so that a failure can say it.
std::string shown(std::string_view text);

// The arguments of one round of calls.
class arguments {
 public:
  // Views into texts that live as long as the program.
  std::string_view text(std::string_view usual);
  std::string string(std::string_view usual) { return std::string(text(usual)); }

  // The least and the greatest number, those beside zero, and what overflows when one is added or
  // it is multiplied.
  template <class T>
  T number(T usual) {
    using limits = std::numeric_limits<T>;
    return pick<T>({usual, T{0}, T{1}, static_cast<T>(T{0} - T{1}), limits::min(), limits::max(),
                    static_cast<T>(limits::max() - T{1}), static_cast<T>(limits::max() / 2)});
  }
  double real(double usual);
  // A count that stands for memory: none that could be had on some machine, and is not on others.
  std::size_t capacity(std::size_t usual);

  std::chrono::nanoseconds duration(std::chrono::nanoseconds usual = 0ns);
  sley::time_point time(sley::time_point usual = sley::time_point());
  // An enumerator, or a number that is none.
  template <class E>
  E enumerator(E usual) {
    using number_type = std::underlying_type_t<E>;
    return static_cast<E>(number(static_cast<number_type>(usual)));
  }

  // No descriptor, a closed one, and open ones of all kinds. The round closes what is still open.
  int descriptor();
  // Empty ones with and without an address, of a byte, of many.
  std::span<std::byte> buffer();
  std::span<const std::byte> bytes() { return buffer(); }

  // For a function that sets it: it is something else at first.
  std::error_code& error();
  // The goroutines that the round leaves waiting for ever, because nothing ends what they do.
  void abandon(int goroutines) { abandoned_ += goroutines; }

  template <class T>
  T pick(std::initializer_list<T> choices) {
    const std::size_t i = choose(choices.size());
    if constexpr (std::is_arithmetic_v<T>) note(std::to_string(choices.begin()[i]));
    return choices.begin()[i];
  }

 private:
  friend void call_with_extremes(const char* functions, void (*body)(arguments&));

  std::size_t choose(std::size_t count);
  void note(const std::string& text) { notes_.push_back(text); }

  // As far as the round has come, and which choice each request gets.
  std::size_t requests_ = 0;
  std::vector<std::size_t> choice_, counts_;
  std::vector<std::string> notes_;
  std::vector<std::byte> room_;
  std::vector<int> open_;
  std::error_code error_;
  bool asked_for_error_ = false;
  int abandoned_ = 0;
};

// What CALLS does.
void call_with_extremes(const char* functions, void (*body)(arguments&));

// The result, that no compiler leaves the call out.
template <class T>
void use(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

// Sets one of the stream's deadlines.
template <class Stream>
void set_a_deadline(arguments& x, Stream& s) {
  const sley::time_point when = x.time();
  switch (x.pick<int>({0, 1, 2})) {
    case 0: s.set_deadline(when); break;
    case 1: s.set_read_deadline(when); break;
    default: s.set_write_deadline(when);
  }
}

// Runs f, and `end` if f has parked. `end` must not wait for f, because a short time may be over by
// then.
template <class F, class End>
void ended_by(F f, End end) {
  sley::chan<void> done;
  std::exception_ptr error;
  sley_test::go_until_parked_or_ended([&, done] {
    try {
      f();
    } catch (const std::exception&) {
      error = std::current_exception();
    }
    done.close();
  });
  if (!done.closed()) end();
  done.receive();
  if (error) std::rethrow_exception(error);
}

}  // namespace sley_hostile

#define CALLS(name, ...)                                           \
  static void calls_##name(sley_hostile::arguments& x);            \
  TEST(SLEY_HOSTILE_HEADER, name) {                                \
    sley_hostile::call_with_extremes(#__VA_ARGS__, &calls_##name); \
  }                                                                \
  static void calls_##name([[maybe_unused]] sley_hostile::arguments& x)
