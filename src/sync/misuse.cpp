#include "sync/misuse.hpp"

#include <sley/goroutine_local.hpp>

#include "base/published.hpp"
#include "runtime/sched_state.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace sley::sync {

namespace {

// Of one goroutine. As it ends, what it has is kept until all its other goroutine_local variables
// have been destroyed once, for these may unlock something.
struct shared_locks {
  std::vector<const shared_mutex*> all;
  bool is_second = false;
  ~shared_locks();
};

// Made by the first who needs it and never destroyed, as objects with static storage may be
// unlocked late. (No static of a function: in a simulation two threads may come to make that.) What
// one goroutine has in it is nobody else's matter, so that this orders nothing that a sanitizer is
// to judge.
base::published<goroutine_local<shared_locks>*> locks_of_all;

shared_locks& mine() {
  goroutine_local<shared_locks>* all = locks_of_all.read();
  if (all == nullptr) {
    auto made = std::make_unique<goroutine_local<shared_locks>>();
    all = locks_of_all.publish_first(made.get());
    if (all == made.get()) made.release();
  }
  return all->get();
}

shared_locks::~shared_locks() {
  if (is_second || all.empty()) return;
  shared_locks& second = mine();
  second.all = std::move(all);
  second.is_second = true;
}

}  // namespace

void destroyed_in_use(const char* message) noexcept {
  if (!rt::sched.gate.is_paused()) base::fatal(message);
}

void add_shared_lock(const shared_mutex* m) noexcept { mine().all.push_back(m); }

void remove_shared_lock(const shared_mutex* m) noexcept {
  std::vector<const shared_mutex*>& locks = mine().all;
  const auto place = std::find(locks.rbegin(), locks.rend(), m);
  if (place == locks.rend())
    base::fatal("sley: a shared_mutex is unlocked (shared) by one that has not locked it");
  locks.erase(std::next(place).base());
}

}  // namespace sley::sync
