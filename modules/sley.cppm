// The module: `import sley;` instead of the headers of the library sley::sley. CMake 3.28 and newer
// build it from this file: docs/interoperation.md. What is exported are the names that docs/names.md
// lists, and what these headers declare beside them: overloaded operators and names of the standard.
// Macros and what other libraries are needed for (HTTP, TLS, Asio and so on) stay headers; they can be
// included beside the import.
module;

#include <sley/buffered.hpp>
#include <sley/byte_stream.hpp>
#include <sley/chan.hpp>
#include <sley/condition_variable.hpp>
#include <sley/context.hpp>
#include <sley/coroutine.hpp>
#include <sley/debug.hpp>
#include <sley/error_group.hpp>
#include <sley/executor.hpp>
#include <sley/future.hpp>
#include <sley/go.hpp>
#include <sley/goroutine_local.hpp>
#include <sley/latch.hpp>
#include <sley/log.hpp>
#include <sley/mutex.hpp>
#include <sley/net.hpp>
#include <sley/object_pool.hpp>
#include <sley/once.hpp>
#include <sley/os.hpp>
#include <sley/poll_loop.hpp>
#include <sley/pool.hpp>
#include <sley/promise.hpp>
#include <sley/rate_limiter.hpp>
#include <sley/recursive_mutex.hpp>
#include <sley/retry.hpp>
#include <sley/runtime.hpp>
#include <sley/scope.hpp>
#include <sley/select.hpp>
#include <sley/semaphore.hpp>
#include <sley/serve.hpp>
#include <sley/service.hpp>
#include <sley/shared_mutex.hpp>
#include <sley/signal.hpp>
#include <sley/single_flight.hpp>
#include <sley/sley.hpp>
#include <sley/time.hpp>
#include <sley/time_span.hpp>
#include <sley/wait_group.hpp>

export module sley;

export namespace sley {
using sley::after;
using sley::after_func;
using sley::async;
using sley::async_send;
using sley::await;
using sley::barrier;
using sley::binary_semaphore;
using sley::block_forever;
using sley::blocking;
using sley::buffered_reader;
using sley::buffered_reader_options;
using sley::buffered_writer;
using sley::byte_sink;
using sley::byte_source;
using sley::byte_stream;
using sley::call_once;
using sley::cancel_cause_function;
using sley::cancel_function;
using sley::chan;
using sley::channel_closed;
using sley::condition_variable;
using sley::condition_variable_any;
using sley::context;
using sley::context_callback;
using sley::context_category;
using sley::context_errc;
using sley::counting_semaphore;
using sley::cv_status;
using sley::error_group;
using sley::executor;
using sley::future;
using sley::future_status;
using sley::go;
using sley::go_options;
using sley::goroutine_local;
using sley::instant;
using sley::io_buffers;
using sley::io_object;
using sley::latch;
using sley::log_function;
using sley::make_error_code;
using sley::mutex;
using sley::object_pool;
using sley::on_receive;
using sley::on_send;
using sley::on_timeout;
using sley::once_flag;
using sley::once_function;
using sley::once_value;
using sley::operator co_await;
using sley::os_thread_lock;
using sley::otherwise;
using sley::packaged_task;
using sley::poll_loop;
using sley::pool;
using sley::pool_options;
using sley::promise;
using sley::rate_limiter;
using sley::recursive_mutex;
using sley::recv_chan;
using sley::retry;
using sley::retry_policy;
using sley::run;
using sley::run_options;
using sley::scope;
using sley::select;
using sley::select_set;
using sley::send_chan;
using sley::set_log_function;
using sley::shared_future;
using sley::shared_mutex;
using sley::single_flight;
using sley::swap;
using sley::syscall;
using sley::ticker;
using sley::time_point;
using sley::time_span;
using sley::timed_mutex;
using sley::timer;
using sley::wait_group;
using sley::weighted_semaphore;
using sley::with_cancel;
using sley::with_cancel_cause;
using sley::with_deadline;
using sley::with_stop_token;
using sley::with_timeout;
using sley::with_value;
using sley::without_cancel;
}  // namespace sley

export namespace sley::debug {
using sley::debug::delta_profile;
using sley::debug::dump_goroutines;
using sley::debug::dump_profile;
using sley::debug::function_name;
using sley::debug::goroutine_group;
using sley::debug::goroutine_info;
using sley::debug::goroutine_profile;
using sley::debug::goroutines;
using sley::debug::goroutines_json;
using sley::debug::goroutines_text;
using sley::debug::histogram;
using sley::debug::label;
using sley::debug::labels;
using sley::debug::leaks;
using sley::debug::long_thread_block;
using sley::debug::metric;
using sley::debug::metrics;
using sley::debug::metrics_content_type;
using sley::debug::metrics_text;
using sley::debug::no_leaks;
using sley::debug::on_thread_block;
using sley::debug::profile;
using sley::debug::profile_kind;
using sley::debug::profile_text;
using sley::debug::set_block_profile_rate;
using sley::debug::set_mutex_profile_fraction;
using sley::debug::set_thread_block_profile;
using sley::debug::thread_block_group;
using sley::debug::thread_blocks;
using sley::debug::thread_blocks_json;
}  // namespace sley::debug

export namespace sley::debug::cpu_profile {
using sley::debug::cpu_profile::start;
using sley::debug::cpu_profile::stop;
}  // namespace sley::debug::cpu_profile

export namespace sley::debug::trace {
using sley::debug::trace::flight_recorder;
using sley::debug::trace::flight_recorder_options;
using sley::debug::trace::format;
using sley::debug::trace::is_enabled;
using sley::debug::trace::log;
using sley::debug::trace::region;
using sley::debug::trace::start;
using sley::debug::trace::stop;
using sley::debug::trace::task;
}  // namespace sley::debug::trace

export namespace sley::net {
using sley::net::copy;
using sley::net::datagram_socket;
using sley::net::endpoint;
using sley::net::listen_options;
using sley::net::listener;
using sley::net::lookup;
using sley::net::resolver_category;
using sley::net::serve;
using sley::net::serve_options;
using sley::net::serve_result;
using sley::net::set_max_lookups;
using sley::net::stream;
using sley::net::tcp_listener;
using sley::net::tcp_stream;
using sley::net::udp_socket;
using sley::net::unix_datagram;
using sley::net::unix_listener;
using sley::net::unix_stream;
}  // namespace sley::net

export namespace sley::os {
using sley::os::append;
using sley::os::append_options;
using sley::os::command;
using sley::os::exit_status;
using sley::os::file;
using sley::os::ignore_signal;
using sley::os::named_descriptor;
using sley::os::notify;
using sley::os::notify_context;
using sley::os::on_ready;
using sley::os::operator&;
using sley::os::operator|;
using sley::os::operator|=;
using sley::os::pipe;
using sley::os::pipe_ends;
using sley::os::poll_events;
using sley::os::poll_fd;
using sley::os::process;
using sley::os::read_file;
using sley::os::redirect;
using sley::os::reset_signal;
using sley::os::run;
using sley::os::run_limits;
using sley::os::run_result;
using sley::os::stop_notify;
using sley::os::write_file;
using sley::os::write_options;
}  // namespace sley::os

export namespace sley::runtime {
using sley::runtime::max_procs;
using sley::runtime::num_cpu;
using sley::runtime::num_goroutines;
using sley::runtime::read_stats;
using sley::runtime::set_blocking_limit;
using sley::runtime::set_max_procs;
using sley::runtime::set_max_threads;
using sley::runtime::stats;
}  // namespace sley::runtime

export namespace sley::service {
using sley::service::feed_watchdog;
using sley::service::inherited;
using sley::service::notify;
using sley::service::ready;
using sley::service::reloading;
using sley::service::status;
using sley::service::stopping;
}  // namespace sley::service

export namespace sley::this_goroutine {
using sley::this_goroutine::exit;
using sley::this_goroutine::id;
using sley::this_goroutine::lock_os_thread;
using sley::this_goroutine::name;
using sley::this_goroutine::set_name;
using sley::this_goroutine::sleep_for;
using sley::this_goroutine::sleep_until;
using sley::this_goroutine::unlock_os_thread;
using sley::this_goroutine::yield;
}  // namespace sley::this_goroutine
