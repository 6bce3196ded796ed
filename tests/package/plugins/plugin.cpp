// A plugin that runs goroutines, some of them on threads that stay, and answers with how many.
#include <sley/net.hpp>
#include <sley/sley.hpp>

#include <atomic>
#include <chrono>
#include <string>

#define JOINED(a, b) a##b
#define PASTED(a, b) JOINED(a, b)

extern "C" int PASTED(run_, NAME)() {
  std::atomic<int> ran{0};
  sley::run([&] {
    sley::wait_group done;
    for (int i = 0; i < 8; ++i) {
      done.go([&] {
        sley::this_goroutine::sleep_for(std::chrono::milliseconds(1));
        ++ran;
      });
    }
    done.go([&] {
      auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
      const auto client = sley::net::tcp_stream::connect(listener.local().to_string());
      ran += listener.accept().local().port() != 0 ? 1 : 0;
    });
    done.go([&] { sley::blocking([&] { ++ran; }); });
    done.wait();
  });
  return ran;
}
