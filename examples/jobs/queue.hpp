// Where jobs wait for workers. A worker that takes a job has a claim to it for some time. A job
// that is not finished by then is handed out again, because its worker may be dead. So each job is
// handed out at least once, and sometimes to two workers.
#pragma once

#include "job.hpp"
#include "options.hpp"

#include <sley/context.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace jobs {

// All functions throw what the servers' connections throw, and several goroutines may call them.
class queue {
 public:
  virtual ~queue() = default;

  // Adds the jobs. After an error some or all of them may have been added.
  virtual void add(const std::vector<job>& more, const sley::context& ctx) = 0;
  // A job, for as long as options::claim. None if none came within a second.
  virtual std::optional<job> take(const sley::context& ctx) = 0;
  // The job's result is recorded: it is never handed out again. Harmless if it was called before.
  virtual void finish(const job& done, const sley::context& ctx) = 0;
  // How many jobs are not finished.
  virtual long count_unfinished(const sley::context& ctx) = 0;
};

std::unique_ptr<queue> make_redis_queue(const options& o);
std::unique_ptr<queue> make_postgres_queue(const options& o);

// The one that options::engine names.
std::unique_ptr<queue> make_queue(const options& o);

}  // namespace jobs
