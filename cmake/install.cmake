# What a user gets: headers, both libraries and those of TLS, find_package(sley CONFIG), pkg-config's
# sley.pc and sley-tls.pc, and the licences. Nothing installed holds an absolute path, so the prefix can be moved as a whole.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/sley")
set(installed "")
foreach(form IN ITEMS static shared)
  if(TARGET sley_${form})
    list(APPEND installed sley_${form})
  endif()
endforeach()

install(DIRECTORY include/sley DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp")
install(TARGETS ${installed} EXPORT sley-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT sley-targets NAMESPACE sley:: DESTINATION "${package_dir}")

# The component `tls`: targets of its own, for who asks for it must have OpenSSL.
set(SLEY_HAS_TLS ${SLEY_TLS})
if(SLEY_TLS)
  set(installed_tls "")
  foreach(form IN ITEMS static shared)
    if(TARGET sley_tls_${form})
      list(APPEND installed_tls sley_tls_${form})
    endif()
  endforeach()
  install(TARGETS ${installed_tls} EXPORT sley-tls-targets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT sley-tls-targets NAMESPACE sley:: DESTINATION "${package_dir}")
endif()

if(SLEY_TESTING)
  install(TARGETS sley_testing EXPORT sley-testing-targets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT sley-testing-targets NAMESPACE sley:: DESTINATION "${package_dir}")
endif()

configure_package_config_file(cmake/sley-config.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/sley-config.cmake"
  INSTALL_DESTINATION "${package_dir}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/sley-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/sley-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/sley-config-version.cmake"
  DESTINATION "${package_dir}")

# pkg-config finds the prefix from the place of sley.pc itself.
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
set(SLEY_PC_PRIVATE_LIBS "")
if(SLEY_GZIP_LIBRARY)
  set(SLEY_PC_PRIVATE_LIBS "Libs.private: -lz\n")
endif()
configure_file(cmake/sley.pc.in "${CMAKE_CURRENT_BINARY_DIR}/sley.pc" @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/sley.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

if(SLEY_TLS)
  configure_file(cmake/sley-tls.pc.in "${CMAKE_CURRENT_BINARY_DIR}/sley-tls.pc" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/sley-tls.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()

install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
if(SLEY_BACKTRACE)
  install(FILES cmake/libbacktrace-license.txt DESTINATION "${CMAKE_INSTALL_DOCDIR}"
    RENAME LICENSE.libbacktrace)
endif()
