// Names become addresses: the system's resolver, as a blocking call in a goroutine of its own, so
// that who asks can give up. From Go's net.Resolver with its singleflight.
#include <sley/chan.hpp>
#include <sley/go.hpp>
#include <sley/net.hpp>
#include <sley/runtime.hpp>
#include <sley/select.hpp>
#include <sley/sync.hpp>

#include "io/perform.hpp"
#include "io/resolve.hpp"
#include "io/socket.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <new>

namespace sley::io {

namespace {

// One question to the resolver, which any number wait for.
struct question {
  std::string host;
  chan<void> answered;
  std::vector<net::endpoint> answer;  // written before `answered` is closed
  std::error_code error;              // likewise
};

struct open_questions {
  mutex lock;
  std::map<std::string, std::shared_ptr<question>, std::less<>> by_host;  // [lock: lock]
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
  const int result = blocking([&] {
    const int r = ::getaddrinfo(q.host.c_str(), nullptr, &hints, &list);
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

std::shared_ptr<question> find_or_ask(std::string_view host) {
  open_questions& all = all_open();
  std::lock_guard guard(all.lock);
  if (const auto found = all.by_host.find(host); found != all.by_host.end()) return found->second;
  auto q = std::make_shared<question>();
  q->host = host;
  const auto place = all.by_host.emplace(q->host, q).first;
  try {
    go([q, &all] {
      ask(*q);
      {
        std::lock_guard inner(all.lock);
        all.by_host.erase(q->host);
      }
      q->answered.close();
    });
  } catch (...) {
    all.by_host.erase(place);  // nobody would answer it
    throw;
  }
  return q;
}

class category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "sley.resolver"; }
  std::string message(int value) const override { return ::gai_strerror(value); }
};

}  // namespace

std::vector<net::endpoint> resolve(std::string_view host, const context& ctx,
                                   std::error_code& error) {
  error.clear();
  std::error_code is_name;
  if (const auto literal = parse_ip(host, 0, is_name); !is_name) return {literal};
  const std::shared_ptr<question> q = find_or_ask(host);
  if (select(on_receive(q->answered), on_receive(ctx.done())) == 1) {
    error = ctx.error();
    return {};
  }
  error = q->error;
  return q->answer;
}

namespace {

// Every address of the machine, of both families where there is IPv6.
net::endpoint anywhere(std::uint16_t port) {
  std::error_code error;
  const int probe = open_socket(AF_INET6, SOCK_STREAM, error);
  if (probe < 0) return {"0.0.0.0", port};
  ::close(probe);
  return {"::", port};
}

}  // namespace

net::endpoint where_to_listen(std::string_view host_port, std::error_code& error) {
  const host_and_port parts = split_host_port(host_port, error);
  if (error) return {};
  if (parts.host.empty()) return anywhere(parts.port);
  const auto found = resolve(parts.host, context::background(), error);
  return error ? net::endpoint() : with_port(found.front(), parts.port);
}

std::vector<net::endpoint> where_to_connect(std::string_view host_port, const context& ctx,
                                            std::error_code& error) {
  const host_and_port parts = split_host_port(host_port, error);
  if (error) return {};
  auto found = resolve(parts.host.empty() ? "localhost" : parts.host, ctx, error);
  for (net::endpoint& e : found) e = with_port(e, parts.port);
  return found;
}

}  // namespace sley::io

namespace sley::net {

const std::error_category& resolver_category() noexcept {
  static const io::category instance;
  return instance;
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
  if (error) throw io::failed(error, "sley: lookup of", host);
  return found;
}

}  // namespace sley::net
