// Jobs in a table of PostgreSQL. SKIP LOCKED lets each of many workers take another row at once,
// and none waits for the others. A row says until when it belongs to its worker, so that no
// transaction is open while the page is fetched. The oldest jobs come first, so that a dead
// worker's jobs do not wait until all others are done.
#include "queue.hpp"

#include <sley/context.hpp>
#include <sley/postgres.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace jobs {

namespace {

namespace postgres = sley::postgres;

constexpr std::string_view take_sql =
    R"(update jobs set deliveries = deliveries + 1, free_at = now() + $1::interval
where id = (select id from jobs where free_at <= now() order by place limit 1
            for update skip locked)
returning id, url, deliveries)";

constexpr std::string_view add_sql =
    "insert into jobs (id, url) values ($1, $2) on conflict (id) do nothing";

std::string_view field(const PGresult& r, int code) {
  const char* const found = PQresultErrorField(&r, code);
  return found == nullptr ? std::string_view() : std::string_view(found);
}

void throw_if_refused(std::string_view sql, const PGresult& r) {
  if (PQresultStatus(&r) == PGRES_COMMAND_OK) return;
  throw postgres::server_error(sql, field(r, PG_DIAG_SEVERITY_NONLOCALIZED),
                               field(r, PG_DIAG_SQLSTATE), field(r, PG_DIAG_MESSAGE_PRIMARY));
}

class postgres_queue final : public queue {
 public:
  explicit postgres_queue(const options& o)
      : claim_(std::to_string(o.claim.count()) + " milliseconds"),
        connections_(postgres::pooled({.conninfo = o.postgres}, {.max = o.parallel})) {}

  void add(const std::vector<job>& more, const sley::context& ctx) override {
    postgres::pipeline additions;
    for (const job& j : more) additions.add(add_sql, {j.id, j.url});
    for (const postgres::result& r : connections_.acquire(ctx)->run(additions, ctx)) {
      throw_if_refused(add_sql, *r);
    }
  }

  std::optional<job> take(const sley::context& ctx) override {
    using namespace std::chrono_literals;
    auto c = connections_.acquire(ctx);
    const postgres::result r = c->execute(take_sql, {claim_}, ctx);
    c.give_back();
    if (postgres::rows(*r) == 0) {
      sley::this_goroutine::sleep_for(200ms, ctx);
      return std::nullopt;
    }
    return job{.id = std::string(postgres::text(*r, 0, 0).value()),
               .url = std::string(postgres::text(*r, 0, 1).value()),
               .deliveries = std::stoi(std::string(postgres::text(*r, 0, 2).value()))};
  }

  void finish(const job& done, const sley::context& ctx) override {
    connections_.acquire(ctx)->execute("delete from jobs where id = $1", {done.id}, ctx);
  }

  long count_unfinished(const sley::context& ctx) override {
    const postgres::result r =
        connections_.acquire(ctx)->execute("select count(*) from jobs", {}, ctx);
    return std::stol(std::string(postgres::text(*r, 0, 0).value()));
  }

 private:
  const std::string claim_;
  sley::pool<postgres::connection> connections_;
};

}  // namespace

std::unique_ptr<queue> make_postgres_queue(const options& o) {
  return std::make_unique<postgres_queue>(o);
}

}  // namespace jobs
