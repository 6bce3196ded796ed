// Socket activation, from the side of the process that gets the sockets: sd_listen_fds(3).
#include <sley/service.hpp>

#include <sley/detail/c_text.hpp>

#include "io/service_variable.hpp"
#include "io/socket.hpp"
#include "io/split_at_colons.hpp"

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>

namespace sley::service {

namespace {

constexpr int first_descriptor = 3;  // behind the standard streams

// A variable that no further call and no child sees.
struct taken_variable : service_variable {
  explicit taken_variable(const char* name) : service_variable(name) { ::unsetenv(name); }
};

void close_on_exec(int fd, const service_variable& told_by) {
  std::error_code error;
  if (io::close_on_exec(fd, error)) return;
  const std::string what = "sley: descriptor " + std::to_string(fd) + " of " + told_by.name();
  throw detail::failed(error, what.c_str(), told_by.text());
}

}  // namespace

std::vector<os::named_descriptor> inherited() {
  const taken_variable pid("LISTEN_PID");
  const taken_variable count("LISTEN_FDS");
  const taken_variable names("LISTEN_FDNAMES");
  if (!pid.is_set() || !count.is_set() || pid.number<int>() != ::getpid()) return {};
  const int n = count.number<int>();
  std::vector<std::string> known;
  if (names.is_set()) known = io::split_at_colons(names.text());
  if (names.is_set() && std::cmp_not_equal(known.size(), n)) names.refuse();
  std::vector<os::named_descriptor> all;
  for (int i = 0; i < n; ++i) {
    const int fd = first_descriptor + i;
    close_on_exec(fd, count);
    all.push_back(
        {names.is_set() ? std::move(known.at(static_cast<std::size_t>(i))) : "unknown", fd});
  }
  return all;
}

std::vector<os::named_descriptor> inherited(std::error_code& error) try {
  error.clear();
  return inherited();
} catch (const std::system_error& e) {
  error = e.code();
  return {};
}

}  // namespace sley::service
