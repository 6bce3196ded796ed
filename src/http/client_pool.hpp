// The connections of a client.
#pragma once

#include "http/input_buffer.hpp"
#include "http/late_deadline.hpp"

#include <sley/chan.hpp>
#include <sley/context.hpp>
#include <sley/detail/accepting.hpp>
#include <sley/http/client.hpp>
#include <sley/http/connection.hpp>
#include <sley/http/url.hpp>
#include <sley/sync.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace sley::http::detail {

// A connection of a client, with the bytes that have come and were not consumed yet.
struct wire {
  explicit wire(connection_ptr c) noexcept : transport(std::move(c)) {}

  const connection_ptr transport;
  input_buffer input;
  late_deadline read_deadline;   // as the transport has them
  late_deadline write_deadline;  // likewise
  bool is_reused = false;
};

// To one host there are never more connections than connections_per_host: each request holds a
// place of the host from take() to the end of its lease, and a new connection is made only by a
// request that holds a place, while no connection is idle there. An idle connection needs no place.
class client_pool : public std::enable_shared_from_this<client_pool> {
  struct host;

 public:
  explicit client_pool(client_options options) : options_(std::move(options)) {}

  // A connection for one request. Without give_back() it is closed.
  class lease {
   public:
    lease() noexcept = default;
    lease(lease&&) noexcept = default;
    lease& operator=(lease&&) = delete;
    ~lease();
    wire& operator*() const noexcept { return *wire_; }
    wire* operator->() const noexcept { return wire_.get(); }
    const std::shared_ptr<wire>& shared() const noexcept { return wire_; }
    // Another request may have it; its input is empty, and no goroutine uses it.
    void give_back();
    void drop() noexcept;
    explicit operator bool() const noexcept { return host_ != nullptr; }

   private:
    friend class client_pool;
    lease(std::shared_ptr<client_pool> pool, std::shared_ptr<host> h,
          sley::detail::place taken) noexcept
        : pool_(std::move(pool)), host_(std::move(h)), place_(std::move(taken)) {}

    std::shared_ptr<client_pool> pool_;
    std::shared_ptr<host> host_;  // null: holds nothing
    std::optional<sley::detail::place> place_;
    std::shared_ptr<wire> wire_;
  };

  // Parks for a place, and for the connection to be made. `is_fresh`: not one that served before.
  lease take(const context& ctx, const url& to, bool is_fresh, std::error_code& error);

  void close_idle();
  // Nothing is kept from now on.
  void close();
  std::size_t idle_connections() const;
  const client_options& options() const noexcept { return options_; }

 private:
  // An idle connection, which a goroutine reads from: so its end is seen, and bytes that no request
  // asked for. The goroutine has the wire to itself until it closes the channel.
  struct idle_wire {
    std::shared_ptr<wire> what;
    chan<void> ended = {};
    bool is_clean = false;  // nothing came
  };
  struct host {
    host(std::string n, std::size_t most)
        : name(std::move(n)), places(sley::detail::make_places(most)) {}
    const std::string name;
    const sley::detail::places_ptr places;         // of requests
    std::size_t users = 0;                         // [lock_] requests that hold or wait for a place
    std::vector<std::shared_ptr<idle_wire>> idle;  // [lock_] the one used last is the last
  };

  std::shared_ptr<host> begin(const url& to);
  void end(const std::shared_ptr<host>& h) noexcept;
  void forget_if_unused(const host& h) noexcept;
  std::shared_ptr<wire> reuse(host& h);
  std::shared_ptr<idle_wire> pop_idle(host& h);
  static void stop_watching(idle_wire& i);
  void keep(const std::shared_ptr<host>& h, std::shared_ptr<wire> w);
  void watch(const std::shared_ptr<host>& h, const std::shared_ptr<idle_wire>& i);
  void end_watching(host& h, const std::shared_ptr<idle_wire>& i);
  bool remove_idle(host& h, const std::shared_ptr<idle_wire>& i);
  connection_ptr dial(const context& ctx, const url& to, std::error_code& error) const;

  const client_options options_;
  mutable mutex lock_;
  bool is_closed_ = false;                              // [lock_]
  std::size_t idle_ = 0;                                // [lock_] of all hosts
  std::map<std::string, std::shared_ptr<host>> hosts_;  // [lock_] by scheme, name and port
};

}  // namespace sley::http::detail
