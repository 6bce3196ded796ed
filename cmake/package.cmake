# The Debian packages that cpack makes of a build tree: libsley<version> with the shared libraries, and
# libsley-dev with headers, static libraries and what CMake and pkg-config need.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sley)
set(CPACK_PACKAGE_VENDOR sley)
set(CPACK_PACKAGE_CONTACT "The authors of sley <authors@sley.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL sley_library sley_dev)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)

# By the version that the soname has, so that packages of two versions can be installed side by side.
set(library_package "libsley${SLEY_ABI_VERSION}")
set(CPACK_COMPONENT_SLEY_LIBRARY_DESCRIPTION "The shared libraries.")
set(CPACK_DEBIAN_SLEY_LIBRARY_PACKAGE_NAME ${library_package})
set(CPACK_DEBIAN_SLEY_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_SLEY_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)

set(needed "${library_package} (= ${PROJECT_VERSION})")
if(SLEY_TLS)
  string(APPEND needed ", libssl-dev (>= 3)")
endif()
if(SLEY_HTTP AND SLEY_GZIP)
  string(APPEND needed ", zlib1g-dev")
endif()
set(CPACK_COMPONENT_SLEY_DEV_DESCRIPTION
  "Headers, static libraries, and files for CMake and pkg-config.")
set(CPACK_DEBIAN_SLEY_DEV_PACKAGE_NAME libsley-dev)
set(CPACK_DEBIAN_SLEY_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_SLEY_DEV_PACKAGE_DEPENDS "${needed}")

include(CPack)
