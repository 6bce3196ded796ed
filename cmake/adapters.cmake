# The libraries that <sley/redis.hpp>, <sley/postgres.hpp>, <sley/curl.hpp> and <sley/nats.hpp>
# adapt, for tests and examples: sley itself does not need them. Each target is there if its library
# is found.

# sley_find_adapted(NAME header library [file regex])   the target sley_NAME, if the header and the
# library are found, and a line of the file, beside the header, matches
function(sley_find_adapted name header library)
  string(TOUPPER "${name}" prefix)
  find_path(${prefix}_INCLUDE_DIR ${header} PATH_SUFFIXES postgresql)  # of libpq, in Debian
  find_library(${prefix}_LIBRARY ${library})
  mark_as_advanced(${prefix}_INCLUDE_DIR ${prefix}_LIBRARY)
  if(NOT ${prefix}_INCLUDE_DIR OR NOT ${prefix}_LIBRARY)
    return()
  endif()
  if(ARGC GREATER 3)
    file(STRINGS "${${prefix}_INCLUDE_DIR}/${ARGV3}" is_new REGEX "${ARGV4}")
    if(NOT is_new)
      return()
    endif()
  endif()
  add_library(sley_${name} INTERFACE)
  target_include_directories(sley_${name} SYSTEM INTERFACE "${${prefix}_INCLUDE_DIR}")
  target_link_libraries(sley_${name} INTERFACE "${${prefix}_LIBRARY}")
endfunction()

sley_find_adapted(hiredis hiredis/hiredis.h hiredis)
sley_find_adapted(libpq libpq-fe.h pq libpq-fe.h LIBPQ_HAS_PIPELINING)  # libpq 14
# The newest status that <sley/nats.hpp> names.
sley_find_adapted(libnats nats/nats.h nats nats/status.h NATS_MISSED_HEARTBEAT)

find_package(CURL 7.68 QUIET)
if(CURL_FOUND)
  add_library(sley_curl INTERFACE)
  target_link_libraries(sley_curl INTERFACE CURL::libcurl)
endif()
