// OpenSSL's errors become std::error_code.
//
// OpenSSL keeps what went wrong in a queue of the thread. So a call of it, and the look at its
// errors, are made without a park between them, and begin with an empty queue.
#pragma once

#include <system_error>

struct ssl_st;

namespace sley::tls {

// Empties the queue. Call it before a call whose errors are taken.
void forget_errors() noexcept;

// Of the call that failed: the first in the queue, which is its cause. Empties the queue.
// not_enough_memory if there is none. The second form says why a certificate was refused.
std::error_code take_error() noexcept;
std::error_code take_error(const ssl_st* ssl) noexcept;

}  // namespace sley::tls
