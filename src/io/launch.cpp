// Starting a process. From Go's syscall.forkExec.
#include "io/launch.hpp"
#include "runtime/watchdog/lasting_thread.hpp"

#include <sley/detail/c_text.hpp>
#include <sley/mutex.hpp>
#include <sley/runtime.hpp>

#include "io/perform.hpp"
#include "io/split_at_colons.hpp"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace sley::os {

namespace {

using stream_kind = platform::child_stream::kind;

char* pointer_to(const std::string& text) { return const_cast<char*>(text.c_str()); }

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(pointer_to(text));
  pointers.push_back(nullptr);
  return pointers;
}

// Calls f(name, text) with each text of the command, until that returns true.
template <class F>
bool any_text(const command& what, const F& f) {
  if (f("the program", what.program)) return true;
  for (std::size_t i = 0; i < what.arguments.size(); ++i) {
    if (f("argument " + std::to_string(i + 1), what.arguments[i])) return true;
  }
  if (what.environment) {
    for (const std::string& variable : *what.environment) {
      if (f("the variable", variable)) return true;
    }
  }
  return f("the directory", what.directory);
}

// Of PATH, or where programs are if there is none. An empty one is the directory to work in.
std::vector<std::string> directories() {
  const char* path = std::getenv("PATH");
  return io::split_at_colons(path != nullptr ? path : "/bin:/usr/bin");
}

}  // namespace

void launch::find(const std::string& program) {
  if (program.empty() || program.find('/') != std::string::npos) {
    programs_ = {pointer_to(program), nullptr};
    return;
  }
  for (std::string& place : directories()) {
    if (place.size() + 1 + program.size() >= PATH_MAX) continue;
    if (!place.empty()) place += '/';
    places_.push_back(place + program);
  }
  programs_ = pointers_to(places_);
}

// The child's end blocks, as programs expect.
void launch::connect(int stream, std::error_code& error) {
  int ends[2];
  const long made = io::attempt([&ends](int) { return ::pipe2(ends, O_CLOEXEC); }, -1);
  if (!io::is_success(made, error)) return;
  io::plain_fd reader(ends[0]), writer(ends[1]);
  const auto i = static_cast<std::size_t>(stream);
  theirs_.at(i) = std::move(stream == 0 ? reader : writer);
  ours.at(i) = file((stream == 0 ? writer : reader).release(), error);
  plan_.streams[i] = {stream_kind::descriptor, theirs_.at(i).get()};
}

void launch::direct(int stream, redirect where, std::error_code& error) {
  platform::child_stream& theirs = plan_.streams[stream];
  switch (where.kind_) {
    case redirect::kind::inherit: break;
    case redirect::kind::null: theirs = {stream_kind::null}; break;
    case redirect::kind::pipe: connect(stream, error); break;
    case redirect::kind::descriptor: theirs = {stream_kind::descriptor, where.fd_}; break;
    case redirect::kind::output:
      if (stream != 2)
        throw std::logic_error("sley: only the error stream can be redirected to the output");
      theirs = {stream_kind::output};
      break;
  }
}

namespace {

constexpr std::string_view listen_pid = "LISTEN_PID=";
constexpr std::string_view listen_fds = "LISTEN_FDS=";
constexpr std::string_view listen_names = "LISTEN_FDNAMES=";

bool tells_of_descriptors(std::string_view variable) {
  return variable.starts_with(listen_pid) || variable.starts_with(listen_fds) ||
         variable.starts_with(listen_names);
}

// As systemd's FileDescriptorName has it.
void check_name(const std::string& name) {
  const bool is_plain = std::all_of(name.begin(), name.end(),
                                    [](char c) { return c >= ' ' && c <= '~' && c != ':'; });
  if (is_plain && name.size() <= 255) return;
  throw std::invalid_argument("sley: a descriptor can't be handed down as " + detail::quoted(name));
}

}  // namespace

// The protocol of sd_listen_fds(3). The child writes its number into the text itself.
void launch::hand_down(const command& what) {
  if (what.hand_down.empty()) return;
  names_ = listen_names;
  for (const named_descriptor& d : what.hand_down) {
    check_name(d.name);
    if (!handed_down_.empty()) names_ += ':';
    names_ += d.name;
    handed_down_.push_back(d.fd);
  }
  count_ = std::string(listen_fds) + std::to_string(handed_down_.size());
  child_number_ = listen_pid;
  child_number_.append(platform::most_number_bytes, '\0');
  if (environment_.empty()) {
    for (char** variable = ::environ; *variable != nullptr; ++variable) {
      environment_.push_back(*variable);
    }
    environment_.push_back(nullptr);
  }
  std::erase_if(environment_,
                [](const char* v) { return v == nullptr || tells_of_descriptors(v); });
  for (std::string* const told : {&child_number_, &count_, &names_}) {
    environment_.push_back(told->data());
  }
  environment_.push_back(nullptr);
  plan_.handed_down = handed_down_.data();
  plan_.handed_count = static_cast<int>(handed_down_.size());
  plan_.child_number = child_number_.data() + listen_pid.size();
}

void launch::prepare(const command& what, std::error_code& error) {
  const auto is_unfit = [&error](std::string_view, const std::string& text) {
    return detail::has_zero_byte(text, error);
  };
  if (any_text(what, is_unfit)) return;
  direct(0, what.input, error);
  if (!error) direct(1, what.output, error);
  if (!error) direct(2, what.errors, error);
  find(what.program);
  arguments_ = pointers_to(what.arguments);
  arguments_.insert(arguments_.begin(), pointer_to(what.program));
  if (what.environment) environment_ = pointers_to(*what.environment);
  hand_down(what);
  plan_.programs = programs_.data();
  plan_.arguments = arguments_.data();
  plan_.environment = environment_.empty() ? ::environ : environment_.data();
  plan_.directory = what.directory.empty() ? nullptr : what.directory.c_str();
  plan_.leads_group = what.new_group;
  plan_.leads_session = what.new_session;
}

void launch::start(const context& ctx, std::error_code& error) {
  struct attempt {
    const platform::child_plan& plan;
    platform::child_process& child;
    int result = 0;
    static void make(void* arg) {
      auto& self = *static_cast<attempt*>(arg);
      self.result = platform::start_child(self.plan, self.child);
    }
  } now{plan_, started};
  if (rt::has_own_thread()) {
    blocking([&now] { attempt::make(&now); });
  } else {
    static auto* const turn = new mutex;  // goroutines may use it until the process is gone
    turn->lock(ctx, error);
    if (error) return;
    const std::lock_guard guard(*turn, std::adopt_lock);
    const int refused =
        blocking([&now] { return rt::call_on_lasting_thread(&attempt::make, &now); });
    if (refused != 0) now.result = refused;
  }
  if (now.result != 0) error = io::system_error_of(now.result);
}

namespace {

// To be said before the error's own text.
const char* reason_of(const std::error_code& error) noexcept {
  return error == std::errc::no_child_process
             ? ": how it has ended is unknown, because SIGCHLD is ignored or another wait took it"
             : "";
}

}  // namespace

std::system_error start_failed(const std::error_code& error, const char* operation,
                               const command& what) {
  const std::string whole = std::string(operation) + ' ' + detail::quoted(what.program);
  std::system_error failed = {error, whole + reason_of(error)};
  any_text(what, [&](const std::string& name, const std::string& text) {
    std::error_code is_unfit;
    if (!detail::has_zero_byte(text, is_unfit)) return false;
    failed = {error, whole + ": " + name + ' ' + detail::quoted(text)};
    return true;
  });
  return failed;
}

std::system_error wait_failed(const std::error_code& error, int pid) {
  return {error,
          "sley: wait for process " + std::to_string(pid) + (pid == 0 ? "" : reason_of(error))};
}

}  // namespace sley::os
