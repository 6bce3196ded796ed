#include "tls/resumption.hpp"

#include <openssl/x509.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace sley::tls {

namespace {

// A resumed connection shows no certificate again: the one of the first must still be valid.
bool is_usable(const SSL_SESSION* session) noexcept {
  if (SSL_SESSION_is_resumable(session) == 0) return false;
  const X509* peer = SSL_SESSION_get0_peer(const_cast<SSL_SESSION*>(session));
  return peer == nullptr || X509_cmp_current_time(X509_get0_notAfter(peer)) > 0;
}

}  // namespace

session_ptr resumption::take(std::string_view host) {
  std::lock_guard guard(lock_);
  const auto found = std::find_if(entries_.rbegin(), entries_.rend(),
                                  [host](const entry& e) { return e.host == host; });
  if (found == entries_.rend()) return nullptr;
  if (is_usable(found->session.get()) &&
      SSL_SESSION_get_protocol_version(found->session.get()) < TLS1_3_VERSION) {
    SSL_SESSION_up_ref(found->session.get());
    return session_ptr(found->session.get());
  }
  session_ptr session = std::move(found->session);
  entries_.erase(std::next(found).base());
  return is_usable(session.get()) ? std::move(session) : nullptr;
}

void resumption::put(std::string_view host, session_ptr session) {
  entry e{std::string(host), std::move(session)};
  std::lock_guard guard(lock_);
  if (entries_.size() == most) entries_.pop_front();
  entries_.push_back(std::move(e));
}

}  // namespace sley::tls
