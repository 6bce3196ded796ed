// Worker pool: a fixed number of goroutines share the jobs of one channel.
//
// Closing `jobs` tells the workers that no more will come. The last of them to finish lets the wait
// group go, and then `results` is closed, which ends the loop that gathers them.
#include <sley/sley.hpp>

#include <cstddef>
#include <cstdio>
#include <map>

struct result {
  unsigned start;
  unsigned steps;
};

// The length of the Collatz sequence from n down to 1.
unsigned collatz_steps(unsigned long n) {
  unsigned steps = 0;
  for (; n != 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
  return steps;
}

int main() {
  return sley::run([] {
    constexpr int workers = 4;
    const sley::chan<unsigned> jobs(16);
    const sley::chan<result> results(16);

    sley::wait_group working;
    for (int i = 0; i < workers; ++i) {
      working.go([jobs, results] {
        for (const unsigned start : jobs) results.send({start, collatz_steps(start)});
      });
    }

    sley::go([jobs] {
      for (unsigned start = 1; start <= 10'000; ++start) jobs.send(start);
      jobs.close();
    });

    sley::go([&working, results] {
      working.wait();
      results.close();
    });

    // Results come in any order; the map puts them in one.
    std::map<unsigned, unsigned> steps_of;
    for (const result& r : results) steps_of[r.start] = r.steps;

    std::printf("%zu results\n", steps_of.size());
    for (const unsigned start : {1U, 7U, 27U, 97U, 871U, 6171U}) {
      std::printf("%5u takes %3u steps\n", start, steps_of[start]);
    }
  });
}
