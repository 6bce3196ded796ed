// A session of Redis's protocol over a stream: commands are formatted and replies are read by
// hiredis. For <sley/redis.hpp>, which is for users.
#pragma once

#include <sley/context.hpp>
#include <sley/detail/c_text.hpp>
#include <sley/mutex.hpp>
#include <sley/scope.hpp>
#include <sley/time.hpp>

#include <hiredis/hiredis.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sley::redis::detail {

struct free_by_hiredis {
  void operator()(redisReply* r) const noexcept { freeReplyObject(r); }
  void operator()(redisReader* r) const noexcept { redisReaderFree(r); }
  void operator()(char* command) const noexcept { redisFreeCommand(command); }
};
using reply_ptr = std::unique_ptr<redisReply, free_by_hiredis>;

using words_view = std::span<const std::string_view>;  // a command and its arguments

// What Redis's protocol asks of a stream, of any kind.
class wire {
 public:
  wire() = default;
  wire(const wire&) = delete;
  wire& operator=(const wire&) = delete;
  virtual ~wire() = default;
  virtual std::size_t read_some(std::span<std::byte> room, const context& ctx,
                                std::error_code& error) = 0;
  virtual void write_all(std::string_view bytes, const context& ctx, std::error_code& error) = 0;
  // May be called while others use it, and ends what they do.
  virtual void abort() noexcept = 0;
};

template <class Stream>
class wire_of final : public wire {
 public:
  explicit wire_of(Stream stream) noexcept : stream_(std::move(stream)) {}
  std::size_t read_some(std::span<std::byte> room, const context& ctx,
                        std::error_code& error) override {
    return stream_.read_some(room, ctx, error);
  }
  void write_all(std::string_view bytes, const context& ctx, std::error_code& error) override {
    stream_.write_all(bytes, ctx, error);
  }
  void abort() noexcept override { stream_.abort(); }

 private:
  Stream stream_;
};

// Appends the command as hiredis formats it. It has one word at least.
inline void append(std::string& to, words_view command) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  texts.reserve(command.size());
  sizes.reserve(command.size());
  for (const std::string_view word : command) {
    texts.push_back(word.data() == nullptr ? "" : word.data());
    sizes.push_back(word.size());
  }
  char* formatted = nullptr;
  const auto size = redisFormatCommandArgv(&formatted, static_cast<int>(texts.size()), texts.data(),
                                           sizes.data());
  if (size < 0) throw std::bad_alloc();
  const std::unique_ptr<char, free_by_hiredis> owner(formatted);
  to.append(formatted, static_cast<std::size_t>(size));
}

// Whether they are the same but for the case of ASCII's letters.
inline bool is_word(std::string_view text, std::string_view capitals) noexcept {
  return std::ranges::equal(text, capitals, {}, [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
}

// A command has one answer. Others would bring all later answers out of step.
inline void refuse_unanswered(words_view command) {
  constexpr std::string_view refused[] = {
      "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE",
      "MONITOR",   "SYNC",       "PSYNC",      "REPLCONF",    "HELLO",        ""};
  const std::string_view name = command.empty() ? std::string_view() : command[0];
  const bool is_refused =
      std::ranges::any_of(refused, [&](std::string_view r) { return is_word(name, r); });
  const bool is_silent =
      command.size() > 1 && is_word(name, "CLIENT") && is_word(command[1], "REPLY");
  if (is_refused || is_silent || command.size() > std::numeric_limits<int>::max()) {
    throw std::invalid_argument("sley: redis: " + sley::detail::quoted(name) +
                                " is no command with one answer");
  }
}

// A connection between two calls is in step: `expected_` is zero. An exception or an error between
// a command and its answer leaves it otherwise, and then it is of no more use.
class session {
 public:
  static constexpr std::size_t at_once = 16 * 1024;  // bytes that fit into an idle socket

  explicit session(std::unique_ptr<wire> w) : wire_(std::move(w)), reader_(redisReaderCreate()) {
    if (!reader_) throw std::bad_alloc();
  }

  bool is_in_step() const noexcept { return expected_ == 0; }

  // The next of what the server sends. Parks. Null with an error.
  reply_ptr read(const context& ctx, std::error_code& error) {
    void* found = nullptr;
    while (!error) {  // ends: each round takes more bytes of a reply
      if (redisReaderGetReply(reader_.get(), &found) != REDIS_OK) {
        error = make_error_code(reader_->err == REDIS_ERR_OOM ? std::errc::not_enough_memory
                                                              : std::errc::protocol_error);
      } else if (found != nullptr) {
        return reply_ptr(static_cast<redisReply*>(found));
      } else {
        feed_reader(ctx, error);
      }
    }
    return {};
  }
  // May run beside read(), which it ends if it fails.
  void write(std::string_view bytes, const context& ctx, std::error_code& error) {
    wire_->write_all(bytes, ctx, error);
    if (error) wire_->abort();
  }

  // From here on that many answers are to come, until each is taken.
  void expect(std::size_t answers) noexcept { expected_ = answers; }
  reply_ptr take(const context& ctx, std::error_code& error) {
    reply_ptr r = read(ctx, error);
    if (error) {
      wire_->abort();
    } else if (--expected_ == 0) {
      used_ = std::chrono::steady_clock::now();
    }
    return r;
  }
  void take_all(std::vector<reply_ptr>& to, const context& ctx, std::error_code& error) {
    while (!error && expected_ != 0) {
      reply_ptr r = take(ctx, error);
      if (r) to.push_back(std::move(r));
    }
  }
  // For more than `at_once`. Some servers read no further until their answers are read: so they are
  // read meanwhile.
  void write_and_take_all(std::string_view bytes, std::vector<reply_ptr>& to, const context& ctx,
                          std::error_code& error) {
    std::error_code of_write;
    scope writing(ctx);
    writing.go([&] { write(bytes, writing.context(), of_write); });
    take_all(to, ctx, error);
    writing.join();
    if (error == make_error_code(std::errc::operation_canceled)) error = of_write;  // it came first
  }
  void abort() noexcept { wire_->abort(); }

  time_point last_use() const noexcept { return used_; }

  mutex in_use;

 private:
  void feed_reader(const context& ctx, std::error_code& error) {
    const std::size_t n = wire_->read_some(input_, ctx, error);
    if (error) return;
    if (n == 0) {
      error = make_error_code(std::errc::connection_aborted);
    } else if (redisReaderFeed(reader_.get(), reinterpret_cast<const char*>(input_.data()), n) !=
               REDIS_OK) {
      throw std::bad_alloc();
    }
  }

  std::unique_ptr<wire> wire_;
  std::unique_ptr<redisReader, free_by_hiredis> reader_;
  std::size_t expected_ = 0;  // answers
  time_point used_ = std::chrono::steady_clock::now();
  std::array<std::byte, 16 * 1024> input_;
};

}  // namespace sley::redis::detail
