// Sessions of a client that its next connections to the same host go on with (RFC 8446, 2.2).
#pragma once

#include <openssl/ssl.h>

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace sley::tls {

struct free_session {
  void operator()(SSL_SESSION* session) const noexcept { SSL_SESSION_free(session); }
};
using session_ptr = std::unique_ptr<SSL_SESSION, free_session>;

// Any thread may call. Its lock is the standard's: it is taken while OpenSSL runs, where no
// goroutine may park.
class resumption {
 public:
  // The newest that can still be used; null if there is none. One of TLS 1.3 is given away once
  // only, so that no observer sees that two connections are of the same client (RFC 8446, C.4).
  session_ptr take(std::string_view host);
  void put(std::string_view host, session_ptr session);

 private:
  static constexpr std::size_t most = 256;

  struct entry {
    std::string host;
    session_ptr session;
  };

  std::mutex lock_;
  std::deque<entry> entries_;  // the newest last
};

}  // namespace sley::tls
