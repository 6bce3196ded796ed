// Implements <sley/context.hpp> with the tree of contexts.
#include <sley/context.hpp>

#include <sley/go.hpp>
#include <sley/select.hpp>

#include "runtime/entry/enter.hpp"
#include "sync/chan_core.hpp"
#include "sync/context_tree.hpp"
#include "sync/start_from_timer.hpp"

#include <cstddef>
#include <iterator>
#include <mutex>
#include <new>
#include <optional>

namespace sley {

namespace detail {

namespace {

// ---- deadlines ----

struct deadline_node final : ending_node, rt::timer {
  deadline_node(const context& below, time_point when, std::exception_ptr why) noexcept
      : ending_node(below, "with_deadline"), late(std::move(why)) {
    deadline_ns = when.time_since_epoch().count();
    fire = &begin_to_end;
  }
  ~deadline_node() override { disarm(); }
  void has_ended() noexcept override { disarm(); }

  void arm() {
    rt::machine* m = rt::enter();
    const bool is_armed = rt::add_timer(this, deadline_ns);
    rt::leave(m);
    if (!is_armed) throw std::bad_alloc();
  }
  void disarm() noexcept {
    rt::inside inside;
    rt::remove_timer(this);
  }

  // In a goroutine, because it may have to wait. A node without references is about to disarm.
  struct late_call {
    deadline_node* n;
    void operator()() && {
      end(n, context_errc::deadline_exceeded, n->late);
      release(n);
    }
  };
  static rt::goroutine* begin_to_end(rt::timer* t, std::int64_t now_ns) noexcept {
    auto* n = static_cast<deadline_node*>(t);
    rt::goroutine* g = sync::start_from_timer(t, now_ns, late_call{n});
    if (g == nullptr || n->try_retain()) return g;
    rt::give_record(rt::current_machine(), g);
    return nullptr;
  }

  std::exception_ptr late;  // [const] the cause, if the deadline passes
};

// ---- stop tokens, values, and no end ----

struct token_node final : ending_node {
  explicit token_node(const context& below) noexcept : ending_node(below, "with_stop_token") {}

  struct canceler {
    token_node* n;
    void operator()() const noexcept;
  };
  // Destroyed before the rest, when no other thread is in it any more.
  std::optional<std::stop_callback<canceler>> registration;
};

// For a call by the token. The node must not be destroyed inside the call, because its registration
// would wait for the end of the call. If the call holds the last reference, another goroutine
// releases it.
void release_elsewhere(token_node* n) noexcept {
  if (n->references.sub_acq_rel(1, "CX-1") != 1) return;
  n->references.store_relaxed(1);  // no other reference is left
  try {
    go([last = n] { context_node::release(last); });
  } catch (const std::bad_alloc&) {
    return;  // it stays for good
  }
}

void token_node::canceler::operator()() const noexcept {
  // The call ends on the thread on which the token has begun it, see request_stop().
  const os_thread_lock same_thread;
  if (!n->try_retain()) return;
  end(n, context_errc::canceled, nullptr);
  release_elsewhere(n);
}

struct value_node final : context_node {
  value_node(const context& below, std::string_view k, const std::type_info& t,
             std::shared_ptr<const void> v)
      : context_node(below, "with_value"), key(k), type(t), value(std::move(v)) {}

  const void* find(std::string_view k, const std::type_info& t) const noexcept override {
    return k == key && t == type ? value.get() : nullptr;
  }
  std::string describe() const override { return std::string(name) + '(' + key + ')'; }

  std::string key;                    // [const]
  const std::type_info& type;         // [const]
  std::shared_ptr<const void> value;  // [const]
};

struct endless_node final : context_node {
  explicit endless_node(const context& below) noexcept : context_node(below, "without_cancel") {
    ends_with = nullptr;
  }
};

class category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "sley.context"; }
  std::string message(int value) const override {
    return value == static_cast<int>(context_errc::canceled) ? "context canceled"
                                                             : "context deadline exceeded";
  }
  std::error_condition default_error_condition(int value) const noexcept override {
    return value == static_cast<int>(context_errc::canceled) ? std::errc::operation_canceled
                                                             : std::errc::timed_out;
  }
};

}  // namespace

context with_erased_value(const context& parent, std::string_view key, const std::type_info& type,
                          std::shared_ptr<const void> value) {
  return context_access::adopt(new value_node(parent, key, type, std::move(value)));
}

namespace {

// One operation beside the end of the context. The channel of an ended context has nothing to
// receive but its end, which is no value, so only the operation's value is ever moved. False: the
// context has ended.
bool do_unless_ended(select_case& operation, const context& ctx, std::error_code& error) {
  error = ctx.error();
  if (error) return false;
  const recv_chan<void> done = ctx.done();
  char nothing;
  select_case cases[] = {{done.ref().core(), &nothing, case_kind::receive, false}, operation};
  alignas(std::max_align_t) std::byte scratch[select_scratch_bytes(std::size(cases))];
  const bool is_done = select(cases, std::size(cases), no_deadline, scratch) == 1;
  operation.received = cases[1].received;
  if (!is_done) error = ctx.error();
  return is_done;
}

}  // namespace

void chan_ref::send(void* value, const context& ctx, std::error_code& error) const {
  select_case operation{core_, value, case_kind::send, false};
  do_unless_ended(operation, ctx, error);
}

bool chan_ref::receive(void* out, const context& ctx, std::error_code& error) const {
  select_case operation{core_, out, case_kind::receive, false};
  return do_unless_ended(operation, ctx, error) && operation.received;
}

namespace {

context_callback call_when_ended(const context& ctx, std::function<void()>&& f, bool in_goroutine) {
  auto c = std::make_shared<context_callback_node>();
  c->function = std::move(f);
  c->in_goroutine = in_goroutine;
  ending_node* n = context_access::ends_with(ctx);
  if (n == nullptr) return context_access::callback(c, ctx);
  {
    const std::lock_guard lock(n->guard);
    if (n->state.load_relaxed() == ending_node::live) {
      c->keeper = ctx;
      c->self = c;
      c->push_to(n->callbacks);
      return context_access::callback(c, ctx);
    }
  }
  if (in_goroutine) {
    go(c->function);
  } else {
    c->function();
  }
  return {};
}

}  // namespace

context_callback call_after(const context& ctx, std::function<void()> f) {
  return call_when_ended(ctx, std::move(f), true);
}
context_callback call_at_end(const context& ctx, std::function<void()> f) {
  return call_when_ended(ctx, std::move(f), false);
}

bool can_end(const context& ctx) noexcept { return context_access::ends_with(ctx) != nullptr; }

}  // namespace detail

using detail::context_access;
using detail::ending_node;

const std::error_category& context_category() noexcept {
  static const detail::category the_one;
  return the_one;
}

// ---- context ----

const context& context::background() noexcept {
  static const context root;
  return root;
}

context::context(const context& other) noexcept : node_(other.node_) {
  if (node_ != nullptr) node_->retain();
}
context::~context() { detail::context_node::release(node_); }

recv_chan<void> context::done() const {
  ending_node* n = context_access::ends_with(*this);
  if (n == nullptr) return nullptr;
  if (n->has_channel.load_acquire("CX-3")) return n->channel;
  const std::lock_guard lock(n->guard);
  if (!n->channel) {
    n->channel = chan<void>();
    detail::chan_core* core = n->channel.ref().core();
    core->is_of_context = true;
    core->context = n;
    if (n->state.load_relaxed() != ending_node::live) n->channel.close();
    n->has_channel.store_release(true, "CX-3");
  }
  return n->channel;
}

std::error_code context::error() const noexcept {
  ending_node* n = context_access::ends_with(*this);
  if (n == nullptr) return {};
  const std::uint32_t state = n->state.load_acquire("CX-2");
  if (state == ending_node::live) return {};
  if ((state & ending_node::closing) != 0) {
    const std::lock_guard wait(n->guard);
  }
  return ending_node::code_of(state);
}

std::exception_ptr context::cause() const {
  const std::error_code ended = error();
  if (!ended) return nullptr;
  const std::exception_ptr& given = context_access::ends_with(*this)->cause;  // CX-2, by error()
  if (given != nullptr) return given;
  return std::make_exception_ptr(std::system_error(ended));
}

std::optional<time_point> context::deadline() const noexcept {
  const ending_node* n = context_access::ends_with(*this);
  if (n == nullptr || n->deadline_ns == detail::no_deadline) return std::nullopt;
  return time_point(std::chrono::nanoseconds(n->deadline_ns));
}

const void* context::find(std::string_view key, const std::type_info& type) const noexcept {
  for (const detail::context_node* n = node_; n != nullptr; n = n->parent) {
    if (const void* found = n->find(key, type)) return found;
  }
  return nullptr;
}

namespace {

// std::stop_callback tells by the thread whether its own function destroys it, or another caller,
// which must wait. So the goroutine stays on its thread while the functions run, and no other
// goroutine comes there: these functions may park.
void request_stop(std::stop_source& source) noexcept {
  const os_thread_lock same_thread;
  source.request_stop();
}

}  // namespace

std::stop_token context::stop_token() const {
  ending_node* n = context_access::ends_with(*this);
  if (n == nullptr) return {};
  const std::lock_guard lock(n->guard);
  if (n->stop.stop_possible()) return n->stop.get_token();
  std::stop_source source;
  if (n->state.load_relaxed() != ending_node::live) {
    source.request_stop();
  } else {
    auto c = std::make_shared<detail::context_callback_node>();
    c->function = [source]() mutable { request_stop(source); };
    c->self = c;
    c->push_to(n->callbacks);
  }
  n->stop = source;
  return source.get_token();
}

std::string context::to_string() const {
  std::string text;
  for (const detail::context_node* n = node_; n != nullptr; n = n->parent)
    text.insert(0, '.' + n->describe());
  return text.insert(0, "background");
}

// ---- contexts made from others ----

void cancel_function::operator()() const noexcept {
  if (ending_node* n = context_access::ends_with(ctx_))
    detail::end(n, context_errc::canceled, nullptr);
}
void cancel_cause_function::operator()(std::exception_ptr cause) const noexcept {
  if (ending_node* n = context_access::ends_with(ctx_))
    detail::end(n, context_errc::canceled, cause);
}

std::pair<context, cancel_function> with_cancel(const context& parent) {
  context made = detail::join_tree(new ending_node(parent, "with_cancel"));
  return {made, cancel_function(made)};
}

std::pair<context, cancel_cause_function> with_cancel_cause(const context& parent) {
  context made = detail::join_tree(new ending_node(parent, "with_cancel_cause"));
  return {made, cancel_cause_function(made)};
}

std::pair<context, cancel_function> with_deadline(const context& parent, instant when,
                                                  std::exception_ptr cause) {
  const auto earlier = parent.deadline();
  if (when == time_point::max() || (earlier && *earlier <= when)) return with_cancel(parent);
  auto* n = new detail::deadline_node(parent, when, std::move(cause));
  context made = detail::join_tree(n);
  if (when <= std::chrono::steady_clock::now()) {
    detail::end(n, context_errc::deadline_exceeded, n->late);
  } else {
    n->arm();
  }
  return {made, cancel_function(made)};
}

std::pair<context, cancel_function> with_timeout(const context& parent, time_span d,
                                                 std::exception_ptr cause) {
  return with_deadline(parent, detail::time_in(d), std::move(cause));
}

context with_stop_token(const context& parent, std::stop_token token) {
  auto* n = new detail::token_node(parent);
  context made = detail::join_tree(n);
  n->registration.emplace(std::move(token), detail::token_node::canceler{n});
  return made;
}

namespace this_goroutine {

void sleep_for(time_span d, const context& ctx, std::error_code& error) {
  error = ctx.error();
  if (error) return;
  if (select(on_receive(ctx.done()), on_timeout(d)) == 0) error = ctx.error();
}
void sleep_for(time_span d, const context& ctx) {
  std::error_code error;
  sleep_for(d, ctx, error);
  if (error) throw std::system_error(error, "sley: sleep");
}

void sleep_until(instant t, const context& ctx, std::error_code& error) {
  const time_point when = t;
  sleep_for(detail::time_until(when), ctx, error);
}
void sleep_until(instant t, const context& ctx) {
  std::error_code error;
  sleep_until(t, ctx, error);
  if (error) throw std::system_error(error, "sley: sleep");
}

}  // namespace this_goroutine

context without_cancel(const context& parent) {
  return context_access::adopt(new detail::endless_node(parent));
}

bool context_callback::stop() const noexcept {
  if (node_ == nullptr) return false;
  context kept;
  std::shared_ptr<detail::context_callback_node> self;  // both outlive the lock
  ending_node* n = context_access::ends_with(ctx_);
  bool is_stopped = false;
  if (n == nullptr) return node_->is_stopped.cas_relaxed(is_stopped, true);
  const std::lock_guard lock(n->guard);
  if (!node_->is_linked()) return false;
  node_->unlink();
  kept = std::move(node_->keeper);
  self = std::move(node_->self);
  return true;
}

}  // namespace sley
