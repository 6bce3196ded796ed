// Exceptions and parking: a goroutine that parks inside a handler, or in a destructor while the
// stack is unwound, and resumes on another thread, finds its own exception there and no other
// goroutine's. The threads' ids are asked of the kernel: pthread_self and thread-locals may be
// remembered by compilers.
#include "support/counted.hpp"
#include "support/harness.hpp"

#include <atomic>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

using sley::chan;
using sley_test::counted;
using sley_test::eventually;
using sley_test::random_source;
using sley_test::rounds;
using namespace std::chrono_literals;

namespace {

long native_id() { return ::syscall(SYS_gettid); }

class numbered : public std::runtime_error {
 public:
  explicit numbered(int n) : std::runtime_error("number " + std::to_string(n)), number(n) {}
  int number;
};

std::atomic<int> migrations{0};

// Parks in one of several ways, likely to come back on another thread.
void park_somehow(random_source& random) {
  const long before = native_id();
  switch (random.below(3)) {
    case 0: sley::this_goroutine::yield(); break;
    case 1: sley::this_goroutine::sleep_for(random.index(50) * 1us); break;
    default: {
      chan<int> c;
      sley::go([c] { c.send(1); });
      EXPECT_EQ(c.receive(), 1);
    }
  }
  if (native_id() != before) ++migrations;
}

// Parks while the stack is unwound, and expects the figures that it had before.
struct parks_when_destroyed {
  random_source& random;
  ~parks_when_destroyed() {
    const int uncaught = std::uncaught_exceptions();
    EXPECT_EQ(uncaught, 1);
    park_somehow(random);
    EXPECT_EQ(std::uncaught_exceptions(), uncaught);
  }
};

[[gnu::noinline]] void throw_below(int depth, int number, random_source& random) {
  const parks_when_destroyed parks{random};
  if (depth == 0) throw numbered(number);
  throw_below(depth - 1, number, random);
}

void expect_current(int number) {
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const numbered& error) {
    EXPECT_EQ(error.number, number);
  }
}

// Throws through ten frames that park, and parks in the handler.
void throw_catch_and_park(int number, random_source& random) {
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  EXPECT_EQ(std::current_exception(), nullptr);
  try {
    throw_below(10, number, random);
    ADD_FAILURE() << "nothing thrown";
  } catch (const numbered& error) {
    EXPECT_EQ(error.number, number);
    park_somehow(random);
    EXPECT_EQ(error.what(), "number " + std::to_string(number));
    EXPECT_EQ(std::uncaught_exceptions(), 0);
    expect_current(number);
    park_somehow(random);
    expect_current(number);
  }
  EXPECT_EQ(std::current_exception(), nullptr);
}

void in_many_goroutines(int count, void (*body)(int number, random_source& random)) {
  sley::wait_group group;
  for (int i = 0; i < count; ++i) {
    group.go([i, body] {
      random_source random(static_cast<std::uint64_t>(i));
      for (int lap = 0; lap < 5; ++lap) body(i * 10 + lap, random);
    });
  }
  group.wait();
}

}  // namespace

GO_TEST(exceptions, stay_right_across_parks_and_migrations) {
  migrations = 0;
  in_many_goroutines(rounds(1000), throw_catch_and_park);
  if (sley::runtime::max_procs() > 1) {
    EXPECT_GT(migrations, 0) << "no goroutine resumed on another thread: nothing has been tested";
  }
}

// Goroutines whose last park was in a handler leave nothing of it to later goroutines.
GO_TEST(exceptions, a_new_goroutine_begins_without_any) {
  for (int round = 0; round < 3; ++round) {
    in_many_goroutines(100, [](int number, random_source& random) {
      EXPECT_EQ(std::current_exception(), nullptr);
      EXPECT_EQ(std::uncaught_exceptions(), 0);
      try {
        throw numbered(number);
      } catch (const numbered&) {
        park_somehow(random);
      }
    });
  }
}

// A handler inside a handler, with a park at each step.
GO_TEST(exceptions, nested_handlers_each_keep_their_own) {
  in_many_goroutines(rounds(500), [](int number, random_source& random) {
    try {
      throw numbered(number);
    } catch (const numbered& outer) {
      park_somehow(random);
      try {
        throw numbered(-number);
      } catch (const numbered& inner) {
        park_somehow(random);
        EXPECT_EQ(inner.number, -number);
        expect_current(-number);
      }
      EXPECT_EQ(outer.number, number);
      expect_current(number);
      park_somehow(random);
      expect_current(number);
    }
    EXPECT_EQ(std::current_exception(), nullptr);
  });
}

// A destructor that throws and catches on its own while another exception unwinds.
GO_TEST(exceptions, one_may_be_handled_while_another_unwinds) {
  struct throws_and_catches {
    int number;
    random_source& random;
    ~throws_and_catches() {
      EXPECT_EQ(std::uncaught_exceptions(), 1);
      try {
        park_somehow(random);
        throw numbered(-number);
      } catch (const numbered& error) {
        park_somehow(random);
        EXPECT_EQ(error.number, -number);
        EXPECT_EQ(std::uncaught_exceptions(), 1);
      }
      park_somehow(random);
      EXPECT_EQ(std::uncaught_exceptions(), 1);
    }
  };
  in_many_goroutines(rounds(500), [](int number, random_source& random) {
    try {
      const throws_and_catches guard{number, random};
      throw numbered(number);
    } catch (const numbered& error) {
      EXPECT_EQ(error.number, number);
    }
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  });
}

GO_TEST(exceptions, may_be_rethrown_after_a_park) {
  in_many_goroutines(rounds(500), [](int number, random_source& random) {
    int passed = 0;
    try {
      try {
        try {
          throw numbered(number);
        } catch (...) {
          park_somehow(random);
          ++passed;
          throw;
        }
      } catch (const numbered&) {
        park_somehow(random);
        ++passed;
        std::throw_with_nested(std::logic_error("outer"));
      }
    } catch (const std::logic_error& outer) {
      park_somehow(random);
      try {
        std::rethrow_if_nested(outer);
      } catch (const numbered& inner) {
        EXPECT_EQ(inner.number, number);
        ++passed;
      }
    }
    EXPECT_EQ(passed, 3);
  });
}

// Exceptions travel as pointers; the last holder destroys them, wherever it runs.
GO_TEST(exceptions, travel_through_channels_and_are_destroyed_once) {
  const sley_test::counted_check check;
  chan<std::exception_ptr> errors(4);
  constexpr int senders = 8;
  const int each = rounds(500);
  sley::wait_group group;
  for (int s = 0; s < senders; ++s) {
    group.go([=] {
      for (int i = 0; i < each; ++i) {
        try {
          throw counted(s * each + i);
        } catch (...) {
          errors.send(std::current_exception());
        }
      }
    });
  }
  sley::go([&, errors] {
    group.wait();
    errors.close();
  });
  std::vector<bool> seen(static_cast<std::size_t>(senders * each));
  // Kept until the senders are done: dropping the last reference frees the exception, and the
  // thread sanitizer does not see how the C++ library counts.
  std::vector<std::exception_ptr> received;
  for (const std::exception_ptr& error : errors) {
    received.push_back(error);
    try {
      std::rethrow_exception(error);
    } catch (const counted& value) {
      sley::this_goroutine::yield();
      EXPECT_FALSE(seen.at(static_cast<std::size_t>(value.value())));
      seen.at(static_cast<std::size_t>(value.value())) = true;
    }
  }
  for (const bool one : seen) EXPECT_TRUE(one);
}

// One exception, held and handled by many goroutines at the same time.
GO_TEST(exceptions, one_may_be_handled_by_many_goroutines_at_once) {
  const auto shared = std::make_exception_ptr(numbered(77));
  sley::wait_group group;
  for (int g = 0; g < rounds(500); ++g) {
    group.go([shared, g] {
      random_source random(static_cast<std::uint64_t>(g));
      try {
        std::rethrow_exception(shared);
      } catch (const numbered& error) {
        park_somehow(random);
        EXPECT_EQ(error.number, 77);
        expect_current(77);
      }
    });
  }
  group.wait();
}

// exit() from inside handlers and while others unwind.
GO_TEST(exceptions, exit_inside_handlers_disturbs_no_other_goroutine) {
  sley::wait_group group;
  std::atomic<int> ended{0};
  for (int g = 0; g < rounds(1000); ++g) {
    group.go([g, &ended] {
      random_source random(static_cast<std::uint64_t>(g));
      struct counts {
        std::atomic<int>& n;
        ~counts() { ++n; }
      } const guard{ended};
      try {
        throw numbered(g);
      } catch (const numbered&) {
        park_somehow(random);
        if (g % 2 == 0) sley::this_goroutine::exit();
        expect_current(g);
      }
      EXPECT_EQ(std::current_exception(), nullptr);
      EXPECT_EQ(std::uncaught_exceptions(), 0);
    });
  }
  group.wait();
  EXPECT_EQ(ended, rounds(1000));
}
