// Everything at once at random for SLEY_STRESS_SECONDS (5): goroutines that compute, sleep in the
// kernel with and without saying so, use channels and locks, lock themselves to their threads,
// start others and end in several ways; foreign threads that do the same; and a goroutine that
// changes the number of processors all the time. In the end the accounts must balance: each token
// that was sent was received once, counts under locks are exact, and all goroutines have ended.
#include "support/account.hpp"
#include "support/harness.hpp"
#include "support/threads.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <thread>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

using sley::chan;
using sley::chan_status;
using sley::runtime::read_stats;
using sley_test::account;
using sley_test::compute_for;
using sley_test::random_source;
using sley_test::sleep_in_the_kernel;
using sley_test::stress_duration;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

namespace {

struct books {
  account sent;
  account received;
  std::uint64_t in_std_mutex = 0;  // times that it was in there
  std::uint64_t in_sley_mutex = 0;
  std::uint64_t acts = 0;

  void add(const books& other) {
    sent.add(other.sent);
    received.add(other.received);
    in_std_mutex += other.in_std_mutex;
    in_sley_mutex += other.in_sley_mutex;
    acts += other.acts;
  }
};

class storm {
 public:
  void start(int goroutines, int threads) {
    for (int i = 0; i < goroutines; ++i) start_goroutine(false);
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this] { actor(*this).act_until_stopped(); });
    }
  }

  void stop_and_check() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    group_.wait();
    for (const auto& c : channels_) {
      std::uint64_t token = 0;
      while (c.try_receive(token) == chan_status::ok) books_.received.add(token);
    }
    EXPECT_EQ(books_.sent.tokens, books_.received.tokens);
    EXPECT_TRUE(books_.sent == books_.received) << "damaged, or one lost and one doubled";
    EXPECT_EQ(books_.in_std_mutex, counted_in_std_mutex_);
    EXPECT_EQ(books_.in_sley_mutex, counted_in_sley_mutex_);
    EXPECT_EQ(started_, ended_);
    EXPECT_GT(books_.sent.tokens, 100u) << "nothing has been tested";
    std::printf("%llu acts, %llu tokens, %llu goroutines\n", number(books_.acts),
                number(books_.sent.tokens), number(ended_));
  }

  static unsigned long long number(std::uint64_t n) { return n; }

 private:
  // A goroutine or a thread, with books of its own.
  class actor {
   public:
    explicit actor(storm& all) : all_(all), number_(++all.actors_), random_(number_) {}
    ~actor() {
      const std::lock_guard guard(all_.books_mutex_);
      all_.books_.add(mine_);
    }
    actor(const actor&) = delete;

    void act_until_stopped() {
      while (!all_.stop_) act();
    }

    // A few things, and an end in one of several ways.
    void act_for_a_while() {
      for (std::uint64_t left = random_.below(20); left > 0; --left) act();
      if (random_.one_in(4)) this_goroutine::lock_os_thread();  // the thread ends with it
      if (random_.one_in(2)) this_goroutine::exit();
    }

   private:
    // One thing of many. All of them end by themselves.
    void act() {
      ++mine_.acts;
      switch (random_.below(12)) {
        case 0: compute_for(random_.below(random_.one_in(20) ? 15'000 : 300) * 1us); break;
        case 1: sleep_in_the_kernel(a_while()); break;
        case 2: sley::blocking([this] { sleep_in_the_kernel(a_while()); }); break;
        case 3: announced_call(); break;
        case 4: this_goroutine::sleep_for(a_while()); break;
        case 5: this_goroutine::yield(); break;
        case 6: under_std_mutex(); break;
        case 7: under_sley_mutex(); break;
        case 8: locked_to_its_thread(); break;
        case 9: start_another(); break;
        default: use_channels();
      }
    }

    nanoseconds a_while() { return random_.below(2000) * 1us; }
    const chan<std::uint64_t>& any() {
      return all_.channels_[random_.below(all_.channels_.size())];
    }

    void use_channels() {
      const std::uint64_t token = number_ << 32 | mine_.sent.tokens;
      std::uint64_t received = 0;
      switch (random_.below(4)) {
        case 0:
          if (any().try_send_for(std::uint64_t{token}, a_while()) == chan_status::ok) {
            mine_.sent.add(token);
          }
          break;
        case 1:
          if (any().try_receive_for(received, a_while()) == chan_status::ok) {
            mine_.received.add(received);
          }
          break;
        default:
          sley::select(sley::on_send(any(), token, [&] { mine_.sent.add(token); }),
                       sley::on_receive(any(), [this](auto t) { mine_.received.add(t.value()); }),
                       sley::on_timeout(a_while()));
      }
    }

    // An announced call in which the library is used, or a raw one.
    void announced_call() {
      if (random_.one_in(2)) {
        sley::blocking([this] {
          const pid_t thread = ::gettid();
          use_channels();
          EXPECT_EQ(::gettid(), thread);
        });
      } else {
        const timespec time = {0, a_while().count()};
        (void)sley::syscall(SYS_nanosleep, &time, nullptr);
      }
    }

    void under_std_mutex() {
      const std::lock_guard guard(all_.std_mutex_);
      const std::uint64_t before = all_.counted_in_std_mutex_;
      if (random_.one_in(10)) sleep_in_the_kernel(100us);
      all_.counted_in_std_mutex_ = before + 1;
      ++mine_.in_std_mutex;
    }

    void under_sley_mutex() {
      const std::lock_guard guard(all_.sley_mutex_);
      const std::uint64_t before = all_.counted_in_sley_mutex_;
      if (random_.one_in(10)) this_goroutine::yield();
      all_.counted_in_sley_mutex_ = before + 1;
      ++mine_.in_sley_mutex;
    }

    void locked_to_its_thread() {
      const sley::os_thread_lock lock;
      const pid_t thread = ::gettid();
      for (int i = 0; i < 3; ++i) {
        switch (random_.below(5)) {
          case 0: this_goroutine::yield(); break;
          case 1: this_goroutine::sleep_for(a_while()); break;
          case 2: sley::blocking([] { sleep_in_the_kernel(100us); }); break;
          case 3: compute_for(100us); break;
          default: use_channels();
        }
        EXPECT_EQ(::gettid(), thread);
      }
    }

    void start_another() {
      if (all_.short_lived_ < 100) all_.start_goroutine(true);
    }

    storm& all_;
    const std::uint64_t number_;
    random_source random_;
    books mine_;
  };

  struct at_end {
    storm& all;
    bool is_short_lived;
    ~at_end() {
      if (is_short_lived) --all.short_lived_;
      ++all.ended_;
      all.group_.done();
    }
  };

  void start_goroutine(bool is_short_lived) {
    ++started_;
    if (is_short_lived) ++short_lived_;
    group_.add(1);
    sley::go([this, is_short_lived] {
      const at_end end{*this, is_short_lived};
      actor self(*this);
      if (is_short_lived) {
        self.act_for_a_while();
      } else {
        self.act_until_stopped();
      }
    });
  }

  std::array<chan<std::uint64_t>, 6> channels_ = {chan<std::uint64_t>(),  chan<std::uint64_t>(),
                                                  chan<std::uint64_t>(1), chan<std::uint64_t>(2),
                                                  chan<std::uint64_t>(8), chan<std::uint64_t>(100)};
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> actors_{0};
  std::atomic<std::uint64_t> started_{0};
  std::atomic<std::uint64_t> ended_{0};
  std::atomic<int> short_lived_{0};
  std::mutex std_mutex_;
  std::uint64_t counted_in_std_mutex_ = 0;  // [lock: std_mutex_]
  sley::mutex sley_mutex_;
  std::uint64_t counted_in_sley_mutex_ = 0;  // [lock: sley_mutex_]
  std::mutex books_mutex_;
  books books_;  // [lock: books_mutex_]
  std::vector<std::thread> threads_;
  sley::wait_group group_;
};

// Sets another number of processors every few milliseconds, and in the end the old one.
void resize_for(nanoseconds time) {
  random_source random;
  const int before = sley::runtime::max_procs();
  for (const auto end = steady_clock::now() + time; steady_clock::now() < end;) {
    const int count = 1 + random.index(8);
    sley::runtime::set_max_procs(count);
    EXPECT_EQ(sley::runtime::max_procs(), count);
    this_goroutine::sleep_for(random.below(5000) * 1us);
  }
  sley::runtime::set_max_procs(before);
}

void run_storm(bool with_resizes) {
  const auto before = read_stats();
  storm everything;
  everything.start(40, 3);
  if (with_resizes) {
    resize_for(stress_duration() / 2);
  } else {
    this_goroutine::sleep_for(stress_duration() / 2);
  }
  everything.stop_and_check();
  const auto after = read_stats();
  std::printf("%llu preemptions, %llu retakes, %llu hand-offs, %llu threads\n",
              storm::number(after.preemptions - before.preemptions),
              storm::number(after.retakes - before.retakes),
              storm::number(after.hand_offs - before.hand_offs), storm::number(after.threads));
}

}  // namespace

GO_TEST(runtime_storm, accounts_balance) { run_storm(false); }

GO_TEST(runtime_storm, accounts_balance_while_the_number_of_processors_changes) { run_storm(true); }
