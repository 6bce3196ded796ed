#include "parts/permanent_memory.hpp"

#include "platform/os.hpp"
#include "platform/sanitizer.hpp"

namespace sley::parts {

namespace {

void* map_root(std::size_t bytes) noexcept {
  void* start = platform::map_memory(bytes, false);
  if (start != nullptr) platform::register_root(start, bytes);
  return start;
}

}  // namespace

void* permanent_memory::allocate(std::size_t bytes) noexcept {
  bytes = (bytes + alignment - 1) / alignment * alignment;
  if (bytes > chunk_bytes / 4) {  // it would waste much of a chunk
    const std::size_t page = platform::page_bytes();
    return map_root((bytes + page - 1) / page * page);
  }
  detail::lock_guard guard(lock_);
  if (left_ < bytes) {
    auto* chunk = static_cast<char*>(map_root(chunk_bytes));
    if (chunk == nullptr) return nullptr;
    next_ = chunk;
    left_ = chunk_bytes;
  }
  char* result = next_;
  next_ += bytes;
  left_ -= bytes;
  return result;
}

}  // namespace sley::parts
