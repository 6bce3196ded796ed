// <sley/curl.hpp> with a server of <sley/http.hpp>, and one that breaks its promises.
#include "support/harness.hpp"
#include "support/memory.hpp"
#include "support/threads.hpp"
#include "support/web.hpp"

#include <sley/curl.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace curl = sley::curl;
namespace http = sley::http;
using sley::context;
using sley::context_errc;
using sley_test::running_server;
using namespace std::chrono_literals;

namespace {

// A handle that gets this page into `body`.
struct page {
  explicit page(const std::string& address) {
    curl::collect(e, body);
    curl_easy_setopt(e.get(), CURLOPT_URL, ("http://" + address + "/").c_str());
  }

  std::string body;
  curl::easy e;
};

long status_of(const curl::easy& e) {
  long status = 0;
  curl_easy_getinfo(e.get(), CURLINFO_RESPONSE_CODE, &status);
  return status;
}

// A handler that answers once it is told to.
struct waiting_handler {
  void operator()(http::request&, http::response& out) const {
    arrived.send();
    released.receive();
    out.send(200, "text/plain", "late");
  }

  sley::chan<void> arrived{1000};
  sley::chan<void> released;
};

}  // namespace

GO_TEST(curl, a_get_brings_the_body_and_the_status) {
  const running_server server(sley_test::hello);
  curl::client client;
  page p(server.address);
  client.perform(p.e);
  EXPECT_EQ(p.body, "hello");
  EXPECT_EQ(status_of(p.e), 200);
}

GO_TEST(curl, a_post_sends_its_body) {
  const running_server server(sley_test::echo_body);
  curl::client client;
  page p(server.address);
  const std::string sent(1'000'000, 'x');
  curl_easy_setopt(p.e.get(), CURLOPT_POSTFIELDS, sent.data());
  curl_easy_setopt(p.e.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(sent.size()));
  client.perform(p.e);
  EXPECT_TRUE(p.body == sent) << p.body.size() << " bytes";
}

GO_TEST(curl, a_handle_keeps_its_connection) {
  const running_server server(sley_test::hello);
  curl::client client;
  page p(server.address);
  for (const long expected : {1L, 0L, 0L}) {
    client.perform(p.e);
    long connects = -1;
    curl_easy_getinfo(p.e.get(), CURLINFO_NUM_CONNECTS, &connects);
    EXPECT_EQ(connects, expected);
  }
  EXPECT_EQ(p.body, "hellohellohello");
}

GO_TEST(curl, a_refused_connection_is_an_error_with_the_code_and_the_words_of_libcurl) {
  curl::client client;
  page p("127.0.0.1:1");
  try {
    client.perform(p.e);
    ADD_FAILURE() << "something listens there";
  } catch (const curl::error& e) {
    EXPECT_EQ(e.code(), curl::make_error_code(CURLE_COULDNT_CONNECT));
    EXPECT_TRUE(e.said().starts_with("Failed to connect to 127.0.0.1 port 1")) << e.said();
    EXPECT_NE(std::string(e.what()).find(e.said()), std::string::npos) << e.what();
  }
  std::error_code error;
  client.perform(p.e, {}, error);
  EXPECT_EQ(error.category(), curl::category());
  EXPECT_EQ(error.value(), CURLE_COULDNT_CONNECT);
  EXPECT_EQ(error.message(), curl_easy_strerror(CURLE_COULDNT_CONNECT));
}

GO_TEST(curl, a_server_that_ends_in_the_middle_is_an_error) {
  const auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
  sley::wait_group serving;
  serving.go([&] {
    const auto stream = listener.accept();
    sley_test::read_head(stream);
    stream.write_all("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nthe beginning");
  });
  curl::client client;
  page p(listener.local().to_string());
  std::error_code error;
  client.perform(p.e, {}, error);
  serving.wait();
  EXPECT_EQ(error, curl::make_error_code(CURLE_PARTIAL_FILE));
  EXPECT_EQ(p.body, "the beginning");
}

GO_TEST(curl, the_end_of_the_server_ends_every_transfer_and_the_client_goes_on) {
  constexpr int transfers = 50;
  const running_server other(sley_test::hello);
  const page first(other.address);  // what libcurl opens once is open now
  const int descriptors = sley_test::open_descriptors();
  {
    curl::client client;
    sley::wait_group performing;
    {
      const auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
      const std::string address = listener.local().to_string();
      for (int i = 0; i < transfers; ++i) {
        performing.go([&client, address] {
          page p(address);
          std::error_code error;
          client.perform(p.e, {}, error);
          EXPECT_EQ(error, curl::make_error_code(CURLE_GOT_NOTHING));
        });
      }
      std::vector<sley::net::tcp_stream> streams;
      for (int i = 0; i < transfers; ++i) {
        streams.push_back(listener.accept());
        sley_test::read_head(streams.back());
      }
    }
    performing.wait();
    page p(other.address);
    client.perform(p.e);
    EXPECT_EQ(p.body, "hello");
  }
  EXPECT_TRUE(sley_test::eventually([&] { return sley_test::open_descriptors() <= descriptors; }))
      << sley_test::open_descriptors() << " instead of " << descriptors;
}

GO_TEST(curl, a_context_gives_a_transfer_up_and_the_handle_goes_on) {
  waiting_handler handler;
  const running_server waits(handler), answers(sley_test::hello);
  curl::client client;
  page p(waits.address);
  const auto [ctx, cancel] = sley::with_cancel(context::background());
  sley::wait_group performing;
  performing.go([&] {
    try {
      client.perform(p.e, ctx);
      ADD_FAILURE() << "there is no answer";
    } catch (const curl::error& e) {
      ADD_FAILURE() << e.what();
    } catch (const std::system_error& e) {
      EXPECT_EQ(e.code(), context_errc::canceled);
    }
  });
  handler.arrived.receive();
  cancel();
  performing.wait();
  handler.released.close();
  std::error_code error;
  client.perform(p.e, ctx, error);
  EXPECT_EQ(error, context_errc::canceled);
  curl_easy_setopt(p.e.get(), CURLOPT_URL, ("http://" + answers.address).c_str());
  client.perform(p.e);
  EXPECT_EQ(p.body, "hello");
}

GO_TEST(curl, libcurls_own_time_limits_hold) {
  waiting_handler handler;
  const running_server server(handler);
  curl::client client;
  page p(server.address);
  curl_easy_setopt(p.e.get(), CURLOPT_TIMEOUT_MS, 20L);
  std::error_code error;
  client.perform(p.e, {}, error);
  EXPECT_EQ(error, curl::make_error_code(CURLE_OPERATION_TIMEDOUT));
  handler.released.close();
}

// All are under way at the same moment: the last one to arrive lets the others go on.
GO_TEST(curl, many_transfers_take_no_threads) {
  constexpr int transfers = 200;
  const int before = sley_test::threads_of_process();
  std::atomic<int> arrived = 0;
  std::atomic<int> threads = 0;
  sley::chan<void> all_are_there;
  const running_server server([&](http::request&, http::response& out) {
    if (++arrived == transfers) {
      threads = sley_test::threads_of_process();
      all_are_there.close();
    }
    all_are_there.receive();
    out.send(200, "text/plain", "hello");
  });
  curl::client client;
  sley::wait_group performing;
  for (int i = 0; i < transfers; ++i) {
    performing.go([&] {
      page p(server.address);
      client.perform(p.e);
      EXPECT_EQ(p.body, "hello");
    });
  }
  performing.wait();
  EXPECT_LT(threads, before + transfers / 4);
}

GO_TEST(curl, stop_ends_the_transfers_under_way_and_later_ones) {
  waiting_handler handler;
  const running_server server(handler);
  auto client = std::make_unique<curl::client>();
  sley::wait_group performing;
  constexpr int transfers = 10;
  for (int i = 0; i < transfers; ++i) {
    performing.go([&] {
      page p(server.address);
      std::error_code error;
      client->perform(p.e, {}, error);
      EXPECT_EQ(error, std::errc::operation_canceled);
    });
  }
  for (int i = 0; i < transfers; ++i) handler.arrived.receive();
  client->stop();
  page p(server.address);
  EXPECT_THROW(client->perform(p.e), std::system_error);
  client.reset();  // the calls have let go of it
  performing.wait();
  handler.released.close();
}

GO_TEST(curl, a_handle_is_for_one_goroutine_at_a_time) {
  waiting_handler handler;
  const running_server server(handler);
  curl::client client, other;
  page p(server.address);
  sley::wait_group performing;
  performing.go([&] { client.perform(p.e); });
  handler.arrived.receive();
  EXPECT_THROW(client.perform(p.e), std::logic_error);
  EXPECT_THROW(other.perform(p.e), std::logic_error);
  handler.released.close();
  performing.wait();
  EXPECT_EQ(p.body, "late");
}

GO_TEST(curl, a_callback_is_refused_the_client_that_calls_it) {
  struct state {
    curl::client client;
    curl::easy other;
    bool is_refused = false;
  } all;
  const running_server server(sley_test::hello);
  page p(server.address);
  using function = std::size_t(char*, std::size_t, std::size_t, void*);
  function* const write = [](char*, std::size_t, std::size_t size, void* self) {
    state& s = *static_cast<state*>(self);
    try {
      s.client.perform(s.other);
    } catch (const std::logic_error&) {
      s.is_refused = true;
    }
    return size;
  };
  curl_easy_setopt(p.e.get(), CURLOPT_WRITEFUNCTION, write);
  curl_easy_setopt(p.e.get(), CURLOPT_WRITEDATA, &all);
  all.client.perform(p.e);
  EXPECT_TRUE(all.is_refused);
}

FOREIGN_TEST(curl, threads_perform_transfers_too) {
  const running_server server(sley_test::hello);
  curl::client client;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      page p(server.address);
      client.perform(p.e);
      EXPECT_EQ(p.body, "hello");
    });
  }
  for (std::thread& t : threads) t.join();
}
