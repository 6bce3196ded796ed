# Boost's headers, for src/http: Boost.Beast parses HTTP. Nothing of Boost is linked, installed or
# seen by users of sley. 1.74 and later.
find_path(SLEY_BOOST_INCLUDE_DIR boost/beast/http/basic_parser.hpp)
mark_as_advanced(SLEY_BOOST_INCLUDE_DIR)
set(has_boost OFF)
if(SLEY_BOOST_INCLUDE_DIR)
  set(has_boost ON)
endif()
option(SLEY_HTTP "HTTP servers: <sley/http.hpp>; needs the headers of Boost 1.74 to build" ${has_boost})
if(SLEY_HTTP AND NOT has_boost)
  message(FATAL_ERROR "sley: SLEY_HTTP needs the headers of Boost 1.74 or later")
elseif(NOT SLEY_HTTP)
  message(STATUS "sley: without <sley/http.hpp> (SLEY_HTTP is off, or Boost's headers are not there)")
endif()

# zlib, for compress() and what a client undoes. Without it bodies go as they are.
find_package(ZLIB QUIET GLOBAL)
option(SLEY_GZIP "gzip in <sley/http.hpp>, by zlib" ${ZLIB_FOUND})
if(SLEY_GZIP AND NOT ZLIB_FOUND)
  message(FATAL_ERROR "sley: SLEY_GZIP needs zlib (Debian: zlib1g-dev)")
endif()
# Where it is linked: by programs that use it only, as most of them have no HTTP.
set(SLEY_GZIP_LIBRARY "")
if(SLEY_HTTP AND SLEY_GZIP)
  set(SLEY_GZIP_LIBRARY -Wl,--push-state,--as-needed
    $<BUILD_INTERFACE:ZLIB::ZLIB> $<INSTALL_INTERFACE:-lz> -Wl,--pop-state)
endif()
