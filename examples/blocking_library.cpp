// A C library that blocks: goroutines call it as it is, and hold up nothing else.
//
// `query` stands for a client of a database: it knows nothing of goroutines, blocks its thread, and
// allows one caller at a time for each connection. `sley::blocking` announces the call, so that the
// processor goes on with other goroutines at once. (A call that is not announced is noticed too,
// some milliseconds later.) The connections lie in a `sley::pool`, so there are never more threads
// in the library than there are connections.
#include <sley/pool.hpp>
#include <sley/sley.hpp>

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <system_error>
#include <vector>

using namespace std::chrono_literals;

// ---- the library ----

struct connection {
  int queries = 0;
};

// Returns 0, or -1 with an error number in `errno`.
int query(connection* c, unsigned long key, char* answer, std::size_t size) {
  usleep(5000);  // the thread sleeps in the kernel, as it does when it waits for a server
  ++c->queries;
  return std::snprintf(answer, size, "row %lu", key) < 0 ? -1 : 0;
}

// ---- the program ----

class database {
 public:
  explicit database(std::size_t connections)
      : connections_(
            {.make = [](const sley::context&) { return connection(); }, .max = connections}) {}

  std::string row(std::size_t key) {
    auto c = connections_.acquire();  // parks while all are in use; the end of c gives it back
    char answer[32];
    // errno belongs to the thread, and the goroutine may go on on another one: read it inside.
    const int error =
        sley::blocking([&] { return query(c.get(), key, answer, sizeof answer) == 0 ? 0 : errno; });
    if (error == 0) return answer;
    c.discard();  // the next caller gets a new connection
    throw std::system_error(error, std::generic_category(), "query");
  }

 private:
  sley::pool<connection> connections_;
};

int main() {
  return sley::run([] {
    database db(10);
    std::vector<std::string> rows(100);
    const auto start = std::chrono::steady_clock::now();
    {
      sley::scope all;
      for (std::size_t key = 0; key < rows.size(); ++key) {
        all.go([&, key] { rows[key] = db.row(key); });
      }
      // Meanwhile other goroutines go on, although at most SLEY_MAXPROCS of them run at a time.
      sley::ticker ticker(1ms);
      for (int beats = 0; beats < 10; ++beats) ticker.channel().receive();
      std::puts("ten beats");
    }
    const auto duration = std::chrono::steady_clock::now() - start;
    std::printf("%zu queries, the last one found %s\n", rows.size(), rows.back().c_str());
    std::printf("no faster than the library allows: %s\n", duration >= 50ms ? "yes" : "no");
  });
}
