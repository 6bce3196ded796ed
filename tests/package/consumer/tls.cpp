// The smallest program that needs the library for TLS, and what that needs.
#include <sley/sley.hpp>
#include <sley/tls.hpp>

#include <cstdio>

int main() {
  return sley::run([] {
    const auto context = sley::net::tls_context::client();
    if (context) std::puts("hello from the installed sley");
  });
}
