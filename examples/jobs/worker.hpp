// Takes jobs, fetches their pages, records what came of them.
#pragma once

#include "monitor.hpp"
#include "options.hpp"
#include "queue.hpp"
#include "results.hpp"

#include <sley/context.hpp>
#include <sley/http.hpp>

#include <memory>
#include <optional>

namespace jobs {

class worker {
 public:
  explicit worker(const options& o);

  // For the first contact with PostgreSQL. Parks until that answers or the context ends.
  void make_tables(const sley::context& ctx);
  // Does one job after the other until `taking` ends. The job under way then goes on until it is
  // finished or `working` ends. options::parallel goroutines call this.
  void do_jobs(const sley::context& taking, const sley::context& working);

  jobs::monitor monitor;

 private:
  void do_job(const job& j, const sley::context& working);
  std::optional<page> fetch(const job& j, const sley::context& ctx);
  page try_to_fetch(const job& j, const sley::context& ctx);

  const options& options_;
  const std::unique_ptr<queue> queue_;
  results results_;
  sley::http::client client_;
};

}  // namespace jobs
