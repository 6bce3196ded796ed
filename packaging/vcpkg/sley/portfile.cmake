# An overlay port that builds the tree that it is in:
#   vcpkg install sley[http,tls] --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS features
  FEATURES
    http SLEY_HTTP
    tls SLEY_TLS)
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "dynamic" is_shared)
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "static" is_static)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${features}
    -DSLEY_BUILD_SHARED=${is_shared}
    -DSLEY_BUILD_STATIC=${is_static}
    -DSLEY_TESTS=OFF
    -DSLEY_BENCH=OFF
    -DSLEY_EXAMPLES=OFF
    -DSLEY_INSPECT=OFF
    -DSLEY_TESTING=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/sley)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
