// error_group: waits for a task_group in Go's way.
#include <sley/error_group.hpp>

#include <sley/detail/lost_exception.hpp>

#include <exception>

namespace sley {

error_group::error_group() : error_group(sley::context::background()) {}
error_group::error_group(const sley::context& parent) : group_(parent) {}

error_group::~error_group() {
  // An exception after the end of the context is about that end.
  const std::exception_ptr first = group_.first_exception();
  group_.end();
  group_.wait();
  if (first == nullptr || is_asked_.load_relaxed() || detail::unwindings() > unwindings_) return;
  detail::report_lost(first, 0, "its error_group was dropped without wait()");
}

void error_group::set_limit(std::ptrdiff_t n) { group_.set_limit(n); }

void error_group::wait() {
  is_asked_.store_relaxed(true);
  group_.wait();
  group_.end();
  if (const std::exception_ptr first = group_.first_exception()) std::rethrow_exception(first);
}

}  // namespace sley
