// <sley/debug.hpp>: what a program sees of itself. Snapshots are whole, and the program goes on.
// The pages: tests/http/debug_pages_test.cpp.
#include "support/dump.hpp"
#include "support/harness.hpp"
#include "support/leak_search.hpp"
#include "support/text.hpp"
#include "support/threads.hpp"

#include <sley/debug.hpp>
#include <sley/os.hpp>

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using sley::chan;
using sley::debug::goroutine_info;
using sley::debug::goroutines;
using sley_test::eventually;
using sley_test::expect_frame;
using sley_test::find;
using sley_test::go_until_parked;
using sley_test::goroutines_in;
using sley_test::parks_here;
using sley_test::rounds;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;

namespace {

goroutine_info named(const std::vector<goroutine_info>& all, const std::string& name) {
  for (const goroutine_info& g : all) {
    if (g.name == name) return g;
  }
  ADD_FAILURE() << "no goroutine " << name << " among " << all.size();
  return {};
}

// All that is written to the descriptor that `write` gets.
template <class Write>
std::string written(const Write& write) {
  const int fd = ::memfd_create("dump", MFD_CLOEXEC);
  EXPECT_GE(fd, 0);
  write(fd);
  std::string text(static_cast<std::size_t>(::lseek(fd, 0, SEEK_END)), '\0');
  EXPECT_EQ(::pread(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  ::close(fd);
  return text;
}

// Computes until it goes.
class hog {
 public:
  explicit hog(const std::string& name) {
    group_.add(1);
    sley::go({.name = name}, [this] {
      while (!stops_) ++turns_;
      group_.done();
    });
    EXPECT_TRUE(eventually([this] { return turns_ > 0; }));
  }
  ~hog() {
    stops_ = true;
    group_.wait();
  }
  hog(const hog&) = delete;
  hog& operator=(const hog&) = delete;

  long turns() const { return turns_; }

 private:
  std::atomic<bool> stops_{false};
  std::atomic<long> turns_{0};
  sley::wait_group group_;
};

GO_TEST(debug, dumps_without_a_reader_end_quietly) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  ::close(ends[0]);
  sley::os::pipe_ends pipe = sley::os::pipe();
  pipe.reader.close();
  for (const int fd : {ends[1], pipe.writer.native_handle()}) {
    sley::debug::dump_goroutines(fd);
    sley::debug::dump_profile(fd);
  }
  ::close(ends[1]);
}

}  // namespace

GO_TEST(debug, a_goroutine_shows_its_state_creator_and_stack) {
  const chan<int> c;
  go_until_parked([c] {
    sley::go({.name = "receiver"}, [c] { c.receive(); });
    c.receive();
  });
  EXPECT_TRUE(eventually([] { return named(goroutines(), "receiver").state == "chan receive"; }));
  const std::vector<goroutine_info> all = goroutines();
  EXPECT_EQ(all.size(), sley::runtime::num_goroutines());
  const goroutine_info g = named(all, "receiver");
  EXPECT_NE(g.id, this_goroutine::id());
  EXPECT_GT(g.created_by, this_goroutine::id());
  EXPECT_NE(g.created_at, 0u);
  EXPECT_EQ(g.waiting, 0min);
  EXPECT_FALSE(g.is_locked_to_thread);
  EXPECT_GT(g.stack.size(), 1u);
  c.close();
}

GO_TEST(debug, a_goroutine_that_waits_names_the_object_and_its_holder) {
  sley::mutex m;
  sley::shared_mutex s;
  const chan<int> c;
  const chan<int> other;
  sley::wait_group group;
  sley::wait_group waiters;
  group.add(1);
  const auto wait_as = [&](const char* name, auto f) {
    waiters.add(1);
    sley::go({.name = name}, [&waiters, f] {
      f();
      waiters.done();
    });
  };
  m.lock();
  s.lock();
  wait_as("locker", [&] { const std::lock_guard lock(m); });
  wait_as("with a limit", [&] { const std::unique_lock lock(m, 1h); });
  wait_as("reader", [&] { const std::shared_lock lock(s); });
  wait_as("writer", [&] { const std::unique_lock lock(s); });
  wait_as("receiver", [c] { c.receive(); });
  wait_as("its peer", [c] { c.receive(); });
  wait_as("of group", [&] { group.wait(); });
  wait_as("of two", [c, other] { sley::select(sley::on_receive(c), sley::on_receive(other)); });
  wait_as("of two for an hour", [c, other] {
    sley::select(sley::on_receive(c), sley::on_receive(other), sley::on_timeout(1h));
  });
  wait_as("of one", [c, other] {
    sley::select(sley::on_receive(chan<int>(nullptr)), sley::on_receive(other));
  });
  wait_as("of many", [c] {
    sley::select_set many;
    for (int i = 0; i < 20; ++i) many.add_receive(c);
    many.wait();
  });

  struct waiter {
    const char* name;
    const char* state;
    const void* object;
    bool is_held;
  };
  const waiter all[] = {{"locker", "sync.Mutex.Lock", &m, true},
                        {"with a limit", "sync.Mutex.Lock", &m, true},
                        {"reader", "sync.RWMutex.RLock", &s, true},
                        {"writer", "sync.RWMutex.Lock", &s, true},
                        {"of group", "sync.WaitGroup.Wait", &group, false},
                        {"of two", "select", nullptr, false},
                        {"of two for an hour", "select", nullptr, false},
                        {"of many", "select", nullptr, false}};
  for (const waiter& w : all) {
    goroutine_info g;
    EXPECT_TRUE(eventually([&] { return (g = named(goroutines(), w.name)).state == w.state; }))
        << w.name << " is " << g.state;
    EXPECT_EQ(g.waits_for, reinterpret_cast<std::uintptr_t>(w.object)) << w.name;
    const bool is_known = w.is_held && sley::detail::checks_lock_owners;
    EXPECT_EQ(g.held_by, is_known ? this_goroutine::id() : 0) << w.name;
  }
  EXPECT_TRUE(eventually([] { return named(goroutines(), "its peer").waits_for != 0; }));
  const std::vector<goroutine_info> now = goroutines();
  EXPECT_EQ(named(now, "its peer").waits_for, named(now, "receiver").waits_for);
  EXPECT_EQ(named(now, "its peer").held_by, 0u);
  const std::vector<std::uintptr_t> both = named(now, "of two").waits_for_one_of;
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0], named(now, "receiver").waits_for);
  EXPECT_NE(both[1], both[0]);
  EXPECT_EQ(named(now, "of two for an hour").waits_for_one_of, both);
  EXPECT_EQ(named(now, "of one").waits_for, both[1]);
  EXPECT_EQ(named(now, "of many").waits_for_one_of.size(), 8u);
  EXPECT_TRUE(named(now, "receiver").waits_for_one_of.empty());

  m.unlock();
  s.unlock();
  c.close();
  other.close();
  group.done();
  waiters.wait();
}

GO_TEST(debug, the_caller_is_among_them_and_one_that_is_locked_says_so) {
  const sley::os_thread_lock lock;
  std::set<std::uint64_t> ids;
  for (const goroutine_info& g : goroutines()) {
    EXPECT_TRUE(ids.insert(g.id).second) << g.id << " twice";
    if (g.id != this_goroutine::id()) continue;
    EXPECT_TRUE(g.is_locked_to_thread);
    EXPECT_GT(g.stack.size(), 1u);
  }
  EXPECT_TRUE(ids.contains(this_goroutine::id()));
}

GO_TEST(debug, a_dump_has_the_layout_of_a_fatal_errors_and_the_program_goes_on) {
  const chan<int> c;
  sley_test::starts_one_here({.name = "g-parked"}, c);
  EXPECT_TRUE(eventually([] { return named(goroutines(), "g-parked").state == "chan receive"; }));
  const std::string text = written([](int fd) { sley::debug::dump_goroutines(fd); });
  const auto shown = goroutines_in(text);
  const auto& parked = find(shown, "\"g-parked\"");
  EXPECT_EQ(parked.state, "chan receive");
  expect_frame(parked, "parks_here");
  EXPECT_TRUE(parked.mentions("created by ")) << text;
  EXPECT_EQ(find(shown, "goroutine 1 ").id, 1);
  EXPECT_TRUE(std::ranges::is_sorted(shown, {}, &sley_test::shown_goroutine::id));
  c.close();
}

GO_TEST(debug, a_computing_goroutine_shows_its_stack_and_goes_on) {
  const hog busy("hog");
  for (int i = 0; i < rounds(50); ++i) {
    const goroutine_info g = named(goroutines(), "hog");
    EXPECT_TRUE(g.state == "running" || g.state == "runnable") << g.state;
    const long before = busy.turns();
    EXPECT_TRUE(eventually([&] { return busy.turns() != before; }));
  }
  EXPECT_TRUE(eventually([] { return named(goroutines(), "hog").stack.size() > 1; }));
}

// poll(2) would return EINTR.
GO_TEST(debug, a_sleeping_system_call_is_not_disturbed) {
  for (const bool is_announced : {true, false}) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    std::atomic<int> polled{0};
    std::atomic<bool> has_begun{false};
    const auto wait_for_byte = [&] {
      has_begun = true;
      pollfd p = {.fd = ends[0], .events = POLLIN, .revents = 0};
      return ::poll(&p, 1, -1) == 1 ? 1 : -errno;
    };
    sley::wait_group group;
    group.go([&] { polled = is_announced ? sley::blocking(wait_for_byte) : wait_for_byte(); });
    EXPECT_TRUE(eventually([&] { return has_begun.load(); }));
    for (int i = 0; i < rounds(50); ++i) EXPECT_GE(goroutines().size(), 2u);
    EXPECT_EQ(polled, 0);
    EXPECT_EQ(::write(ends[1], "x", 1), 1);
    group.wait();
    EXPECT_EQ(polled, 1);
    ::close(ends[0]);
    ::close(ends[1]);
  }
}

GO_TEST(debug, a_profile_groups_goroutines_at_the_same_place) {
  const chan<int> c;
  constexpr std::size_t count = 100;
  for (std::size_t i = 0; i < count; ++i) sley::go([c] { parks_here(c); });
  EXPECT_TRUE(eventually([&] {
    const auto profile = sley::debug::goroutine_profile();
    return profile.front().count == count && profile.front().state == "chan receive" &&
           profile.front().stack.size() > 1;
  }));
  // A goroutine that has printed may still be about to end.
  EXPECT_TRUE(eventually([] {
    std::size_t sum = 0;
    for (const auto& group : sley::debug::goroutine_profile()) sum += group.count;
    return sum == sley::runtime::num_goroutines();
  }));
  c.close();
}

// Goroutines start and none ends. The one that starts them must not end either: it was counted
// before.
GO_TEST(debug, none_is_left_out_while_many_start) {
  const chan<void> ends;
  std::atomic<int> started{0};
  const int count = rounds(20'000);
  sley::wait_group group;
  group.go([&] {
    while (started < count) {
      group.go([ends] { ends.receive(); });
      ++started;
    }
    ends.receive();
  });
  do {
    const std::size_t before = sley::runtime::num_goroutines();
    EXPECT_GE(goroutines().size(), before);
  } while (started < count);
  ends.close();
  group.wait();
}

// Each snapshot is whole while goroutines come, go, park, are preempted and change threads.
GO_TEST(debug, snapshots_are_taken_in_a_storm) {
  const hog busy("hog");
  std::atomic<bool> stops{false};
  const chan<int> c(4);
  sley::wait_group group;
  for (int i = 0; i < 8; ++i) {
    group.go([&, i] {
      while (!stops) {
        sley::wait_group inner;
        inner.go([&] { c.send(i); });
        inner.go([&] { c.receive(); });
        if (i == 0) sley::blocking([] { std::this_thread::yield(); });
        if (i == 1) {
          const sley::os_thread_lock lock;
          this_goroutine::yield();
        }
        inner.wait();
      }
    });
  }
  const auto take = [&] {
    for (int i = 0; i < rounds(30); ++i) {
      std::set<std::uint64_t> ids;
      for (const goroutine_info& g : goroutines()) {
        EXPECT_FALSE(g.state.empty());
        EXPECT_TRUE(ids.insert(g.id).second) << g.id << " twice";
      }
      EXPECT_GE(ids.size(), 9u);
    }
  };
  sley::wait_group takers;
  takers.go(take);
  takers.go(take);
  take();
  takers.wait();
  stops = true;
  group.wait();
}

// Two goroutines hand a ball to each other, and each has the number of its last turn for its name:
// at any one moment these are one apart. They are further apart in a snapshot only if the two went
// on between the looks at them. A turn takes longer than the barrier before a look, so that a
// goroutine that waits still does so after it, but not as long as the looks at one batch.
GO_TEST(debug, goroutines_run_while_others_that_wait_are_looked_at) {
  std::atomic<bool> stops{false};
  const auto play = [&stops](const chan<int>& in, const chan<int>& out) {
    while (const auto turn = in.receive()) {
      this_goroutine::set_name("turn " + std::to_string(*turn));
      if (stops) break;
      sley_test::compute_for(30us);
      out.send(*turn + 1);
    }
    out.close();
  };
  const chan<int> there;
  const chan<int> back;
  const chan<void> ends;
  sley::wait_group group;
  group.go([&] { play(there, back); });
  for (int i = 0; i < rounds(3'000); ++i) group.go([ends] { ends.receive(); });
  group.go([&] { play(back, there); });
  there.send(1);
  EXPECT_TRUE(eventually([&] {
    std::vector<int> turns;
    for (const goroutine_info& g : goroutines()) {
      if (g.name.starts_with("turn ")) turns.push_back(std::stoi(g.name.substr(5)));
    }
    return turns.size() == 2 && std::abs(turns[0] - turns[1]) > 1;
  }));
  stops = true;
  ends.close();
  group.wait();
}

// They get names, change them and end in user code, where a snapshot finds them running.
GO_TEST(debug, names_are_whole_while_goroutines_end) {
  const std::set<std::string> names = {"", "its first name", "another",
                                       "a name of 31 bytes, the longest"};
  std::set<std::uint64_t> older;
  for (const goroutine_info& g : goroutines()) older.insert(g.id);
  std::atomic<bool> stops{false};
  sley::wait_group group;
  for (int i = 0; i < 4; ++i) {
    group.go([&] {
      while (!stops) {
        const chan<void> done;
        sley::go({.name = "its first name"}, [names, done] {
          for (const std::string& name : names) this_goroutine::set_name(name);
          done.close();
        });
        done.receive();
      }
    });
  }
  for (int i = 0; i < rounds(20); ++i) {
    for (const goroutine_info& g : goroutines()) {
      EXPECT_TRUE(older.contains(g.id) || names.contains(g.name)) << g.name;
    }
  }
  stops = true;
  group.wait();
}

FOREIGN_TEST(debug, a_thread_may_ask_as_well) {
  const chan<int> c;
  sley::go({.name = "waits"}, [c] { c.receive(); });
  EXPECT_TRUE(eventually([] { return named(goroutines(), "waits").state == "chan receive"; }));
  EXPECT_NE(written([](int fd) { sley::debug::dump_goroutines(fd); }).find("\"waits\""),
            std::string::npos);
  c.close();
}

// M1, M2, as far as leaks are found without a garbage collector. Goroutines that wait for ever stay
// until the process ends: a repetition of the test finds those from before.
TEST(debug, goroutines_that_can_never_go_on_are_leaks_except_main) {
  NEEDS_A_LEAK_SEARCH_OR_SANITIZER();
  static std::size_t from_before = 0;
  sley::run([] {
    const auto leaks = [] {
      std::vector<goroutine_info> all = sley::debug::leaks();
      std::ranges::sort(all, {}, &goroutine_info::id);
      EXPECT_GE(all.size(), from_before);
      const std::size_t old = std::min(from_before, all.size());
      all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(old));
      return all;
    };
    EXPECT_TRUE(leaks().empty());
    const chan<int> held;
    sley::go({.name = "receives"}, [] { chan<int>(nullptr).receive(); });
    sley::go({.name = "sends"}, [] { chan<int>(nullptr).send(1); });
    sley::go({.name = "blocks"}, [] { sley::block_forever(); });
    go_until_parked([held] { held.receive(); });
    EXPECT_TRUE(eventually([&] { return leaks().size() == 3; }));
    for (const char* name : {"receives", "sends", "blocks"}) named(leaks(), name);
    held.close();
  });
  from_before += 3;
}
