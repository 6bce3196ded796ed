// shared_mutex: the file of src/sync itself. Whether a reader in the count brings slots into use is
// tried in both ways.
#include "model/goroutines.hpp"

#include "platform/relax.hpp"
#include "sync/semaphore.cpp"
#include "sync/shared_mutex.cpp"

using namespace sley;

void sley::this_goroutine::yield() { rl::ctx().yield(1, $); }

namespace {

template <class Derived, unsigned Threads>
struct shared_mutex_suite : model::goroutine_suite<Derived, Threads> {
  shared_mutex_suite() { asking.place = &place; }

  void read() {
    guard.lock_shared();
    RL_ASSERT(first.get() == second.get());
    guard.unlock_shared();
  }

  // Has been locked.
  void write() {
    first.set(first.get() + 1);
    second.set(second.get() + 1);
    guard.unlock();
  }

  asking_place place;
  shared_mutex guard;
  detail::plain<int> first;
  detail::plain<int> second;
};

// SM-1 to SM-4. A reader that was in the count may be in a slot the next time, when the writer
// comes.
struct a_writer_waits_for_readers : shared_mutex_suite<a_writer_waits_for_readers, 2> {
  static constexpr const char* name = "a_writer_waits_for_readers";
  static constexpr int bound = 3;

  void thread(unsigned index) {
    if (index == 0) {
      read();
      read();
    } else {
      guard.lock();
      write();
    }
  }

  void after() { RL_ASSERT(first.get() == 1 && guard.try_lock()); }
};

// The same with two readers, which may share the count.
struct readers_come_and_go : shared_mutex_suite<readers_come_and_go, 3> {
  static constexpr const char* name = "readers_come_and_go";

  void before() { read(); }

  void thread(unsigned index) {
    if (index < 2) {
      read();
    } else {
      guard.lock();
      write();
    }
  }

  void after() { RL_ASSERT(first.get() == 1 && guard.try_lock()); }
};

// Each writer sees what the other did, and what readers in slots did before.
struct writers_take_turns : shared_mutex_suite<writers_take_turns, 3> {
  static constexpr const char* name = "writers_take_turns";

  void before() { read(); }

  void thread(unsigned index) {
    if (index == 0) {
      read();
    } else {
      guard.lock();
      write();
    }
  }

  void after() { RL_ASSERT(first.get() == 2 && guard.try_lock()); }
};

// A writer that only tries gets the lock, or changes nothing.
struct a_writer_tries : shared_mutex_suite<a_writer_tries, 2> {
  static constexpr const char* name = "a_writer_tries";
  static constexpr int bound = 4;

  void before() { read(); }

  void thread(unsigned index) {
    if (index == 0) {
      read();
    } else if (guard.try_lock()) {
      write();
    }
  }

  void after() { RL_ASSERT(guard.try_lock()); }
};

// A writer's time is up while it waits for the count or for slots.
struct a_writer_gives_up : shared_mutex_suite<a_writer_gives_up, 3> {
  static constexpr const char* name = "a_writer_gives_up";

  void before() { read(); }

  void thread(unsigned index) {
    if (index == 0) {
      rt::fire_timer();
    } else if (index == 1) {
      const std::chrono::nanoseconds in_a_while{platform::kernel->now_ns + 1000};
      if (guard.try_lock_until(std::chrono::steady_clock::time_point(in_a_while))) write();
    } else {
      read();
    }
  }

  void after() { RL_ASSERT(guard.try_lock()); }
};

// A reader does not touch the lock after it has left.
struct the_writer_may_free_it : model::goroutine_suite<the_writer_may_free_it, 2> {
  static constexpr const char* name = "the_writer_may_free_it";
  static constexpr int bound = 4;

  the_writer_may_free_it() { asking.place = &place; }

  void before() {
    guard = model::make<shared_mutex>();
    guard->lock_shared();
    guard->unlock_shared();
  }

  void thread(unsigned index) {
    if (index == 0) {
      guard->lock_shared();
      is_in.store_release(true, "");
      guard->unlock_shared();
    } else {
      while (!is_in.load_acquire("")) platform::cpu_relax(1);
      guard->lock();
      guard->unlock();
      model::destroy(guard);
    }
  }

  asking_place place;
  shared_mutex* guard = nullptr;
  detail::atomic<bool> is_in;
};

}  // namespace

int main(int argc, char** argv) {
  return model::model(
             "shared_mutex",
             {model::scenario_of<a_writer_waits_for_readers>(),
              model::scenario_of<readers_come_and_go>(), model::scenario_of<writers_take_turns>(),
              model::scenario_of<a_writer_tries>(), model::scenario_of<a_writer_gives_up>(),
              model::scenario_of<the_writer_may_free_it>()},
             {{"SM-1"},
              {"SM-2"},
              {"SM-2@enter_slot"},
              {"SM-2@close_slots"},
              {"SM-2@prefer_slots"},
              {"SM-3"},
              {"SM-3@leave_slot"},
              {"SM-3@has"},
              {"SM-4"}})
      .run(argc, argv);
}
