// The store of object_pool's idle objects.
//
//   PP-1  Only the holder of a processor uses the processor's own store, inside the runtime, where
//         the processor can't be lost. Foreign threads, and processors that came later, use the
//         shared one.
#include <sley/object_pool.hpp>

#include <sley/detail/lock.hpp>
#include <sley/runtime.hpp>

#include "platform/cpu.hpp"
#include "platform/unseen.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/state/processor.hpp"

#include <cstdint>
#include <vector>

namespace sley::detail {

namespace {

constexpr std::size_t store_capacity = 14;

struct alignas(platform::cache_line_bytes) store {
  std::size_t count = 0;
  void* pointers[store_capacity] = {};

  bool push(void* p) noexcept {
    if (count == store_capacity) return false;
    pointers[count++] = p;
    return true;
  }
  void* pop() noexcept { return count == 0 ? nullptr : pointers[--count]; }
};

}  // namespace

struct pointer_pool::state {
  explicit state(std::size_t procs) : own(procs) { shared.reserve(procs * store_capacity); }

  // Null: the caller must use the shared one.
  store* own_of(const rt::machine* m) noexcept {
    return m->p != nullptr && m->p->id < own.size() ? &own[m->p->id] : nullptr;  // PP-1
  }

  void* take() noexcept {
    const platform::unseen unseen;
    rt::machine* m = rt::enter();
    store* from = own_of(m);
    void* taken = from == nullptr ? nullptr : from->pop();
    if (taken == nullptr) {
      const lock_guard lock(guard);
      if (!shared.empty()) {
        taken = shared.back();
        shared.pop_back();
      }
    }
    rt::leave(m);
    return taken;
  }

  // By the only user.
  void* take_of_any() noexcept {
    const platform::unseen unseen;
    for (store& s : own) {
      if (void* p = s.pop()) return p;
    }
    return nullptr;
  }

  std::vector<store> own;
  lock guard{lock_rank::objects};
  std::vector<void*> shared;  // [lock: guard] never grows over what is reserved
};

pointer_pool::pointer_pool()
    : state_(std::make_unique<state>(static_cast<std::size_t>(runtime::max_procs()))) {}
pointer_pool::~pointer_pool() = default;

void* pointer_pool::take() noexcept {
  void* taken = state_->take();
  platform::takes_order(taken);
  return taken;
}

bool pointer_pool::give(void* pointer) noexcept {
  platform::passes_order(pointer);
  const platform::unseen unseen;
  rt::machine* m = rt::enter();
  store* own = state_->own_of(m);
  bool is_kept = own != nullptr && own->push(pointer);
  if (!is_kept) {
    const lock_guard guard(state_->guard);
    is_kept = state_->shared.size() < state_->shared.capacity();
    if (is_kept) state_->shared.push_back(pointer);
  }
  rt::leave(m);
  return is_kept;
}

void* pointer_pool::take_any() noexcept {
  void* taken = state_->take_of_any();
  if (taken == nullptr) return take();
  platform::takes_order(taken);
  return taken;
}

}  // namespace sley::detail
