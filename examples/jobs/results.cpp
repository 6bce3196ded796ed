#include "results.hpp"

#include <optional>
#include <string_view>

namespace jobs {

namespace postgres = sley::postgres;

namespace {

// In one transaction, and one after the other: "if not exists" alone does not keep two programs
// from making the same table.
constexpr std::string_view tables_sql = R"(select pg_advisory_xact_lock(729303641);
create table if not exists jobs (
  id text primary key,
  place bigint not null generated always as identity unique,
  url text not null,
  deliveries int not null default 0,
  free_at timestamptz not null default now());
create table if not exists results (
  job text primary key,
  url text not null,
  status int not null,
  bytes bigint not null,
  error text not null,
  worker text not null,
  recorded_at timestamptz not null default now());
create table if not exists progress (
  worker text primary key,
  recorded bigint not null))";

// One statement is one transaction. The worker's count grows if the result is new, and only then:
// so any other effect of a job can be had exactly once, as long as it is in this transaction.
constexpr std::string_view record_sql = R"(with recorded as (
  insert into results (job, url, status, bytes, error, worker)
  values ($1, $2, $3, $4, $5, $6)
  on conflict (job) do nothing
  returning worker)
insert into progress (worker, recorded)
select worker, 1 from recorded
on conflict (worker) do update set recorded = progress.recorded + 1)";

long number(const PGresult& r, int row, int column) {
  return std::stol(std::string(postgres::text(r, row, column).value()));
}

}  // namespace

results::results(const options& o)
    : worker_(o.name),
      connections_(postgres::pooled({.conninfo = o.postgres}, {.max = o.parallel})) {}

void results::make_tables(const sley::context& ctx) {
  connections_.acquire(ctx)->execute_script(tables_sql, ctx);
}

bool results::record(const job& done, const page& p, const sley::context& ctx) {
  const postgres::result r = connections_.acquire(ctx)->execute(
      record_sql,
      {done.id, done.url, std::to_string(p.status), std::to_string(p.bytes), p.error, worker_},
      ctx);
  return std::string_view(PQcmdTuples(r.get())) == "1";
}

account results::read_account(const sley::context& ctx) {
  const auto c = connections_.acquire(ctx);
  const postgres::result all =
      c->execute("select count(*), count(*) filter (where error <> '') from results", {}, ctx);
  const postgres::result workers =
      c->execute("select worker, recorded from progress order by worker", {}, ctx);
  account a{.recorded = number(*all, 0, 0), .failed = number(*all, 0, 1)};
  for (int i = 0; i < postgres::rows(*workers); ++i) {
    a.by_worker.emplace_back(postgres::text(*workers, i, 0).value(), number(*workers, i, 1));
  }
  return a;
}

}  // namespace jobs
