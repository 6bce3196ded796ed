// expect: a const listener cannot be closed at the end
#include <sley/net.hpp>
#include <sley/serve.hpp>
#include <sley/sley.hpp>

void snippet() {
#ifdef CORRECTED
  sley::net::tcp_listener listener;
#else
  const sley::net::tcp_listener listener;
#endif
  sley::net::serve(listener, {}, [](sley::net::tcp_stream) {});
}
