// A descriptor's life, its deadlines and its context, and what holds no side.
#include <sley/detail/descriptor.hpp>

#include <sley/context.hpp>

#include "io/perform.hpp"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>

namespace sley {

namespace io {

std::error_code error_of(rt::io_result result) noexcept {
  switch (result) {
    case rt::io_result::timed_out: return std::make_error_code(std::errc::timed_out);
    case rt::io_result::canceled: return context_errc::canceled;
    case rt::io_result::deadline_exceeded: return context_errc::deadline_exceeded;
    case rt::io_result::no_memory: return std::make_error_code(std::errc::not_enough_memory);
    default: return std::make_error_code(std::errc::operation_canceled);
  }
}

rt::io_result end_of(const context& ctx) noexcept {
  const std::error_code ended = ctx.error();
  if (!ended) return rt::io_result::ready;
  return ended == context_errc::canceled ? rt::io_result::canceled
                                         : rt::io_result::deadline_exceeded;
}

namespace {

// The last time of the clock is rt::never.
void set_deadline(rt::watched* w, direction d, instant when) {
  if (w == nullptr) return;
  if (!w->is_polled) {
    detail::throw_io_error(std::make_error_code(std::errc::operation_not_supported),
                           "sley: deadline");
  }
  rt::enter();
  const bool is_set = rt::set_deadline(w, side_of(w, d), when.time_since_epoch().count());
  rt::leave();
  if (!is_set) throw std::bad_alloc();
}

// ---- the bound context ----

// The record keeps the hook of its context for this file.
using hook_ptr = std::unique_ptr<context_callback>;

void drop(void* kept) noexcept {
  if (const hook_ptr hook(static_cast<context_callback*>(kept)); hook != nullptr) hook->stop();
}

// No former context counts any more. Returns the number of the binding that follows.
std::uint64_t unbind_context(rt::watched* w) noexcept {
  void* former = nullptr;
  rt::enter();
  const std::uint64_t next = rt::renew_binding(w, former);
  rt::leave();
  drop(former);
  return next;
}

void bind_context(rt::watched* w, const context& ctx) {
  const std::uint64_t binding = unbind_context(w);
  if (!detail::can_end(ctx)) return;
  auto hook = std::make_unique<context_callback>();
  *hook = detail::call_at_end(ctx, [w, binding, ctx] {
    const rt::io_result why = end_of(ctx);
    const rt::inside inside;
    rt::end_bound(w, binding, why);
  });
  rt::enter();
  const bool is_kept = rt::keep_binding(w, binding, hook.get());
  rt::leave();
  void* const made = hook.release();
  if (!is_kept) drop(made);  // closed, or bound again meanwhile
}

// ---- reading at a place in a file ----

struct reading_at {
  rt::watched* from;
  std::span<std::byte> buffer;
  std::uint64_t offset;

  long operator()(int fd) const noexcept {
    return platform::kernel::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(offset));
  }
  // What is not in memory is read by a call that may block.
  [[gnu::noinline]] long together(int fd) const noexcept {
    if (!from->may_batch.load_relaxed()) return platform::not_made;
    const long n = attempt_together(platform::read_at_call(fd, buffer, offset));
    if (n == -EOPNOTSUPP) from->may_batch.store_relaxed(false);
    if (n == -EAGAIN || n == -EOPNOTSUPP) return platform::not_made;
    if (n <= 0 || std::cmp_equal(n, buffer.size())) return n;
    const auto had = static_cast<std::size_t>(n);
    const long rest =
        attempt_uninterrupted(reading_at{from, buffer.subspan(had), offset + had}, fd);
    return rest < 0 ? n : n + rest;
  }
};

}  // namespace

}  // namespace io

namespace detail {

void throw_io_error(const std::error_code& error, const char* operation) {
  throw std::system_error(error, operation);
}

// Nothing is duplicated and closed on the way: closing any descriptor of a file takes all record
// locks of the process on it (fcntl(2)).
descriptor::descriptor(int fd, io_kind kind, std::error_code& error) noexcept : kind_(kind) {
  int number = ENOMEM;
  rt::enter();
  if (kind != io_kind::regular) watched_ = rt::watch(fd, number);
  if (watched_ == nullptr && kind == io_kind::device && number == EPERM) kind_ = io_kind::regular;
  if (kind_ == io_kind::regular) watched_ = rt::hold(fd);
  rt::leave();
  if (watched_ != nullptr) return;
  if (kind != io_kind::borrowed) ::close(fd);
  error = io::system_error_of(number);
}

descriptor::~descriptor() {
  if (watched_ == nullptr) return;
  std::error_code ignored;
  close(ignored);
  rt::enter();
  rt::forget(watched_);
  rt::leave();
}

// A moment's answer, which orders nothing.
bool descriptor::is_open() const noexcept {
  return watched_ != nullptr && watched_->ended_by.load_relaxed() != rt::io_result::closed;
}

int descriptor::native_handle() const noexcept { return is_open() ? watched_->fd : -1; }

std::size_t descriptor::read_at(std::span<std::byte> buffer, std::uint64_t offset,
                                std::error_code& error) const noexcept {
  const auto part = buffer.first(std::min(buffer.size(), io::most_bytes_at_once));
  return io::use(watched_, io::reading_at{watched_, part, offset}, error);
}

std::size_t descriptor::write_at(std::span<const std::byte> bytes, std::uint64_t offset,
                                 std::error_code& error) const noexcept {
  return io::use(
      watched_,
      [=](int fd) {
        return platform::kernel::pwrite(fd, bytes.data(),
                                        std::min(bytes.size(), io::most_bytes_at_once),
                                        static_cast<off_t>(offset));
      },
      error);
}

void descriptor::set_read_deadline(instant when) const {
  io::set_deadline(watched_, io::direction::read, when);
}

void descriptor::set_write_deadline(instant when) const {
  io::set_deadline(watched_, io::direction::write, when);
}

void descriptor::set_context(const context& ctx) const {
  if (watched_ != nullptr) io::bind_context(watched_, ctx);
}

void descriptor::close(std::error_code& error, const char* file) noexcept {
  error.clear();
  if (watched_ == nullptr) return;
  rt::enter();
  const bool is_ours = rt::unwatch(watched_);
  rt::leave();
  if (!is_ours) return;
  io::unbind_context(watched_);
  if (kind_ == io_kind::borrowed) return;
  // An EINTR of close(2) has closed it all the same.
  if (file != nullptr) blocking([file] { ::unlink(file); });
  const long result = io::attempt(::close, watched_->fd);
  if (result != -EINTR) io::is_success(result, error);
}

}  // namespace detail

}  // namespace sley
