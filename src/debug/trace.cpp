// Traces that are written while they are on, by a thread of their own, and the flight recorder.
#include "base/print.hpp"
#include "debug/switched.hpp"
#include "debug/trace_reader.hpp"
#include "debug/trace_writer.hpp"
#include "platform/os.hpp"
#include "runtime/entry/boot.hpp"
#include "runtime/entry/tracer.hpp"
#include "runtime/inspect/death_record.hpp"
#include "runtime/state/options.hpp"
#include "runtime/state/sched_state.hpp"

#include <sley/debug.hpp>
#include <sley/detail/atomic.hpp>
#include <sley/log.hpp>
#include <sley/runtime.hpp>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

namespace sley::debug::trace {

namespace {

constexpr auto between_looks = std::chrono::milliseconds(2);
constexpr std::size_t usual_ring_bytes = 4 << 20;

// The rings, and how many use them: a trace that is written, and a flight recorder. With
// the_trace().lock held.
class tracing {
 public:
  explicit tracing(std::size_t bytes_per_processor) : rings_(bytes_per_processor) {}

  const trace_rings& rings() const noexcept { return rings_; }
  const clock_pair& since() const noexcept { return since_; }

  // What goes on at the moment is noted for each user that comes.
  void begin_use() {
    rt::start_tracing(rings_.memory());
    ++users_;
  }
  void end_use() {
    if (--users_ == 0) rt::stop_tracing();
  }

 private:
  trace_rings rings_;
  clock_pair since_ = clock_pair::now();
  int users_ = 0;
};

// The one that is on, or a new one.
std::shared_ptr<tracing> get_tracing(std::size_t bytes_per_processor) {
  // Never destroyed, because goroutines use it until the process is gone.
  static auto& last = *new std::weak_ptr<tracing>;
  std::shared_ptr<tracing> found = last.lock();
  if (found == nullptr) last = found = std::make_shared<tracing>(bytes_per_processor);
  return found;
}

std::unique_ptr<trace_writer> make_writer(const std::string& path, format kind) {
  return kind == format::perfetto ? make_perfetto_writer(path) : make_json_writer(path);
}

// Writes what happens into a file.
class tracer {
 public:
  tracer(const std::string& path, format kind)
      : file_(make_writer(path, kind)),
        tracing_(get_tracing(usual_ring_bytes)),
        reader_(tracing_->rings(), clock_pair::now(), false),
        writer_([this] { write(); }) {
    blocking([this] {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return is_ready_; });
    });
    tracing_->begin_use();
  }

  void stop() {
    tracing_->end_use();
    end_writer();
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

  ~tracer() {
    if (writer_.joinable()) end_writer();
  }
  tracer(const tracer&) = delete;
  tracer& operator=(const tracer&) = delete;

 private:
  void write() {
    platform::name_this_thread("sley tracer");
    try {
      read_symbols();
      say_ready();
      while (!is_over_within(between_looks)) reader_.read(*file_);
      file_->complete(reader_.complete(*file_));
    } catch (...) {  // no memory, or no room for the file
      failure_ = std::current_exception();
      say_ready();
    }
  }

  void say_ready() {
    const std::lock_guard lock(mutex_);
    is_ready_ = true;
    wake_.notify_one();
  }

  bool is_over_within(std::chrono::nanoseconds time) {
    std::unique_lock lock(mutex_);
    return wake_.wait_for(lock, time, [this] { return is_over_; });
  }

  // It takes some tenths of a second at the first time. Meanwhile the rings would run over.
  static void read_symbols() {
    start_places places;
    places[reinterpret_cast<const void*>(&get_tracing)];
  }

  void end_writer() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    wake_.notify_one();
    blocking([this] { writer_.join(); });
  }

  std::unique_ptr<trace_writer> file_;
  std::shared_ptr<tracing> tracing_;
  trace_reader reader_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_ready_ = false;
  bool is_over_ = false;
  std::exception_ptr failure_;  // the thread's, which has ended by it
  std::thread writer_;
};

switched<tracer>& the_trace() { return switched<tracer>::of_program(); }

// At the end of the program a trace that is on is completed, and a stop() that is under way is
// waited for. The child of a fork has no threads for either.
struct trace_of_program {
  ~trace_of_program() {
    if (!was_started.load_relaxed()) return;
    if (rt::sched.has_forked.load_relaxed()) return;
    try {
      stop();
    } catch (const std::exception& e) {
      base::line_writer line;
      line.text("sley: the trace is not complete: ").shown(e.what()).text("\n");
      sley::detail::log_line(line.view());
    }
  }

  sley::detail::atomic<bool> was_started;  // relaxed: the end of the program comes after
};
trace_of_program completed_at_end;

}  // namespace

void start(const std::string& path, format kind) {
  const std::lock_guard lock(the_trace().lock);
  if (the_trace().running != nullptr) {
    throw std::logic_error("sley::debug::trace::start: a trace is on already");
  }
  the_trace().running = std::make_unique<tracer>(path, kind);
  completed_at_end.was_started.store_relaxed(true);
}

void stop() {
  const std::lock_guard lock(the_trace().lock);
  if (const auto ended = std::exchange(the_trace().running, nullptr)) ended->stop();
}

struct flight_recorder::state : rt::death_record {
  explicit state(const flight_recorder_options& options)
      : rt::death_record{&state::write_at_death},
        used(get_tracing(options.bytes_per_processor)),
        on_death(options.on_death),
        on_death_format(options.on_death_format) {
    if (!on_death.empty()) return;
    on_death = rt::debug_options().flight;
    on_death_format = on_death.ends_with(".pftrace") ? format::perfetto : format::json;
  }

  void write(const std::string& path, format kind) const {
    const std::unique_ptr<trace_writer> file = make_writer(path, kind);
    trace_reader reader(used->rings(), used->since(), true);
    file->complete(reader.complete(*file));
  }

  static void write_at_death(const rt::death_record& record) noexcept {
    const auto& self = static_cast<const state&>(record);
    base::line_writer line;
    try {
      self.write(self.on_death, self.on_death_format);
      line.text("sley: the last events are in ").shown(self.on_death);
    } catch (const std::exception& e) {
      line.text("sley: the last events are not written: ").shown(e.what());
    }
    line.text("\n").flush(2);
  }

  std::shared_ptr<tracing> used;
  std::string on_death;
  format on_death_format;
};

namespace {

bool is_recorder_on = false;  // with the_trace().lock held

// The recorder that SLEYDEBUG=flight=PATH asks for.
switched<flight_recorder>& the_recorder_of_setting() {
  return switched<flight_recorder>::of_program();
}

void end_recorder_of_setting() {
  const std::lock_guard lock(the_recorder_of_setting().lock);
  the_recorder_of_setting().running = nullptr;
}

bool is_recorder_of_setting_on() {
  const std::lock_guard lock(the_recorder_of_setting().lock);
  return the_recorder_of_setting().running != nullptr;
}

void start_recorder_of_setting() noexcept {
  if (is_recorder_of_setting_on()) return;  // since an earlier run()
  try {
    auto recorder = std::make_unique<flight_recorder>();
    const std::lock_guard lock(the_recorder_of_setting().lock);
    the_recorder_of_setting().running = std::move(recorder);
  } catch (const std::logic_error&) {  // the program's own is on
  } catch (const std::exception& e) {
    base::line_writer line;
    line.text("sley: SLEYDEBUG=flight ignored: ").shown(e.what()).text("\n").flush(2);
  }
}

// While the program is loaded, which is before each run().
[[gnu::constructor]] void offer_recorder() { rt::set_recorder_start(&start_recorder_of_setting); }

}  // namespace

flight_recorder::flight_recorder(const flight_recorder_options& options) {
  rt::boot();  // which reads the settings
  end_recorder_of_setting();
  const std::lock_guard lock(the_trace().lock);
  if (is_recorder_on) {
    throw std::logic_error("sley::debug::trace::flight_recorder: another one is on");
  }
  state_ = std::make_unique<state>(options);
  state_->used->begin_use();
  if (!state_->on_death.empty()) rt::set_death_record(state_.get());
  is_recorder_on = true;
}

flight_recorder::~flight_recorder() {
  const std::lock_guard lock(the_trace().lock);
  rt::set_death_record(nullptr);
  state_->used->end_use();
  state_ = nullptr;
  is_recorder_on = false;
}

void flight_recorder::write(const std::string& path, format kind) const {
  // On a thread of its own, because names of code take more of a stack than a goroutine has.
  std::packaged_task<void()> task([&] { state_->write(path, kind); });
  std::future<void> end = task.get_future();
  blocking([&task] { std::thread(std::move(task)).join(); });
  end.get();
}

}  // namespace sley::debug::trace
