// A C library that blocks: goroutines call it as it is, and hold up nothing else.
//
// `query` stands for a client of a database: it knows nothing of goroutines, blocks its thread, and
// allows one caller at a time for each connection. `sley::blocking` announces the call, so that the
// processor goes on with other goroutines at once. (A call that is not announced is noticed too,
// some milliseconds later.) The connections lie in a channel: a goroutine takes one out and puts
// it back, so there are never more threads in the library than there are connections.
#include <sley/sley.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;

// ---- the library ----

struct connection {
  int queries = 0;
};

// Returns 0, or -1 with an error number in `errno`.
int query(connection* c, int key, char* answer, std::size_t size) {
  usleep(5000);  // the thread sleeps in the kernel, as it does when it waits for a server
  ++c->queries;
  return std::snprintf(answer, size, "row %d", key) < 0 ? -1 : 0;
}

// ---- the program ----

class database {
 public:
  explicit database(int connections) : connections_(connections), idle_(connections) {
    for (connection& c : connections_) idle_.send(&c);
  }

  std::string row(int key) {
    connection* const c = *idle_.receive();  // parks while all are in use
    char answer[32];
    // errno belongs to the thread, and the goroutine may go on on another one: read it inside.
    const int error =
        sley::blocking([&] { return query(c, key, answer, sizeof answer) == 0 ? 0 : errno; });
    idle_.send(c);
    if (error != 0) throw std::system_error(error, std::generic_category(), "query");
    return answer;
  }

  int queries() const {
    int sum = 0;
    for (const connection& c : connections_) sum += c.queries;
    return sum;
  }

 private:
  std::vector<connection> connections_;
  sley::chan<connection*> idle_;
};

int main() {
  return sley::run([] {
    database db(10);
    std::vector<std::string> rows(100);
    const auto start = std::chrono::steady_clock::now();
    {
      sley::scope all;
      for (int key = 0; key < 100; ++key) {
        all.go([&, key] { rows[key] = db.row(key); });
      }
      // Meanwhile other goroutines go on, although at most SLEY_MAXPROCS of them run at a time.
      sley::ticker ticker(1ms);
      for (int beats = 0; beats < 10; ++beats) ticker.channel().receive();
      std::puts("ten beats");
    }
    const auto duration = std::chrono::steady_clock::now() - start;
    std::printf("%d queries, the last one found %s\n", db.queries(), rows.back().c_str());
    std::printf("no faster than the library allows: %s\n", duration >= 50ms ? "yes" : "no");
  });
}
