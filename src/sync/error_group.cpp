// error_group: how a task_group is waited for in Go's way.
#include <sley/error_group.hpp>

#include <exception>

namespace sley {

error_group::error_group() : error_group(sley::context::background()) {}
error_group::error_group(const sley::context& parent) : group_(parent) {}

error_group::~error_group() {
  group_.end();
  group_.wait();
}

void error_group::set_limit(std::ptrdiff_t n) { group_.set_limit(n); }

void error_group::wait() {
  group_.wait();
  group_.end();
  if (const std::exception_ptr first = group_.first_exception()) std::rethrow_exception(first);
}

}  // namespace sley
