// What the snippets of the documents leave out, in a namespace named after the document.
#pragma once

#include <sley/buffered.hpp>
#include <sley/debug.hpp>
#include <sley/http.hpp>
#include <sley/https.hpp>
#include <sley/log.hpp>
#include <sley/os.hpp>
#include <sley/poll_loop.hpp>
#include <sley/serve.hpp>
#include <sley/sley.hpp>

#include <gtest/gtest.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <syslog.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

using namespace std::chrono_literals;

namespace blocking_and_preemption {
extern int fd;
extern char buffer[4096];
extern long size, offset;
}  // namespace blocking_and_preemption

namespace goroutines_and_threads {
extern int fd;
extern char buffer[4096];
extern long size;
}  // namespace goroutines_and_threads

namespace debugging {
void work();
struct order {
  int items;
};
void check(const order&);
extern const sley::debug::trace::flight_recorder recorder;
extern sley::rate_limiter once_a_minute;
extern sley::http::response& out;
}  // namespace debugging

namespace http {
extern sley::http::router routes;
extern std::string url;
}  // namespace http

namespace interoperation {

namespace my {
// The interface of any library's coroutines.
template <class T>
struct task {
  struct promise_type {
    task get_return_object();
    std::suspend_never initial_suspend();
    std::suspend_never final_suspend() noexcept;
    void return_value(T);
    void unhandled_exception();
  };
  bool await_ready();
  void await_suspend(std::coroutine_handle<>);
  T await_resume();
};
}  // namespace my

int checked(int);
my::task<int> sum_of(sley::chan<int> numbers, sley::chan<int> sums);
extern sley::chan<int> numbers, sums;
void work();

// c-ares's
struct ares_channeldata;
using ares_channel = ares_channeldata*;
struct ares_options {
  void (*sock_state_cb)(void* data, int socket_fd, int readable, int writable);
  void* sock_state_cb_data;
};
constexpr int ARES_SUCCESS = 0, ARES_SOCKET_BAD = -1, ARES_OPT_SOCK_STATE_CB = 1 << 9;
using ares_callback = void(void* arg, int status, int timeouts, unsigned char* abuf, int alen);
int ares_init_options(ares_channel*, ares_options*, int optmask);
void ares_destroy(ares_channel);
void ares_query(ares_channel, const char* name, int dnsclass, int type, ares_callback*, void* arg);
timeval* ares_timeout(ares_channel, timeval* maxtv, timeval* tv);
void ares_process_fd(ares_channel, int read_fd, int write_fd);
const char* ares_strerror(int code);

}  // namespace interoperation

namespace network_and_files {
void use(const std::string&);
void use(const sley::net::tls_stream&);
extern sley::net::tcp_stream stream;
extern std::array<std::byte, 4096> buffer;
extern sley::net::tcp_listener listener;
extern sley::chan<void> stopping;
void serve(sley::net::tcp_stream connection);
extern sley::context ctx;

// libpq's
struct PGconn;
int PQsocket(const PGconn*);
int PQflush(PGconn*);
int PQconsumeInput(PGconn*);
extern PGconn* connection;

}  // namespace network_and_files

namespace readme {
extern sley::context ctx;
extern std::string id;
void print(std::string_view);
}  // namespace readme

namespace synchronisation {
struct page {};
page fetch(const std::string& url, const sley::context& ctx);
extern std::vector<std::string> urls;
extern sley::context ctx;
extern sley::mutex lock;
}  // namespace synchronisation

namespace testing {  // gtest's as well
class account {
 public:
  explicit account(int);
  void withdraw(int);
  int balance() const;
};
}  // namespace testing
