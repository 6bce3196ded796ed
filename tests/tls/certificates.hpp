// Certificates for tests, made on the spot: an authority and what it signs.
#pragma once

#include <sley/tls.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace sley_test {

struct identity {
  std::string certificate, key;  // PEM
};

struct certificate_wish {
  std::vector<std::string> names = {"DNS:localhost", "IP:127.0.0.1"};
  std::chrono::hours from = std::chrono::hours(-1), to = std::chrono::hours(24);  // from now
  bool is_rsa = false;  // of what the authority issues: the kind of key, which is else of P-256
};

class authority {
 public:
  explicit authority(const std::string& name = "test authority");
  ~authority();
  authority(const authority&) = delete;
  authority& operator=(const authority&) = delete;

  const std::string& certificate() const { return certificate_; }  // its own
  identity issue(const certificate_wish& wish = {}) const;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
  std::string certificate_;
};

// Signed by no authority but itself.
identity self_signed(const certificate_wish& wish = {});

// One for all tests of a program, and a server's settings with a good certificate of its.
const authority& the_authority();
sley::net::tls_options server_options();
// A client's, that trusts the authority.
sley::net::tls_options client_options();

}  // namespace sley_test
