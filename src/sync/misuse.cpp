#include "runtime/inspect/last_words.hpp"
#include "runtime/inspect/place_text.hpp"
#include "runtime/state/sched_state.hpp"
#include "sync/misuse.hpp"

#include <sley/goroutine_local.hpp>

#include "base/print.hpp"
#include "base/published.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace sley::sync {

namespace {

struct shared_lock_note {
  const shared_mutex* mutex;
  detail::call_place where;
};

// Of one goroutine. As it ends, its notes are kept until all its other goroutine_local variables
// have been destroyed once, because these may unlock something.
struct shared_locks {
  std::vector<shared_lock_note> all;
  bool is_second = false;
  ~shared_locks();
};

// The first caller that needs it makes it. It is never destroyed, because objects with static
// storage may be unlocked late. (No static of a function: in a simulation two threads may come to
// make that.) Each goroutine uses only its own notes, so this orders nothing that a sanitizer must
// judge.
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

detail::call_place calling_place() noexcept {
  detail::call_place here;
  rt::collect_place(here.frames);
  return here;
}

void locked_twice(const char* message, const detail::call_place& first) noexcept {
  rt::begin_last_words();
  const detail::call_place again = calling_place();
  base::line_writer line;
  line.text(message).text(": first in ");
  rt::append_place(line, first.frames);
  line.text(", again in ");
  rt::append_place(line, again.frames);
  base::fatal(line.view());
}

void add_shared_lock(const shared_mutex* m) noexcept { mine().all.push_back({m, calling_place()}); }

void remove_shared_lock(const shared_mutex* m) noexcept {
  std::vector<shared_lock_note>& locks = mine().all;
  const auto place = std::find_if(locks.rbegin(), locks.rend(),
                                  [m](const shared_lock_note& note) { return note.mutex == m; });
  if (place == locks.rend())
    base::fatal(
        "sley: a shared_mutex is unlocked (shared) by a goroutine or thread that has not locked "
        "it");
  locks.erase(std::next(place).base());
}

void check_no_shared_lock(const shared_mutex* m, const char* message) noexcept {
  for (const shared_lock_note& note : mine().all) {
    if (note.mutex == m) locked_twice(message, note.where);
  }
}

}  // namespace sley::sync
