#include "hostile/hostile.hpp"

#include "support/memory.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <stdexcept>

namespace sley_hostile {

namespace {

constexpr std::size_t mebibyte = 1 << 20;
// All combinations of the arguments' extremes if they are fewer, else each argument's on its own.
constexpr std::size_t most_rounds = 600;
constexpr int most_failures = 10;  // that are shown of a test
// A message that quotes more than this of an argument is no clear one.
constexpr std::size_t longest_message = 1000;

// They live until the process ends, because goroutines that wait for ever may have views of them.
const std::vector<std::string>& extreme_texts() {
  static const auto* const texts = new std::vector<std::string>{
      "",
      std::string(1, '\0'),
      std::string("a\0b", 3),
      std::string("/\0", 2),
      std::string(mebibyte, 'a'),
      std::string(mebibyte, '\0'),
      std::string(mebibyte, '/'),
      std::string(mebibyte, '%'),
      std::string(mebibyte, ':'),
      "\xff\xfe\x80",
      "\xed\xa0\x80",
      "a\r\nb: c",
      "\x1b[2J\x7f",
      " \t ",
      "-1",
      "0",
      "65536",
      "18446744073709551616",
      "%",
      "%0",
      "%00",
      "..",
      "../../../no/such/file",  // not one that there is: root could write it
      "[",
      "[]:",
      "[::1",
      "::1%",
      "@",
      "*",
      "{",
      "{}",
      "\"",
      "a,b;c=\"d",
  };
  return *texts;
}

// Empty if the message is clear.
std::string complaint_about(std::string_view message) {
  if (message.empty()) return "says nothing";
  if (message.size() > longest_message) {
    return "has a message of " + std::to_string(message.size()) + " bytes";
  }
  const bool has_control = std::ranges::any_of(
      message, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
  return has_control ? "has control characters in its message: " + shown(message) : "";
}

std::string complaint_about(const std::exception& error) { return complaint_about(error.what()); }

// The next combination; false after the last one. `counts` says how many choices
// each argument has.
bool advance(std::vector<std::size_t>& choice, const std::vector<std::size_t>& counts) {
  std::size_t rounds = 1;
  for (const std::size_t n : counts) rounds = std::min(most_rounds + 1, rounds * n);
  choice.resize(counts.size());
  if (rounds <= most_rounds) {
    for (std::size_t i = 0; i < choice.size(); ++i) {
      if (++choice[i] < counts[i]) return true;
      choice[i] = 0;
    }
    return false;
  }
  const auto moved = std::ranges::find_if(choice, [](std::size_t n) { return n != 0; });
  auto i = static_cast<std::size_t>(moved - choice.begin());
  if (i == choice.size()) i = 0;
  if (++choice[i] < counts[i]) return true;
  choice[i] = 0;
  while (++i < choice.size()) {
    if (counts[i] > 1) {
      choice[i] = 1;
      return true;
    }
  }
  return false;
}

}  // namespace

std::string shown(std::string_view text) {
  constexpr std::size_t most = 60;
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : text.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte < 0x7f) {
      result += c;
    } else {
      result += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    }
  }
  result += '"';
  return text.size() > most ? result + " of " + std::to_string(text.size()) + " bytes" : result;
}

std::size_t arguments::choose(std::size_t count) {
  const std::size_t i = requests_++;
  if (counts_.size() < requests_) counts_.resize(requests_);
  counts_[i] = count;
  return i < choice_.size() ? std::min(choice_[i], count - 1) : 0;
}

std::string_view arguments::text(std::string_view usual) {
  const std::vector<std::string>& extremes = extreme_texts();
  const std::size_t i = choose(extremes.size() + 2);
  const std::string_view chosen = i == 0                 ? usual
                                  : i <= extremes.size() ? std::string_view(extremes[i - 1])
                                                         : std::string_view();
  note(shown(chosen));
  return chosen;
}

double arguments::real(double usual) {
  using limits = std::numeric_limits<double>;
  return pick({usual, 0.0, -0.0, -1.0, limits::min(), limits::denorm_min(), limits::max(),
               limits::lowest(), limits::infinity(), -limits::infinity(), limits::quiet_NaN()});
}

std::size_t arguments::capacity(std::size_t usual) {
  constexpr std::size_t max = std::numeric_limits<std::size_t>::max();
  // The sanitizers end the process for a size that cannot be had.
  if (sley_test::under_sanitizer) return pick<std::size_t>({usual, 0, 1});
  return pick<std::size_t>({usual, 0, 1, max, max - 1, max / 2, max / 2 + 1, max / 8, max / 16});
}

std::chrono::nanoseconds arguments::duration(std::chrono::nanoseconds usual) {
  using ns = std::chrono::nanoseconds;
  const auto chosen = pick<ns>({usual, ns::min(), ns::min() + 1ns, -1ns, 0ns, 1ns, ns::max(),
                                ns::max() - 1ns, ns::max() / 2});
  note(std::to_string(chosen.count()) + " ns");
  return chosen;
}

sley::time_point arguments::time(sley::time_point usual) {
  using point = sley::time_point;
  const auto chosen =
      pick<point>({usual, point::min(), point::min() + 1ns, point(-1ns), point(), point(1ns),
                   point::max(), point::max() - 1ns, point::clock::now()});
  note("time " + std::to_string(chosen.time_since_epoch().count()));
  return chosen;
}

int arguments::descriptor() {
  constexpr int unused = 900;  // above all that the test opens
  const std::size_t kind = choose(13);
  int fd = -1;
  int ends[2];
  switch (kind) {
    case 0: fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); break;
    case 1: fd = -1; break;
    case 2: fd = std::numeric_limits<int>::min(); break;
    case 3: fd = std::numeric_limits<int>::max(); break;
    case 4: fd = unused; break;
    case 5: fd = ::open("/dev/null", O_RDWR | O_CLOEXEC); break;
    case 6: fd = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC); break;
    case 7: fd = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC); break;
    case 8: fd = ::open("/", O_PATH | O_CLOEXEC); break;
    case 9: fd = ::epoll_create1(EPOLL_CLOEXEC); break;
    case 10: fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); break;
    case 11: fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); break;
    default:
      if (::pipe2(ends, O_CLOEXEC) == 0) {
        ::close(ends[0]);
        fd = ends[1];
      }
  }
  note("descriptor of kind " + std::to_string(kind));
  if (kind == 0 || kind > 4) {
    // A number that nothing else gets once the called function has closed it.
    const int high = ::fcntl(fd, F_DUPFD_CLOEXEC, unused + 1);
    ::close(fd);
    open_.push_back(fd = high);
  }
  return fd;
}

std::span<std::byte> arguments::buffer() {
  room_.assign(mebibyte, std::byte{'x'});
  const std::span<std::byte> all(room_);
  const std::size_t kind = choose(5);
  note("buffer of kind " + std::to_string(kind));
  switch (kind) {
    case 0: return all.first(100);
    case 1: return {};
    case 2: return all.first(0);
    case 3: return all.first(1);
    default: return all;
  }
}

std::error_code& arguments::error() {
  asked_for_error_ = true;
  error_ = std::make_error_code(std::errc::protocol_error);
  return error_;
}

namespace {

// Closes what the called function has not taken over.
void close_all(const std::vector<int>& descriptors) {
  for (const int fd : descriptors) {
    if (::fcntl(fd, F_GETFD) >= 0) ::close(fd);
  }
}

}  // namespace

void call_with_extremes(const char* functions, void (*body)(arguments&)) {
  sley::run([&] {
    arguments x;
    int before = 0;
    int rounds = 0, failures = 0;
    do {
      x.requests_ = 0;
      x.notes_.clear();
      x.asked_for_error_ = false;
      x.open_.clear();
      const std::size_t goroutines = sley::runtime::num_goroutines();
      const int abandoned = x.abandoned_;
      std::string complaint;
      const bool has_failed = testing::Test::HasFailure();
      try {
        body(x);
        if (x.asked_for_error_ && x.error_) {
          complaint = x.error_ == std::errc::protocol_error ? "left the error as it was"
                                                            : complaint_about(x.error_.message());
        }
      } catch (const std::exception& error) {
        complaint = complaint_about(error);
      }
      if (!has_failed && testing::Test::HasFailure()) complaint += " fails a check of the test";
      close_all(x.open_);
      const auto allowed =
          goroutines + static_cast<std::size_t>(std::max(0, x.abandoned_ - abandoned));
      if (!sley_test::eventually([&] { return sley::runtime::num_goroutines() <= allowed; })) {
        complaint += " leaves goroutines behind";
      }
      // The first rounds open what the runtime keeps.
      if (++rounds <= 2) before = sley_test::open_descriptors();
      if (!sley_test::eventually([&] { return sley_test::open_descriptors() <= before; }, 5s)) {
        complaint += " leaves descriptors open";
        before = sley_test::open_descriptors();
      }
      if (!complaint.empty() && ++failures <= most_failures) {
        std::string given;
        for (const std::string& note : x.notes_) given += (given.empty() ? "" : ", ") + note;
        ADD_FAILURE() << functions << "\nwith (" << given << ")\n" << complaint;
      }
    } while (advance(x.choice_, x.counts_));
  });
}

}  // namespace sley_hostile
