// Does the peer still wait for the answer? Asked only for requests whose handler asks for a
// context.
#include "http/session.hpp"

#include <sley/go.hpp>

#include <mutex>

namespace sley::http::detail {

namespace {

// What a client may send ahead while its request is answered; then watching stops.
constexpr std::size_t most_read_ahead = 64 << 10;

}  // namespace

const context& session::get_context() {
  if (!context_) {
    auto [ctx, cancel] = with_cancel(limit_.value_or(context::background()));
    context_ = trace_ ? with_trace(ctx, *trace_) : std::move(ctx);
    {
      const std::lock_guard guard(lock_);
      cancel_ = std::move(cancel);
      if (is_finishing_ && is_handed_over_) cancel_();
    }
    if (body_.is_done()) begin_watching();
  }
  return *context_;
}

void session::set_context(context ctx) {
  get_context();
  context_ = std::move(ctx);
}

// Reading is the only way to see the end that every kind of connection has. What comes instead is
// the next request, and waits in the input.
void session::begin_watching() {
  if (watching_ || is_handed_over_) return;
  read_deadline_.set(time_point::max());
  connection_.set_read_deadline(read_deadline_.when());
  const chan<void> ended;
  go(go_options{.name = "http watch"}, [this, ended] {
    watch();
    ended.close();
  });
  watching_ = ended;
}

void session::watch() {
  std::error_code error;
  while (input_.size() < most_read_ahead) {  // ends: the input grows, or reading ends
    const std::size_t n = connection_.read_some(input_.room(), error);
    input_.add(n);
    if (error == std::errc::timed_out) return;  // told to stop
    if (n == 0 || error) return cancel_();
  }
}

void session::stop_watching() noexcept {
  if (!watching_) return;
  read_deadline_.set(time_point());
  connection_.set_read_deadline(read_deadline_.when());
  watching_->receive();
  watching_.reset();
}

void session::end_context() noexcept {
  if (!context_) return;
  stop_watching();
  cancel_();
  context_.reset();
}

}  // namespace sley::http::detail
