#include "parts/permanent_memory.hpp"

#include "platform/os.hpp"
#include "platform/sanitizer.hpp"

namespace sley::parts {

namespace {

char* as_root(void* start, std::size_t bytes) noexcept {
  if (start != nullptr) platform::register_root(start, bytes);
  return static_cast<char*>(start);
}

char* map_root(std::size_t bytes) noexcept {
  return as_root(platform::map_memory(bytes, false), bytes);
}

char* map_huge_root(std::size_t bytes) noexcept {
  return as_root(platform::map_huge_pages(bytes), bytes);
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
    std::size_t size = huge_chunk_bytes;
    char* chunk = chunks_ < small_chunks ? nullptr : map_huge_root(size);
    if (chunk == nullptr) chunk = map_root(size = chunk_bytes);
    if (chunk == nullptr) return nullptr;
    next_ = chunk;
    left_ = size;
    ++chunks_;
  }
  char* result = next_;
  next_ += bytes;
  left_ -= bytes;
  return result;
}

}  // namespace sley::parts
