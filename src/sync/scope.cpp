// scope: how the end of a block waits for a task_group.
#include <sley/scope.hpp>

#include <exception>

namespace sley {

scope::scope() : scope(sley::context::background()) {}
scope::scope(const sley::context& parent) : group_(parent) {}

scope::~scope() noexcept(false) {
  const bool is_unwound = detail::unwindings() > unwindings_;
  if (is_unwound) group_.end();
  group_.wait();
  group_.end();
  if (is_unwound) return;
  if (const std::exception_ptr first = group_.take_first_exception()) std::rethrow_exception(first);
}

void scope::join() {
  group_.wait();
  if (const std::exception_ptr first = group_.take_first_exception()) std::rethrow_exception(first);
}

}  // namespace sley
