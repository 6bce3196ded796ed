// Aim: a text with a host and a port has one meaning, or is refused.
#include "io/socket.hpp"

#include <sley/net.hpp>

#include <gtest/gtest.h>

#include <system_error>

namespace {

TEST(host_port, brackets_stand_around_a_host_and_nowhere_else) {
  for (const char* text : {"[[]:1", "[]]:1", "[a]b]:1", "[[::1]]:1", "[::1:1", "::1]:1", "a]:1"}) {
    std::error_code error;
    sley::io::split_host_port(text, error);
    EXPECT_EQ(error, std::errc::invalid_argument) << text;
  }
}

TEST(host_port, an_address_in_brackets_is_taken_out_of_them) {
  std::error_code error;
  const auto parts = sley::io::split_host_port("[fe80::1%lo]:80", error);
  EXPECT_FALSE(error);
  EXPECT_EQ(parts.host, "fe80::1%lo");
  EXPECT_EQ(parts.port, "80");
}

TEST(host_port, an_address_of_nothing_may_have_no_bytes) {
  EXPECT_EQ(sley::net::endpoint(nullptr, 0), sley::net::endpoint());
}

}  // namespace
