// The tracer's other half: a thread that takes events out of the processors' rings and writes them
// down.
#include "base/print.hpp"
#include "platform/os.hpp"
#include "platform/symbols.hpp"
#include "runtime/entry/tracer.hpp"
#include "runtime/inspect/goroutine_text.hpp"
#include "runtime/state/sched_state.hpp"

#include <sley/debug.hpp>
#include <sley/detail/atomic.hpp>
#include <sley/detail/c_text.hpp>
#include <sley/detail/escape.hpp>
#include <sley/log.hpp>
#include <sley/mutex.hpp>
#include <sley/runtime.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <unordered_map>

namespace sley::debug::trace {

namespace {

constexpr auto between_looks = std::chrono::milliseconds(2);

[[noreturn]] void throw_error(const char* what, const std::string& path) {
  throw sley::detail::failed({errno, std::system_category()}, what, path);
}

// Text of any bytes as dumps show it, which is valid UTF-8, between the quotes of JSON.
std::string json_text(std::string_view text) {
  std::string result;
  sley::detail::escape(text, [&](std::string_view piece) {
    for (const char c : piece) {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
  });
  return result;
}

// The names of places in the program. Only for a thread's own stack, see describe().
class place_names {
 public:
  const std::string& operator[](const void* pc) {
    const auto [at, is_new] = names_.try_emplace(pc);
    if (is_new && pc != nullptr) {
      platform::describe(reinterpret_cast<std::uintptr_t>(pc), &place_names::keep, &at->second);
    }
    return at->second;
  }

 private:
  static void keep(void* arg, const platform::frame_name& frame) {
    auto& name = *static_cast<std::string*>(arg);
    if (!name.empty() || !rt::is_creator(frame)) return;
    if (frame.function.empty() && frame.line == 0) {
      base::line_writer address;
      rt::append_address(address, frame);
      name = address.view();
      return;
    }
    std::array<char, 1024> buffer;
    name = platform::demangle(frame.function, buffer, true);
    if (frame.line == 0) return;
    name += " at ";
    name += frame.file;
    name += ':';
    name += std::to_string(frame.line);
  }

  std::unordered_map<const void*, std::string> names_;
};

class file {
 public:
  explicit file(const std::string& path) : path_(path) {
    std::error_code error;
    if (sley::detail::has_zero_byte(path, error)) errno = error.value();
    if (!error) out_.reset(std::fopen(path.c_str(), "we"));
    if (out_ == nullptr) throw_error("sley::debug::trace: can't make", path);
    print("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    print(R"({"ph":"M","name":"process_name","pid":1,"args":{"name":"sley"}})");
  }

  void add_processor(std::uint32_t id) {
    print(
        ",\n"
        R"({"ph":"M","name":"thread_name","pid":1,"tid":%u,"args":{"name":"P %u"}})",
        id, id);
  }

  void add(std::uint32_t processor, const rt::run_event& e) {
    constexpr double us = 1e3;
    const std::string name = e.name_size != 0 ? json_text(e.name()) : "";
    print(
        ",\n"
        R"({"ph":"X","pid":1,"tid":%u,"ts":%.3f,"dur":%.3f,"name":"%s%sgoroutine %llu",)",
        processor, static_cast<double>(e.begin_ns) / us,
        static_cast<double>(e.end_ns - e.begin_ns) / us, name.c_str(), name.empty() ? "" : ", ",
        static_cast<unsigned long long>(e.goroutine));
    print(R"("args":{"end":"%s","machine":%u,"started":"%s"}})", e.end, e.machine,
          json_text(places_[e.created_at]).c_str());
  }

  void complete(std::uint64_t lost) {
    print("\n],\"otherData\":{\"lost events\":\"%llu\"}}\n", static_cast<unsigned long long>(lost));
    const bool is_written = std::fflush(out_.get()) == 0 && std::ferror(out_.get()) == 0;
    if (std::fclose(out_.release()) != 0 || !is_written) {
      throw_error("sley::debug::trace: can't write all of", path_);
    }
  }

 private:
  struct closer {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };

  [[gnu::format(printf, 2, 3)]] void print(const char* format, ...) {
    std::va_list args;
    va_start(args, format);
    std::vfprintf(out_.get(), format, args);
    va_end(args);
  }

  std::string path_;
  std::unique_ptr<std::FILE, closer> out_;
  place_names places_;
};

// The rings, one for each processor that there may ever be; memory only where events are.
class rings {
 public:
  rings() : memory_(platform::map_memory(bytes, true)) {
    if (memory_ == nullptr) throw std::bad_alloc();
  }
  ~rings() { platform::unmap_memory(memory_, bytes); }
  rings(const rings&) = delete;
  rings& operator=(const rings&) = delete;

  rt::run_trace* all() const { return static_cast<rt::run_trace*>(memory_); }

 private:
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t bytes =
      (rt::max_processors * sizeof(rt::run_trace) + page - 1) / page * page;

  void* memory_;
};

class tracer {
 public:
  explicit tracer(const std::string& path) : file_(path), writer_([this] { write(); }) {
    rt::start_tracing(rings_.all());
  }

  void stop() {
    rt::stop_tracing();
    end_writer();
    file_.complete(lost());
  }

  ~tracer() {
    if (writer_.joinable()) end_writer();
  }
  tracer(const tracer&) = delete;
  tracer& operator=(const tracer&) = delete;

 private:
  void write() {
    platform::name_this_thread("sley tracer");
    std::unique_lock lock(mutex_);
    for (bool is_last = false; !is_last;) {
      is_last = wake_.wait_for(lock, between_looks, [this] { return is_over_; });
      take_events();
    }
  }

  void end_writer() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    wake_.notify_one();
    blocking([this] { writer_.join(); });
  }

  void take_events() {
    const std::uint32_t procs = rt::sched.made_procs.read();
    for (std::uint32_t i = 0; i < procs; ++i) {
      if (i == named_) file_.add_processor(named_++);
      rings_.all()[i].events.drain([&](const rt::run_event& e) { file_.add(i, e); });
    }
  }

  std::uint64_t lost() const {
    std::uint64_t n = 0;
    for (std::uint32_t i = 0; i < named_; ++i) n += rings_.all()[i].lost.load_relaxed();
    return n;
  }

  rings rings_;
  file file_;
  std::uint32_t named_ = 0;  // processors
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_over_ = false;
  std::thread writer_;
};

// One at a time. A mutex of ours, because switching parks.
sley::mutex switching;

// At the end of the program a trace that is on is completed, and a stop() that is under way is
// waited for. The child of a fork has no threads for either.
struct trace_of_program {
  ~trace_of_program() {
    if (!was_started.load_relaxed()) return;
    if (rt::sched.has_forked.load_relaxed()) {
      static_cast<void>(running.release());
      return;
    }
    try {
      stop();
    } catch (const std::exception& e) {
      base::line_writer line;
      line.text("sley: the trace is not complete: ").shown(e.what()).text("\n");
      sley::detail::log_line(line.view());
    }
  }

  std::unique_ptr<tracer> running;
  sley::detail::atomic<bool> was_started;  // relaxed: the end of the program comes after
};
trace_of_program current;

}  // namespace

void start(const std::string& path) {
  const std::lock_guard lock(switching);
  if (current.running != nullptr) {
    throw std::logic_error("sley::debug::trace::start: a trace is on already");
  }
  current.running = std::make_unique<tracer>(path);
  current.was_started.store_relaxed(true);
}

void stop() {
  const std::lock_guard lock(switching);
  if (const auto ended = std::exchange(current.running, nullptr)) ended->stop();
}

}  // namespace sley::debug::trace
