// Jobs in a stream of Redis (version 6.2 or later), read by a consumer group. Redis keeps for each
// entry that was read which consumer has it, since when, and how often it was read. XAUTOCLAIM
// takes over what its consumer has had for too long.
//
// Redis must keep what it was given: `appendonly yes`.
#include "queue.hpp"

#include <sley/mutex.hpp>
#include <sley/redis.hpp>

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace jobs {

namespace {

namespace redis = sley::redis;

constexpr std::string_view stream = "jobs";
constexpr std::string_view group = "workers";

void throw_if_refused(std::string_view command, const redisReply& r) {
  if (r.type == REDIS_REPLY_ERROR) throw redis::error_reply(command, redis::text(r));
}

// An entry is its id and its fields: ["1700000000000-0", ["id", "batch-1", "url", "http://..."]].
// One that was deleted in the meantime has no fields.
std::optional<job> to_job(const redisReply& entry) {
  if (entry.elements != 2 || entry.element[1]->type != REDIS_REPLY_ARRAY) return std::nullopt;
  job found{.ticket = std::string(redis::text(*entry.element[0])), .deliveries = 1};
  const redisReply& fields = *entry.element[1];
  for (std::size_t i = 0; i + 1 < fields.elements; i += 2) {
    const std::string_view name = redis::text(*fields.element[i]);
    const std::string_view value = redis::text(*fields.element[i + 1]);
    if (name == "id") found.id = value;
    if (name == "url") found.url = value;
  }
  return found;
}

class redis_queue final : public queue {
 public:
  explicit redis_queue(const options& o)
      : name_(o.name),
        claim_ms_(std::to_string(o.claim.count())),
        connections_(redis::pooled({.address = o.redis}, {.max = o.parallel})) {}

  void add(const std::vector<job>& more, const sley::context& ctx) override {
    redis::pipeline additions;
    for (const job& j : more) additions.add({"XADD", stream, "*", "id", j.id, "url", j.url});
    for (const redis::reply& r : connections_.acquire(ctx)->run(additions, ctx)) {
      throw_if_refused("XADD", *r);
    }
  }

  std::optional<job> take(const sley::context& ctx) override {
    const auto c = connections_.acquire(ctx);
    try {
      if (auto abandoned = take_over(*c, ctx)) return abandoned;
      return read_new(*c, ctx);
    } catch (const redis::error_reply& e) {
      if (!e.said().starts_with("NOGROUP")) throw;
      make_group(*c, ctx);
      return std::nullopt;
    }
  }

  void finish(const job& done, const sley::context& ctx) override {
    redis::pipeline both;  // as one step, so that the stream's length is what is not finished
    both.add({"MULTI"})
        .add({"XACK", stream, group, done.ticket})
        .add({"XDEL", stream, done.ticket})
        .add({"EXEC"});
    for (const redis::reply& r : connections_.acquire(ctx)->run(both, ctx)) {
      throw_if_refused("XACK", *r);
    }
  }

  long count_unfinished(const sley::context& ctx) override {
    return static_cast<long>(connections_.acquire(ctx)->command({"XLEN", stream}, ctx)->integer);
  }

 private:
  // One call looks at some of the entries that workers have; the next goes on behind them.
  std::optional<job> take_over(redis::connection& c, const sley::context& ctx) {
    const std::string from = [&] {
      const std::lock_guard guard(lock_);
      return looked_up_to_;
    }();
    const redis::reply r =
        c.command({"XAUTOCLAIM", stream, group, name_, claim_ms_, from, "COUNT", "1"}, ctx);
    {
      const std::lock_guard guard(lock_);
      looked_up_to_ = redis::text(*r->element[0]);
    }
    const redisReply& entries = *r->element[1];
    if (entries.elements == 0) return std::nullopt;
    std::optional<job> found = to_job(*entries.element[0]);
    if (found) found->deliveries = count_deliveries(c, found->ticket, ctx);
    return found;
  }

  // XPENDING tells of an entry: its id, its consumer, for how long, how often it was delivered.
  static int count_deliveries(redis::connection& c, const std::string& ticket,
                              const sley::context& ctx) {
    const redis::reply r = c.command({"XPENDING", stream, group, ticket, ticket, "1"}, ctx);
    return r->elements == 0 ? 1 : static_cast<int>(r->element[0]->element[3]->integer);
  }

  // Waits for a second. A longer wait would be cut short at the end of the worker, and an entry
  // that Redis hands out at that moment would be lost until its claim is over.
  std::optional<job> read_new(redis::connection& c, const sley::context& ctx) {
    const redis::reply r = c.command({"XREADGROUP", "GROUP", group, name_, "COUNT", "1", "BLOCK",
                                      "1000", "STREAMS", stream, ">"},
                                     ctx);
    if (r->type == REDIS_REPLY_NIL) return std::nullopt;
    return to_job(*r->element[0]->element[1]->element[0]);  // of the first stream, the first entry
  }

  static void make_group(redis::connection& c, const sley::context& ctx) {
    try {
      c.command({"XGROUP", "CREATE", stream, group, "0", "MKSTREAM"}, ctx);
    } catch (const redis::error_reply& e) {
      if (!e.said().starts_with("BUSYGROUP")) throw;  // else another worker was faster
    }
  }

  const std::string name_;
  const std::string claim_ms_;
  sley::pool<redis::connection> connections_;
  sley::mutex lock_;
  std::string looked_up_to_ = "0-0";  // under lock_
};

}  // namespace

std::unique_ptr<queue> make_redis_queue(const options& o) {
  return std::make_unique<redis_queue>(o);
}

}  // namespace jobs
