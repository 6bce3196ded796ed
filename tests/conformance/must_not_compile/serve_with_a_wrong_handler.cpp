// expect: the handler cannot be called with a stream of this listener
#include <sley/net.hpp>
#include <sley/serve.hpp>
#include <sley/sley.hpp>

void snippet() {
  sley::net::tcp_listener listener;
#ifdef CORRECTED
  sley::net::serve(listener, {}, [](sley::net::tcp_stream) {});
#else
  sley::net::serve(listener, {}, [](sley::net::unix_stream) {});
#endif
}
