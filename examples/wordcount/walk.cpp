#include "walk.hpp"

#include <sley/go.hpp>

#include <span>
#include <utility>
#include <vector>

namespace wordcount {

namespace {

// The right to hold a file or a directory open, with a buffer to read into; a counting semaphore
// whose tokens are of use. Making one parks until a slot is free. Giving it back never parks, since
// the channel has room for all of them.
class slot {
 public:
  explicit slot(const sley::chan<buffer>& slots) : slots_(slots), buffer_(*slots.receive()) {}
  slot(slot&&) noexcept = default;
  slot& operator=(slot&&) = delete;
  ~slot() {
    if (buffer_) slots_.send(std::move(buffer_));
  }

  std::span<unsigned char> bytes() const { return {buffer_.get(), buffer_size}; }

 private:
  sley::chan<buffer> slots_;
  buffer buffer_;
};

bool is_gone(std::error_code error) {
  return error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
}

finding failed(std::string path, std::error_code error) {
  return {is_gone(error) ? outcome::vanished : outcome::unreadable, std::move(path), {}, error};
}

finding count_file(std::string path, std::span<unsigned char> bytes) {
  descriptor file;
  if (const std::error_code error = open_file(path, file)) return failed(std::move(path), error);
  if (!is_regular(file)) return {outcome::special, std::move(path), {}, {}};
  counter sum;
  while (true) {
    std::size_t length = 0;
    if (const std::error_code error = read_some(file, bytes, length)) {
      return {outcome::unreadable, std::move(path), {}, error};
    }
    if (length == 0) return {outcome::counted, std::move(path), sum.result(), {}};
    sum.add(bytes.first(length));
  }
}

// Nothing is followed, so that every file counts once. But a link that would have made the walk run
// in circles is worth a word.
finding look_at_symlink(std::string path, const std::shared_ptr<const ancestry>& parent) {
  target there{};
  if (const std::error_code error = follow(path, there)) {
    if (error == std::errc::too_many_symbolic_link_levels) {
      return {outcome::symlink_loop, std::move(path), {}, error};
    }
    return {is_gone(error) ? outcome::dangling_symlink : outcome::symlink, std::move(path), {}, {}};
  }
  if (there.kind == entry_kind::directory) {
    for (const ancestry* above = parent.get(); above != nullptr; above = above->parent.get()) {
      if (above->id == there.id) return {outcome::symlink_loop, std::move(path), {}, {}};
    }
  }
  return {outcome::symlink, std::move(path), {}, {}};
}

std::string join(const std::string& directory, const std::string& name) {
  return directory.ends_with('/') ? directory + name : directory + '/' + name;
}

}  // namespace

walker::walker(std::size_t limit, sley::send_chan<finding> findings)
    : slots_(limit), findings_(std::move(findings)) {
  for (std::size_t i = 0; i < limit; ++i) slots_.send(buffer(new unsigned char[buffer_size]));
}

// With a slash at its end the path may be a symbolic link to a directory.
void walker::start_directory(std::string path) {
  if (!path.ends_with('/')) path += '/';
  spawn_directory(std::move(path), nullptr);
}

void walker::start_file(std::string path) { spawn_file(std::move(path)); }

void walker::spawn_directory(std::string path, std::shared_ptr<const ancestry> parent) {
  group_.go(
      [this, path = std::move(path), parent = std::move(parent)] { walk_directory(path, parent); });
}

// The slot is taken here and not in the new goroutine: a directory of a million files then has no
// more than `limit` goroutines at work, instead of a million of which most wait for a slot.
void walker::spawn_file(std::string path) {
  group_.go([this, path = std::move(path), held = slot(slots_)]() mutable {
    findings_.send(count_file(std::move(path), held.bytes()));
  });
}

// A goroutine that holds a slot waits for nothing but the collector, never for another slot: no
// deadlock.
void walker::walk_directory(const std::string& path,
                            const std::shared_ptr<const ancestry>& parent) {
  listing found;
  std::error_code error;
  {
    const slot held(slots_);
    error = list_directory(path, found);
  }
  findings_.send(error ? failed(path, error) : finding{outcome::directory, path, {}, {}});

  const auto here = std::make_shared<const ancestry>(ancestry{found.id, parent});
  for (const entry& e : found.entries) {
    std::string child = join(path, e.name);
    switch (e.kind) {
      case entry_kind::file: spawn_file(std::move(child)); break;
      case entry_kind::directory: spawn_directory(std::move(child), here); break;
      case entry_kind::symlink: findings_.send(look_at_symlink(std::move(child), here)); break;
      case entry_kind::special: findings_.send({outcome::special, std::move(child), {}, {}}); break;
    }
  }
}

}  // namespace wordcount
