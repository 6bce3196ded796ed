// debug::leaks names goroutines that can never go on, in the shapes of leaks that GoKer and papers
// about leaks of Go programs have, some of which are in simulation/corpus_channels.cpp as well. It
// names no goroutine that can go on, whatever way it is reached. From Go's
// TestGoroutineLeakProfile.
#include "support/harness.hpp"
#include "support/leak_search.hpp"

#include <sley/debug.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <memory_resource>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using sley::chan;
using sley::context;
using sley_test::eventually;

std::multiset<std::string> names_of_leaks() {
  std::multiset<std::string> names;
  for (const sley::debug::goroutine_info& g : sley::debug::leaks()) {
    EXPECT_TRUE(g.is_leaked);
    if (!g.name.empty()) names.insert(g.name);
  }
  return names;
}

// Runs f in a goroutine of its own, which leaves nothing on the caller's stack.
void apart(const std::function<void()>& f) {
  sley::wait_group all;
  all.go(f);
  all.wait();
}

// ---- leaks ----

struct shape {
  const char* name;
  std::size_t count;  // how many goroutines of that name are leaked
  void (*run)(const sley::go_options& as);
};

// The receiver has given up. (early return, "premature")
void early_return(const sley::go_options& as) {
  const chan<int> answer(0);
  sley::go(as, [answer] { answer.send(1); });
}

// A second value for one receiver.
void sent_twice(const sley::go_options& as) {
  const chan<int> c(0);
  sley::go(as, [c] {
    c.send(1);
    c.send(2);
  });
  c.receive();
}

// Loops over a channel that is not closed. (missing close)
void never_closed(const sley::go_options& as) {
  const chan<int> jobs(4);
  for (int i = 0; i < 3; ++i) {
    sley::go(as, [jobs] {
      for ([[maybe_unused]] const int job : jobs) {
      }
    });
  }
  jobs.send(1);
}

// Only the first of several answers is taken. (NCast)
void first_answer(const sley::go_options& as) {
  const chan<int> answers(0);
  for (int i = 0; i < 3; ++i) sley::go(as, [answers, i] { answers.send(i); });
  answers.receive();
}

// The channel is full, and has no receiver.
void full_buffer(const sley::go_options& as) {
  const chan<int> c(1);
  c.send(1);
  sley::go(as, [c] { c.send(2); });
}

void forgotten_context(const sley::go_options& as) {
  const auto [ctx, cancel] = sley::with_cancel(context());
  sley::go(as, [held = ctx] { held.done().receive(); });
}

void forgotten_context_below_another(const sley::go_options& as) {
  const auto [above, cancel_above] = sley::with_cancel(context());
  const auto [ctx, cancel] = sley::with_cancel(above);
  sley::go(as, [held = ctx] { held.done().receive(); });
}

void select_of_two(const sley::go_options& as) {
  const chan<int> in(0);
  const chan<int> out(0);
  sley::go(as,
           [in, out] { sley::select(sley::on_receive(in, [](auto) {}), sley::on_send(out, 1)); });
}

void select_with_forgotten_context(const sley::go_options& as) {
  const chan<int> in(0);
  const auto [ctx, cancel] = sley::with_cancel(context());
  sley::go(as, [in, held = ctx] {
    sley::select(sley::on_receive(in, [](auto) {}), sley::on_receive(held.done(), [](auto) {}));
  });
}

// Each waits for a channel that only the other one has. (cycle)
void cycle_of_channels(const sley::go_options& as) {
  const chan<int> a(0);
  const chan<int> b(0);
  sley::go(as, [a, b] {
    a.receive();
    b.send(1);
  });
  sley::go(as, [a, b] {
    b.receive();
    a.send(1);
  });
}

// Two locks in two orders. (ABBA, "cyclic")
void cycle_of_locks(const sley::go_options& as) {
  sley::go(as, [as] {
    sley::mutex a;
    sley::mutex b;
    const chan<void> both(0);
    a.lock();
    sley::go(as, [&a, &b, both] {
      b.lock();
      both.send();
      a.lock();
    });
    both.receive();
    b.lock();
  });
}

// The lock's holder waits for ever, and so does the next one.
void never_unlocked(const sley::go_options& as) {
  sley::go(as, [as] {
    sley::mutex m;
    m.lock();
    sley::wait_group none;
    none.add(1);
    sley::go(as, [&m] { m.lock(); });
    none.wait();
  });
}

// The condition is signalled before the wait.
void lost_signal(const sley::go_options& as) {
  sley::go(as, [] {
    sley::mutex m;
    sley::condition_variable changed;
    std::unique_lock lock(m);
    changed.notify_one();
    changed.wait(lock);
  });
}

void too_few_done(const sley::go_options& as) {
  sley::go(as, [] {
    sley::wait_group all;
    all.add(2);
    sley::go([&all] { all.done(); });
    all.wait();
  });
}

void no_permit(const sley::go_options& as) {
  sley::go(as, [] {
    sley::counting_semaphore<> permits(0);
    permits.acquire();
  });
}

// The goroutine that was to bring the result waits for ever.
void no_result(const sley::go_options& as) {
  sley::promise<int> result;
  sley::go(as, [f = result.get_future()]() mutable { f.get(); });
  sley::go(as, [p = std::move(result)]() mutable { p.set_value(*chan<int>(0).receive()); });
}

// Each brings the result that the other one waits for.
void cycle_of_futures(const sley::go_options& as) {
  sley::promise<int> a;
  sley::promise<int> b;
  sley::future<int> of_a = a.get_future();
  sley::future<int> of_b = b.get_future();
  sley::go(as, [p = std::move(a), f = std::move(of_b)]() mutable { p.set_value(f.get()); });
  sley::go(as, [p = std::move(b), f = std::move(of_a)]() mutable { p.set_value(f.get()); });
}

void own_promise(const sley::go_options& as) {
  sley::go(as, [] {
    sley::promise<std::string> p;
    p.get_future().get();
  });
}

// A stage of a pipeline whose reader is gone holds up the stages before it.
void abandoned_pipeline(const sley::go_options& as) {
  const chan<int> first(0);
  const chan<int> second(0);
  sley::go(as, [first] {
    for (int i = 0;; ++i) first.send(i);
  });
  sley::go(as, [first, second] {
    for (const int i : first) second.send(i);
  });
  second.receive();
}

void nil_channel(const sley::go_options& as) {
  sley::go(as, [] { chan<int>(nullptr).receive(); });
}

void no_case(const sley::go_options& as) {
  sley::go(as, [] { sley::block_forever(); });
}

constexpr shape shapes[] = {
    {"early_return", 1, &early_return},
    {"sent_twice", 1, &sent_twice},
    {"never_closed", 3, &never_closed},
    {"first_answer", 2, &first_answer},
    {"full_buffer", 1, &full_buffer},
    {"forgotten_context", 1, &forgotten_context},
    {"forgotten_context_below_another", 1, &forgotten_context_below_another},
    {"select_of_two", 1, &select_of_two},
    {"select_with_forgotten_context", 1, &select_with_forgotten_context},
    {"cycle_of_channels", 2, &cycle_of_channels},
    {"cycle_of_locks", 2, &cycle_of_locks},
    {"never_unlocked", 2, &never_unlocked},
    {"lost_signal", 1, &lost_signal},
    {"too_few_done", 1, &too_few_done},
    {"no_permit", 1, &no_permit},
    {"no_result", 2, &no_result},
    {"cycle_of_futures", 2, &cycle_of_futures},
    {"own_promise", 1, &own_promise},
    {"abandoned_pipeline", 2, &abandoned_pipeline},
    {"nil_channel", 1, &nil_channel},
    {"no_case", 1, &no_case},
};

// Leaks that have another name each time, until all goroutines of one are found. What freed memory
// has left may be taken for a pointer to a channel, and then some are missed.
bool is_found(const shape& s) {
  static int repetition = 0;
  for (int tries = 0; tries < 20; ++tries) {
    const std::string name = std::string(s.name).substr(0, 24) + std::to_string(++repetition);
    apart([&] { s.run({.name = name}); });
    for (int looks = 0; looks < 5; ++looks) {
      sley_test::let_others_run();
      if (names_of_leaks().count(name) == s.count) return true;
    }
  }
  return false;
}

// The goroutines stay until the process ends.
TEST(leaks, finds_each_shape) {
  NEEDS_A_LEAK_SEARCH();
  sley::run([] {
    for (const shape& s : shapes) EXPECT_TRUE(is_found(s)) << s.name;
  });
}

// ---- what keeps a goroutine alive ----

chan<int>& global_channel() {
  static chan<int> c(0);
  return c;
}
thread_local chan<int> channel_of_thread(nullptr);

// Goroutines that wait for what is reached in some way, and are let go at the end.
class living {
 public:
  chan<int> receiver() {
    const chan<int> c(0);
    ++begun_;
    all_.go([c, this] {
      sley::this_goroutine::set_name("living");
      has_begun_ += 1;
      c.receive();
    });
    return c;
  }
  // Several looks: none names one of them.
  void expect_none_is_leaked(const char* where) {
    EXPECT_TRUE(eventually([this] { return has_begun_ == begun_; }));
    sley_test::let_others_run();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(names_of_leaks().count("living"), 0U) << where;
  }
  void wait() { all_.wait(); }

 private:
  int begun_ = 0;
  std::atomic<int> has_begun_{0};
  sley::wait_group all_;
};

GO_TEST(leaks, a_global_variable_keeps_a_receiver) {
  NEEDS_A_LEAK_SEARCH();
  living l;
  apart([&] { global_channel() = l.receiver(); });
  l.expect_none_is_leaked("global");
  global_channel().close();
  l.wait();
  global_channel() = chan<int>(0);
}

GO_TEST(leaks, the_heap_keeps_a_receiver) {
  NEEDS_A_LEAK_SEARCH();
  living l;
  std::unique_ptr<std::vector<chan<int>>> held;
  apart([&] { held = std::make_unique<std::vector<chan<int>>>(100, l.receiver()); });
  l.expect_none_is_leaked("heap");
  held->front().close();
  l.wait();
}

GO_TEST(leaks, another_stack_keeps_a_receiver) {
  NEEDS_A_LEAK_SEARCH();
  living l;
  sley::wait_group sleepers;
  const chan<void> stop(0);
  sleepers.go([&l, stop] {
    const chan<int> mine = l.receiver();
    while (stop.try_receive_for(10ms) == sley::chan_status::timeout) {
    }
    mine.close();
  });
  l.expect_none_is_leaked("stack");
  stop.close();
  l.wait();
  sleepers.wait();
}

GO_TEST(leaks, a_task_that_has_not_begun_keeps_a_receiver) {
  NEEDS_A_LEAK_SEARCH();
  living l;
  std::array<char, 200> large{};
  apart([&] {
    const chan<int> small = l.receiver();
    const chan<int> boxed = l.receiver();
    sley::after_func(300ms, [small] { small.close(); });
    sley::after_func(300ms, [boxed, large] { large[0] == 0 ? boxed.close() : void(); });
  });
  l.expect_none_is_leaked("task");
  l.wait();
}

GO_TEST(leaks, a_value_in_a_channel_keeps_a_receiver) {
  NEEDS_A_LEAK_SEARCH();
  living l;
  const chan<chan<int>> carrier(1);
  apart([&] { carrier.send(l.receiver()); });
  l.expect_none_is_leaked("channel");
  carrier.receive()->close();
  l.wait();
}

GO_TEST(leaks, a_timer_a_deadline_and_a_context_that_is_held_keep_their_waiters) {
  NEEDS_A_LEAK_SEARCH();
  living l;
  sley::wait_group all;
  auto [ctx, cancel] = sley::with_cancel(context());
  const auto [late, cancel_late] = sley::with_timeout(context(), 1h);
  const auto named = [&](auto f) {
    all.go([f] {
      sley::this_goroutine::set_name("living");
      f();
    });
  };
  named([] { sley::after(300ms).receive(); });
  named([] {
    int value = 0;
    static_cast<void>(chan<int>(0).try_receive_for(value, 300ms));
  });
  named([held = ctx] { held.done().receive(); });
  named([below = sley::with_cancel(ctx).first] { below.done().receive(); });
  named([below = sley::with_cancel(ctx).first] {
    std::error_code error;
    chan<int>(0).receive(below, error);
  });
  named([held = late] { held.done().receive(); });
  named([] {
    sley::counting_semaphore<> permits(0);
    static_cast<void>(permits.try_acquire_for(300ms));
  });
  std::stop_source stop;
  named([by_token = sley::with_stop_token(context(), stop.get_token())] {
    by_token.done().receive();
  });
  l.expect_none_is_leaked("time");
  stop.request_stop();
  cancel();
  cancel_late();
  all.wait();
}

GO_TEST(leaks, the_stack_and_the_variables_of_a_thread_keep_receivers) {
  NEEDS_A_LEAK_SEARCH();
  living l;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  chan<int> first(nullptr);
  chan<int> second(nullptr);
  apart([&] {
    first = l.receiver();
    second = l.receiver();
  });
  std::thread thread([a = std::move(first), b = std::move(second), fd = ends[0]]() mutable {
    channel_of_thread = std::move(a);
    const chan<int> on_stack = std::move(b);
    char byte;
    EXPECT_EQ(::read(fd, &byte, 1), 1);
    on_stack.close();
    channel_of_thread.close();
    channel_of_thread = chan<int>(nullptr);
  });
  l.expect_none_is_leaked("thread");
  EXPECT_EQ(::write(ends[1], "x", 1), 1);
  l.wait();
  thread.join();
  ::close(ends[0]);
  ::close(ends[1]);
}

GO_TEST(leaks, a_goroutine_that_computes_or_blocks_its_thread_keeps_receivers) {
  NEEDS_A_LEAK_SEARCH();
  living l;
  std::atomic<bool> stop{false};
  sley::wait_group all;
  all.go([&] {
    const chan<int> c = l.receiver();
    while (!stop) {
    }
    c.close();
  });
  all.go([&] {
    const chan<int> c = l.receiver();
    while (!stop) ::usleep(1000);
    c.close();
  });
  all.go([&] {
    const chan<int> c = l.receiver();
    sley::blocking([&] {
      while (!stop) ::usleep(1000);
    });
    c.close();
  });
  l.expect_none_is_leaked("computes");
  stop = true;
  l.wait();
  all.wait();
}

GO_TEST(leaks, a_mutex_in_an_object_keeps_its_waiters) {
  NEEDS_A_LEAK_SEARCH();
  struct account {
    std::array<char, 5000> before{};
    sley::mutex guard;
  };
  static const std::unique_ptr<account> held = std::make_unique<account>();
  sley::wait_group all;
  held->guard.lock();
  all.go([] {
    sley::this_goroutine::set_name("living");
    const std::lock_guard guard(held->guard);
  });
  sley_test::let_others_run();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(names_of_leaks().count("living"), 0U);
  held->guard.unlock();
  all.wait();
}

// Waits for the result that a promise brings.
template <class R>
void wait_for(sley::wait_group& all, sley::promise<R>& p) {
  all.go([f = p.get_future()]() mutable {
    sley::this_goroutine::set_name("living");
    f.get();
  });
}

// The promise is a local variable, of which a compiler keeps what it needs.
template <class R>
void bring_late(const chan<void>& stop, sley::wait_group& all) {
  sley::promise<R> p;
  wait_for(all, p);
  while (stop.try_receive_for(10ms) == sley::chan_status::timeout) {
  }
  p.set_value({});
}

template <std::size_t Bytes>
struct alignas(Bytes) aligned {
  int value = 0;
};

GO_TEST(leaks, owners_of_a_result_keep_its_waiters) {
  NEEDS_A_LEAK_SEARCH();
  sley::wait_group all;
  const chan<void> stop(0);
  all.go([&] { bring_late<int>(stop, all); });
  all.go([&] { bring_late<std::array<char, 5000>>(stop, all); });
  all.go([&] { bring_late<aligned<128>>(stop, all); });
  const auto by_allocator = std::make_unique<sley::promise<int>>(
      std::allocator_arg, std::pmr::polymorphic_allocator<int>());
  const auto on_heap = std::make_unique<sley::promise<int>>();
  wait_for(all, *by_allocator);
  wait_for(all, *on_heap);
  const auto of_goroutine = sley::async([stop] { stop.receive(); }).share();
  for (int i = 0; i < 2; ++i) {
    all.go([of_goroutine] {
      sley::this_goroutine::set_name("living");
      of_goroutine.get();
    });
  }
  sley::packaged_task<int()> task([] { return 1; });
  all.go([f = task.get_future()]() mutable {
    sley::this_goroutine::set_name("living");
    f.get();
  });
  for (int i = 0; i < 3; ++i) {
    sley_test::let_others_run();
    EXPECT_EQ(names_of_leaks().count("living"), 0U);
  }
  stop.close();
  by_allocator->set_value(1);
  on_heap->set_value(1);
  task();
  all.wait();
}

// An owner of a state that holds the address of the count of owners alone: a compiler may keep no
// more in a function that makes the state. The state's own address is inverted here, which hides it
// from the search.
class waiter_with_counted_owner {
 public:
  template <class R>
  void start(sley::wait_group& all) {
    apart([&] {
      using state = sley::detail::future_state<R>;
      auto made = std::make_shared<state>();
      hidden_ = ~reinterpret_cast<std::uintptr_t>(made.get());
      end_ = [](std::uintptr_t hidden) { reinterpret_cast<state*>(~hidden)->done.set(); };
      owner_ = std::shared_ptr<void>(made, nullptr);
      all.go([made = std::move(made)] {
        sley::this_goroutine::set_name("living");
        made->done.wait();
      });
    });
  }
  void end() { end_(hidden_); }

 private:
  std::shared_ptr<void> owner_;
  std::uintptr_t hidden_ = 0;
  void (*end_)(std::uintptr_t) = nullptr;
};

GO_TEST(leaks, the_count_of_a_results_owners_keeps_its_waiters) {
  NEEDS_A_LEAK_SEARCH();
  sley::wait_group all;
  const auto waiters = std::make_unique<std::array<waiter_with_counted_owner, 4>>();
  waiters->at(0).start<int>(all);
  waiters->at(1).start<aligned<16>>(all);
  waiters->at(2).start<aligned<32>>(all);
  waiters->at(3).start<aligned<128>>(all);
  for (int i = 0; i < 3; ++i) {
    sley_test::let_others_run();
    EXPECT_EQ(names_of_leaks().count("living"), 0U);
  }
  for (waiter_with_counted_owner& w : *waiters) w.end();
  all.wait();
}

// The only handle of each receiver's channel is always on the move: from a stack to the heap, into
// a channel and out of it, by goroutines and by threads.
GO_TEST(leaks, handles_on_the_move_keep_receivers) {
  NEEDS_A_LEAK_SEARCH();
  living l;
  std::atomic<bool> stop{false};
  const chan<chan<int>> ring(4);
  apart([&] {
    for (int i = 0; i < 4; ++i) ring.send(l.receiver());
  });
  const auto move = [&stop, ring] {
    std::vector<std::unique_ptr<chan<int>>> slots(16);
    for (std::size_t i = 0; !stop; ++i) {
      chan<int> c = *ring.receive();
      auto& from = slots[i % slots.size()];
      from = std::make_unique<chan<int>>(std::move(c));
      auto& to = slots[(i * 7 + 3) % slots.size()];
      if (&from != &to) to = std::move(from);
      ring.send(std::move(*to));
      to.reset();
    }
  };
  sley::wait_group movers;
  for (int i = 0; i < 2; ++i) movers.go(move);
  std::thread thread(move);
  for (int i = 0; i < sley_test::rounds(30); ++i) {
    EXPECT_EQ(names_of_leaks().count("living"), 0U);
  }
  stop = true;
  for (int i = 0; i < 4; ++i) ring.receive()->close();
  for (int i = 0; i < 4; ++i) ring.send(chan<int>(0));  // for movers that wait for one
  l.wait();
  movers.wait();
  thread.join();
}

// ---- what they look like ----

TEST(leaks, texts_and_profiles_mark_them) {
  NEEDS_A_LEAK_SEARCH();
  sley::run([] {
    EXPECT_TRUE(is_found({"marked", 1, &early_return}));
    const std::string text = sley::debug::goroutines_text(sley::debug::leaks());
    EXPECT_NE(text.find(" [chan send (leaked)]:"), std::string::npos) << text;
    EXPECT_EQ(text.find("waits for 0x"), std::string::npos) << text;
    using sley::debug::profile_kind;
    const std::string profile = sley::debug::profile_text(profile_kind::goroutine_leak);
    EXPECT_TRUE(profile.starts_with("goroutineleak profile: total ")) << profile;
    EXPECT_NE(profile.find("early_return"), std::string::npos) << profile;
    EXPECT_FALSE(sley::debug::profile(profile_kind::goroutine_leak).empty());
  });
}

}  // namespace
