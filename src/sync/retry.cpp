// Tries and the pauses between them.
#include <sley/retry.hpp>

#include "platform/decisions.hpp"
#include "platform/unseen.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/state/machine.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <system_error>

namespace sley::detail {

namespace {

constexpr double endless_ns = static_cast<double>(std::numeric_limits<std::int64_t>::max());

[[noreturn]] void refuse(const char* member, double value) {
  throw std::invalid_argument(std::string("sley: retry with a ") + member + " of " +
                              std::to_string(value));
}

// From 0 to 1.
double chance() noexcept {
  rt::machine* m = rt::enter();
  const platform::unseen unseen;
  const std::uint32_t drawn = platform::draw(m->random);
  rt::leave(m);
  return drawn / static_cast<double>(std::numeric_limits<std::uint32_t>::max());
}

}  // namespace

// Comparisons are such that NaN is refused.
retrying::retrying(const retry_policy& policy, const context& ctx)
    : policy_(policy), ctx_(ctx), pause_ns_(static_cast<double>(policy.first_pause.count())) {
  if (policy.max_tries < 1) refuse("max_tries", policy.max_tries);
  if (!(policy.factor >= 1)) refuse("factor", policy.factor);
  if (!(policy.jitter >= 0 && policy.jitter <= 1)) refuse("jitter", policy.jitter);
  if (ctx.error()) fail();
}

bool retrying::may_go_on(const std::exception& failure) {
  ++failures_;
  const bool is_last = policy_.max_tries != retry_policy::unlimited &&
                       failures_ >= static_cast<std::uint64_t>(policy_.max_tries);
  if (is_last || (policy_.may_retry && !policy_.may_retry(failure))) return false;
  last_failure_ = failure.what();
  return true;
}

// A pause without an end stays one.
std::int64_t retrying::next_pause_ns() {
  const auto longest = static_cast<double>(policy_.longest_pause.count());
  const double whole = std::clamp(pause_ns_, 0.0, std::max(longest, 0.0));
  if (whole > 0) pause_ns_ = whole * policy_.factor;  // the factor may be infinite
  if (whole >= endless_ns) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(whole * (1 - policy_.jitter * chance()));
}

void retrying::pause() {
  std::error_code ended;
  this_goroutine::sleep_for(std::chrono::nanoseconds(next_pause_ns()), ctx_, ended);
  if (ended || ctx_.error()) fail();  // it may have ended when the pause was over
}

void retrying::fail() const {
  std::string what = "sley: retry, after " + std::to_string(failures_) + " tries";
  if (failures_ > 0) what += ", the last of which failed (" + last_failure_ + ')';
  throw std::system_error(ctx_.error(), what);
}

}  // namespace sley::detail
