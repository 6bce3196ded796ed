#include "queue.hpp"

namespace jobs {

std::unique_ptr<queue> make_queue(const options& o) {
  return o.engine == engine::redis ? make_redis_queue(o) : make_postgres_queue(o);
}

}  // namespace jobs
