// What error_group and scope share, and what tells a scope that it is unwound.
#include <sley/detail/task_group.hpp>

#include "runtime/state/machine.hpp"

#include <mutex>
#include <stdexcept>
#include <tuple>

namespace sley::detail {

task_group::task_group(const sley::context& parent) {
  std::tie(context_, cancel_) = with_cancel_cause(parent);
}

void task_group::set_limit(std::ptrdiff_t n) {
  if (!running_.is_done())
    throw std::logic_error("sley: the limit of a group can't be set while its goroutines run");
  if (n < 0) {
    places_.reset();
  } else {
    places_.emplace(n);
  }
}

void task_group::begin() {
  running_.add(1);
  if (places_) places_->acquire();
}

bool task_group::try_begin() {
  running_.add(1);
  if (!places_ || places_->try_acquire()) return true;
  running_.done();
  return false;
}

void task_group::finish() noexcept {
  if (places_) places_->release();
  running_.done();
}

void task_group::fail(std::exception_ptr failure) noexcept {
  {
    const std::lock_guard lock(guard_);
    if (first_ == nullptr) first_ = std::move(failure);
  }
  end();
}

void task_group::end() noexcept { cancel_(first_exception()); }

std::exception_ptr task_group::first_exception() {
  const std::lock_guard lock(guard_);
  return first_;
}

std::exception_ptr task_group::take_first_exception() {
  const std::lock_guard lock(guard_);
  return std::exchange(first_, nullptr);
}

int unwindings() noexcept {
  const rt::machine* m = rt::this_machine();
  const rt::goroutine_extra* extra = m == nullptr ? nullptr : m->g->extra.load_relaxed();
  const bool is_exiting = extra != nullptr && extra->exit_unwind.exception_cleanup != nullptr;
  return std::uncaught_exceptions() + (is_exiting ? 1 : 0);
}

}  // namespace sley::detail
