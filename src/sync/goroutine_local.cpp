// goroutine_local: a goroutine's values, by the place of their variable.
//
// A variable that is destroyed leaves its values behind, because they belong to goroutines that may
// be running. Another variable gets its place, with another number. A goroutine that makes its
// value of that variable finds the old value there, and destroys it.
#include <sley/goroutine_local.hpp>

#include <sley/mutex.hpp>

#include "runtime/entry/enter.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/hold.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace sley {

namespace {

struct key_pool {
  mutex guard;
  std::vector<std::uint32_t> free_places;  // [lock: guard]
  std::uint32_t places = 0;                // [lock: guard]
  std::uint64_t last_number = 0;           // [lock: guard]
};

// Never destroyed: variables with static storage may outlive everything.
key_pool& keys() {
  static key_pool& pool = *new key_pool;
  return pool;
}

struct local_value {
  std::uint64_t number = 0;  // of its variable
  std::uint64_t order = 0;   // when it was made
  void* value = nullptr;
  void (*destroy)(void*) noexcept = nullptr;
};

// The caller's record. Null on a thread that has not used the library yet.
rt::goroutine* self() noexcept {
  const rt::machine* m = rt::this_machine();
  return m == nullptr ? nullptr : m->g;
}

}  // namespace

namespace rt {

struct local_values {
  std::vector<local_value> by_place;
  std::uint64_t last_order = 0;
};

}  // namespace rt

namespace {

// Destructors may use other variables, which are made again then.
void destroy(rt::local_values* values) noexcept {
  std::vector<local_value> all = std::move(values->by_place);
  delete values;
  std::ranges::sort(all, std::ranges::greater(), &local_value::order);
  for (const local_value& v : all) {
    if (v.value != nullptr) v.destroy(v.value);
  }
}

// The calling goroutine's, with room for this key.
rt::local_values& values_for(const detail::local_key& key) {
  if (self() == nullptr) rt::leave(rt::enter());
  rt::goroutine* g = self();
  rt::goroutine_extra& extra = rt::extra_of(g);
  if (extra.locals == nullptr) {
    extra.destroy_locals = &destroy;
    extra.locals = new rt::local_values;
  }
  rt::local_values& all = *extra.locals;
  if (key.place >= all.by_place.size()) all.by_place.resize(key.place + 1);
  return all;
}

}  // namespace

namespace detail {

local_key new_local_key() {
  key_pool& pool = keys();
  const std::lock_guard guard(pool.guard);
  if (pool.free_places.empty()) {
    pool.free_places.reserve(pool.places + 1);  // so that giving one back needs no memory
    return {pool.places++, ++pool.last_number};
  }
  const std::uint32_t place = pool.free_places.back();
  pool.free_places.pop_back();
  return {place, ++pool.last_number};
}

void release_local_key(const local_key& key) noexcept {
  key_pool& pool = keys();
  const std::lock_guard guard(pool.guard);
  pool.free_places.push_back(key.place);
}

void* find_local(const local_key& key) noexcept {
  const rt::goroutine* g = self();
  const rt::goroutine_extra* extra = g == nullptr ? nullptr : g->extra.load_relaxed();  // its own
  if (extra == nullptr || extra->locals == nullptr) return nullptr;
  const auto& values = extra->locals->by_place;
  if (key.place >= values.size() || values[key.place].number != key.number) return nullptr;
  return values[key.place].value;
}

void add_local(const local_key& key, void* value, void (*destroy_value)(void*) noexcept) {
  rt::local_values& all = values_for(key);
  const local_value old =
      std::exchange(all.by_place[key.place], {key.number, ++all.last_order, value, destroy_value});
  if (old.value != nullptr) old.destroy(old.value);
}

}  // namespace detail
}  // namespace sley
