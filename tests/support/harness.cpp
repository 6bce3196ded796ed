#include "runtime/entry/enter.hpp"
#include "runtime/state/goroutine.hpp"
#include "support/harness.hpp"

#include "support/listener.hpp"

#include <algorithm>
#include <cstdlib>
#include <random>

namespace sley_test {

namespace rt = sley::rt;

std::chrono::seconds stress_duration() {
  const char* given = std::getenv("SLEY_STRESS_SECONDS");
  if (given == nullptr) return 5s;
  return std::chrono::seconds(std::max(1L, std::strtol(given, nullptr, 10)));
}

std::uint64_t seed() {
  static const std::uint64_t value = [] {
    if (const char* given = std::getenv("SLEY_TEST_SEED")) {
      return static_cast<std::uint64_t>(std::strtoull(given, nullptr, 10));
    }
    return static_cast<std::uint64_t>(std::random_device()());
  }();
  note_seed(value);
  return value;
}

random_source::random_source(std::uint64_t stream)
    : state_(seed() * 0x2545f4914f6cdd1dULL + stream * 0xd1342543de82ef95ULL) {}

std::uint64_t random_source::operator()() {
  state_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

const void* current_goroutine() noexcept { return rt::this_machine()->g; }

bool is_parked(const void* goroutine) noexcept {
  return static_cast<const rt::goroutine*>(goroutine)->status.is_waiting();
}

leak_check::leak_check() : before_(sley::runtime::num_goroutines()) {}

// A goroutine that has done its last visible thing still has to end, so this waits.
leak_check::~leak_check() {
  const bool same = eventually([this] { return sley::runtime::num_goroutines() <= before_; });
  EXPECT_TRUE(same) << "goroutines leaked: " << before_ << " before the test, "
                    << sley::runtime::num_goroutines() << " after it";
}

void run_on_main_goroutine(void (*body)()) {
  sley::run([body] {
    note_processors(sley::runtime::max_procs());
    leak_check check;
    body();
  });
}

void run_on_this_thread(void (*body)()) {
  leak_check check;
  note_processors(sley::runtime::max_procs());
  body();
}

}  // namespace sley_test
