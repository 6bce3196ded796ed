// Names become addresses: the system's resolver, as a blocking call in a goroutine of its own, so
// that the askers can give up. From Go's net.Resolver with its singleflight, and its limit of
// threads (net.acquireThread), which here makes questions wait and not goroutines: a question that
// has no askers left is taken out of the queue.
#include <sley/chan.hpp>
#include <sley/detail/c_text.hpp>
#include <sley/go.hpp>
#include <sley/net.hpp>
#include <sley/runtime.hpp>
#include <sley/select.hpp>
#include <sley/sync.hpp>

#include "io/perform.hpp"
#include "io/resolve.hpp"
#include "io/socket.hpp"
#include "runtime/state/family.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>

namespace sley::io {

namespace {

constexpr std::size_t usual_limit = 64;

// One question to the resolver, which any number of goroutines wait for.
enum class asked_for : bool { host, service };
using question_name = std::pair<asked_for, std::string>;
struct question {
  question_name name;
  chan<void> answered;
  std::size_t askers = 0;             // [lock: that of open_questions]
  std::vector<net::endpoint> answer;  // written before `answered` is closed
  std::error_code error;              // likewise
};
using question_ptr = std::shared_ptr<question>;

// A question is in the queue, or with a worker, or it is answered. Each worker is a goroutine that
// asks one question after the other, so there are never more calls than workers.
struct open_questions {
  mutex lock;
  std::map<question_name, question_ptr> by_name;  // [lock: lock] not answered yet
  std::deque<question_ptr> queue;                 // [lock: lock] of these, not asked yet
  std::size_t workers = 0;                        // [lock: lock]
  std::size_t limit = usual_limit;                // [lock: lock] of workers
};

open_questions& all_open() {
  static auto* const all = new open_questions;  // goroutines may use it until the process is gone
  return *all;
}

void ask(question& q) noexcept {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;  // each address once
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* list = nullptr;
  int system_error = 0;
  const auto& [what, text] = q.name;
  const char* host = what == asked_for::host ? text.c_str() : nullptr;
  const char* service = what == asked_for::service ? text.c_str() : nullptr;
  const int result = blocking([&] {
    const int r = ::getaddrinfo(host, service, &hints, &list);
    system_error = platform::last_errno();
    return r;
  });
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, ::freeaddrinfo);
  if (result != 0) {
    q.error = result == EAI_SYSTEM ? system_error_of(system_error)
                                   : std::error_code(result, net::resolver_category());
    return;
  }
  try {
    for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
      q.answer.emplace_back(a->ai_addr, a->ai_addrlen);
    }
  } catch (const std::bad_alloc&) {
    q.error = std::make_error_code(std::errc::not_enough_memory);
  }
}

// What a worker asks next. Null: the worker ends.
question_ptr next_question(open_questions& all) {
  const std::lock_guard guard(all.lock);
  if (all.queue.empty() || all.workers > all.limit) {
    --all.workers;
    return nullptr;
  }
  question_ptr next = std::move(all.queue.front());
  all.queue.pop_front();
  return next;
}

void work() {
  open_questions& all = all_open();
  while (const question_ptr q = next_question(all)) {
    ask(*q);
    {
      const std::lock_guard guard(all.lock);
      all.by_name.erase(q->name);
    }
    q->answered.close();
  }
}

// Requires the lock. Without memory for another worker one of those at work asks later; if there is
// none, the caller is told.
void start_workers(open_questions& all) {
  const rt::without_heritage guard;
  for (std::size_t wanted = all.queue.size(); wanted > 0 && all.workers < all.limit; --wanted) {
    try {
      go(&work);
    } catch (const std::bad_alloc&) {
      if (all.workers == 0) throw;
      return;
    }
    ++all.workers;
  }
}

// Requires the lock. No asker waits for the answer any more.
void withdraw(open_questions& all, const question_ptr& q) noexcept {
  if (std::erase(all.queue, q) != 0) all.by_name.erase(q->name);
}

// The caller is one of its askers.
question_ptr find_or_ask(const question_name& name) {
  open_questions& all = all_open();
  const std::lock_guard guard(all.lock);
  if (const auto found = all.by_name.find(name); found != all.by_name.end()) {
    ++found->second->askers;
    return found->second;
  }
  auto q = std::make_shared<question>();
  q->name = name;
  q->askers = 1;
  all.queue.push_back(q);
  try {
    all.by_name.emplace(name, q);
    start_workers(all);
  } catch (...) {
    withdraw(all, q);
    throw;
  }
  return q;
}

void give_up(const question_ptr& q) noexcept {
  open_questions& all = all_open();
  const std::lock_guard guard(all.lock);
  if (--q->askers == 0) withdraw(all, q);
}

std::vector<net::endpoint> answer_to(const question_name& name, const context& ctx,
                                     std::error_code& error) {
  const question_ptr q = find_or_ask(name);
  if (select(on_receive(q->answered), on_receive(ctx.done())) == 1) {
    give_up(q);
    error = ctx.error();
    return {};
  }
  error = q->error;
  return q->answer;
}

class category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "sley.resolver"; }
  std::string message(int value) const override { return ::gai_strerror(value); }
};

}  // namespace

std::vector<net::endpoint> resolve(std::string_view host, const context& ctx,
                                   std::error_code& error) {
  error = ctx.error();
  if (error || detail::has_zero_byte(host, error)) return {};
  std::error_code is_name;
  if (const auto literal = parse_ip(host, 0, is_name); !is_name) return {literal};
  return answer_to({asked_for::host, std::string(host)}, ctx, error);
}

namespace {

// The number that a port's text stands for. A name that is no service's is an invalid argument.
std::uint16_t port_of(const std::string& text, const context& ctx, std::error_code& error) {
  std::uint16_t number = 0;
  const char* end = text.data() + text.size();
  const auto [parsed_to, is_no_number] = std::from_chars(text.data(), end, number);
  if (is_no_number == std::errc() && parsed_to == end) return number;
  // The resolver takes " 80" and "+80" for numbers.
  const char first = text.empty() ? '0' : static_cast<char>(text.front() | ' ');
  if (first < 'a' || first > 'z') {
    error = std::make_error_code(std::errc::invalid_argument);
    return 0;
  }
  const auto found = answer_to({asked_for::service, text}, ctx, error);
  if (error.category() == net::resolver_category()) {
    error = std::make_error_code(std::errc::invalid_argument);
  }
  return error ? std::uint16_t{0} : found.front().port();
}

// Every address of the machine, of both families where there is IPv6.
net::endpoint anywhere(std::uint16_t port) {
  std::error_code error;
  const int probe = open_socket(AF_INET6, SOCK_STREAM, error);
  if (probe < 0) return {"0.0.0.0", port};
  ::close(probe);
  return {"::", port};
}

}  // namespace

net::endpoint where_to_listen(std::string_view host_port, const context& ctx,
                              std::error_code& error) {
  const host_and_port parts = split_host_port(host_port, error);
  if (error) return {};
  const std::uint16_t port = port_of(parts.port, ctx, error);
  if (error) return {};
  if (parts.host.empty()) return anywhere(port);
  const auto found = resolve(parts.host, ctx, error);
  return error ? net::endpoint() : with_port(found.front(), port);
}

std::vector<net::endpoint> where_to_connect(std::string_view host_port, const context& ctx,
                                            std::error_code& error) {
  const host_and_port parts = split_host_port(host_port, error);
  if (error) return {};
  const std::uint16_t port = port_of(parts.port, ctx, error);
  if (error) return {};
  auto found = resolve(parts.host.empty() ? "localhost" : parts.host, ctx, error);
  for (net::endpoint& e : found) e = with_port(e, port);
  return found;
}

}  // namespace sley::io

namespace sley::net {

const std::error_category& resolver_category() noexcept {
  static const io::category instance;
  return instance;
}

int set_max_lookups(int n) {
  if (n < 1) throw std::invalid_argument("sley::net::set_max_lookups: the limit is below 1");
  io::open_questions& all = io::all_open();
  const std::lock_guard guard(all.lock);
  const std::size_t before = std::exchange(all.limit, static_cast<std::size_t>(n));
  io::start_workers(all);
  return static_cast<int>(before);
}

std::vector<endpoint> lookup(std::string_view host, const context& ctx, std::error_code& error) {
  return io::resolve(host, ctx, error);
}
std::vector<endpoint> lookup(std::string_view host, std::error_code& error) {
  return lookup(host, context::background(), error);
}
std::vector<endpoint> lookup(std::string_view host, const context& ctx) {
  std::error_code error;
  auto found = lookup(host, ctx, error);
  if (error) throw detail::failed(error, "sley: lookup of", host);
  return found;
}

}  // namespace sley::net
