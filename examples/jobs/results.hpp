// The tables of PostgreSQL: what came of each job, recorded exactly once, and how far each worker
// is.
#pragma once

#include "job.hpp"
#include "options.hpp"

#include <sley/context.hpp>
#include <sley/postgres.hpp>

#include <string>
#include <utility>
#include <vector>

namespace jobs {

// What came of a page.
struct page {
  int status = 0;          // of HTTP; 0: there was no answer
  long bytes = 0;          // of the body
  std::string error = {};  // why there was none
};

// How many jobs are recorded, and which worker has recorded how many of them.
struct account {
  long recorded = 0;
  long failed = 0;  // of those: with an error
  std::vector<std::pair<std::string, long>> by_worker = {};
};

// Throws what <sley/postgres.hpp> throws. Several goroutines may use it.
class results {
 public:
  explicit results(const options& o);

  // Makes the tables where there are none, the queue's too.
  void make_tables(const sley::context& ctx);
  // Returns whether the job was not recorded before. If it was, nothing changes.
  bool record(const job& done, const page& p, const sley::context& ctx);
  account read_account(const sley::context& ctx);

 private:
  const std::string worker_;
  sley::pool<sley::postgres::connection> connections_;
};

}  // namespace jobs
