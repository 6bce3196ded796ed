# What a user gets: headers, all libraries, find_package(sley CONFIG), pkg-config's sley.pc and one for
# each library apart, and the licences. Nothing installed holds an absolute path, so the prefix can be
# moved as a whole.
#
# The component sley_library has what a program needs when it runs, and sley_dev what it needs when it is
# built.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME sley_dev)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/sley")

install(DIRECTORY include/sley DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.hpp" PATTERN "detail/parts.hpp" EXCLUDE)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/include/sley/detail/parts.hpp"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/sley/detail")

# The module is a source: each program's build compiles it with that program's settings.
set(module_dir "${CMAKE_INSTALL_DATADIR}/sley")
install(FILES modules/sley.cppm DESTINATION "${module_dir}")

# The scripts for bpftrace.
install(PROGRAMS tools/bpftrace/waits.bt tools/bpftrace/delays.bt tools/bpftrace/losses.bt
  DESTINATION "${CMAKE_INSTALL_DATADIR}/sley")

# The scripts for gdb and lldb. In the prefix of distributions, gdb loads its own with libsley.so, by a
# file with the library's path in a folder that gdb trusts. In other prefixes there is no such file:
# gdb would not trust it, and say so in every session.
install(FILES
  tools/debuggers/sley_goroutines.py tools/debuggers/sley_gdb.py tools/debuggers/sley_lldb.py
  DESTINATION "${CMAKE_INSTALL_DATADIR}/sley")
if(SLEY_BUILD_SHARED)
  configure_file(cmake/gdb_auto_load.py.in
    "${CMAKE_CURRENT_BINARY_DIR}/gdb/libsley.so.${PROJECT_VERSION}-gdb.py" @ONLY)
  install(CODE "
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
      file(INSTALL \"${CMAKE_CURRENT_BINARY_DIR}/gdb/libsley.so.${PROJECT_VERSION}-gdb.py\"
        DESTINATION \"/usr/${CMAKE_INSTALL_DATADIR}/gdb/auto-load/usr/${CMAKE_INSTALL_LIBDIR}\")
    endif()")
endif()

if(SLEY_INSPECT)
  install(TARGETS sley_inspect DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

# sley_install(export targets...)   those of the targets that are built
function(sley_install export)
  set(installed "")
  foreach(target IN LISTS ARGN)
    if(TARGET ${target})
      list(APPEND installed ${target})
    endif()
  endforeach()
  install(TARGETS ${installed} EXPORT ${export}
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
      COMPONENT sley_library NAMELINK_COMPONENT sley_dev)
  install(EXPORT ${export} NAMESPACE sley:: DESTINATION "${package_dir}")
endfunction()

# The components have targets of their own, because a program that asks for one must have what that
# needs.
sley_install(sley-targets sley_static sley_shared)
set(SLEY_COMPONENTS "")
foreach(part IN ITEMS http tls)
  string(TOUPPER "SLEY_${part}" wanted)
  if(${wanted})
    sley_install(sley-${part}-targets sley_${part}_static sley_${part}_shared)
    list(APPEND SLEY_COMPONENTS ${part})
  endif()
endforeach()
if(SLEY_TESTING)
  sley_install(sley-testing-targets sley_testing)
  list(APPEND SLEY_COMPONENTS testing)
endif()

configure_package_config_file(cmake/sley-config.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/sley-config.cmake"
  INSTALL_DESTINATION "${package_dir}"
  PATH_VARS module_dir
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/sley-config-version.cmake"
  COMPATIBILITY ${SLEY_COMPATIBILITY})
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/sley-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/sley-config-version.cmake"
  DESTINATION "${package_dir}")

# ---- pkg-config ----

# It finds the prefix from the place of the file itself.
file(RELATIVE_PATH SLEY_PC_UP
  "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" SLEY_PC_UP "${SLEY_PC_UP}")
set(SLEY_PC_DEFINES "")
if(SLEY_CHECKS)
  string(APPEND SLEY_PC_DEFINES " -DSLEY_DEBUG_CHECKS=1")
endif()
if(SLEY_CHAOS)
  string(APPEND SLEY_PC_DEFINES " -DSLEY_CHAOS=1")
endif()
configure_file(cmake/sley.pc.in "${CMAKE_CURRENT_BINARY_DIR}/sley.pc" @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/sley.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# sley_install_pc(part description packages)   with the packages that the library itself links. Without
# a shared library every link is a static one, also without --static.
function(sley_install_pc part part_description packages)
  set(part_requires "Requires: sley = ${PROJECT_VERSION}")
  if(packages AND SLEY_BUILD_SHARED)
    string(APPEND part_requires "\nRequires.private: ${packages}")
  elseif(packages)
    string(APPEND part_requires " ${packages}")
  endif()
  configure_file(cmake/sley-part.pc.in "${CMAKE_CURRENT_BINARY_DIR}/sley-${part}.pc" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/sley-${part}.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()

# It takes the place of libsley, and of what sley.pc asks for.
if(SLEY_TESTING)
  configure_file(cmake/sley-testing.pc.in "${CMAKE_CURRENT_BINARY_DIR}/sley-testing.pc" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/sley-testing.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()
if(SLEY_TLS)
  sley_install_pc(tls "TLS for sley" "libssl >= 3 libcrypto >= 3")
endif()
if(SLEY_HTTP AND SLEY_GZIP)
  sley_install_pc(http "HTTP for sley" "zlib")
elseif(SLEY_HTTP)
  sley_install_pc(http "HTTP for sley" "")
endif()

install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT sley_library)
if(SLEY_BACKTRACE)
  install(FILES cmake/libbacktrace-license.txt DESTINATION "${CMAKE_INSTALL_DOCDIR}"
    COMPONENT sley_library RENAME LICENSE.libbacktrace)
endif()

if(PROJECT_IS_TOP_LEVEL)
  include("${CMAKE_CURRENT_SOURCE_DIR}/cmake/package.cmake")
endif()
