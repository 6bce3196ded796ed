"""sley for Conan 2, built from the tree that this file is in:

    conan create packaging/conan --build=missing

The core needs nothing. The options http and tls add sley::http and sley::tls, and what they need.
"""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

TREE = os.path.join("..", "..")  # from the folder of this file
PARTS = ["CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "modules/*", "src/*",
         "tools/bpftrace/*", "tools/debuggers/*"]


class SleyConan(ConanFile):
    name = "sley"
    description = "Goroutines, channels and select for C++20"
    license = "MIT"
    topics = ("goroutines", "channels", "scheduler", "fibers", "coroutines")
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "http": [True, False], "tls": [True, False]}
    default_options = {"shared": False, "http": False, "tls": False}
    package_type = "library"

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, TREE, "CMakeLists.txt"))
        self.version = re.search(r"^\s*VERSION (\S+)", text, re.MULTILINE).group(1)

    def export_sources(self):
        root = os.path.join(self.recipe_folder, TREE)
        for part in PARTS:
            copy(self, part, root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        if self.options.http:
            self.requires("boost/[>=1.74 <2]", headers=True, libs=False, visible=False)
            self.requires("zlib/[>=1.2 <2]")
        if self.options.tls:
            self.requires("openssl/[>=3 <4]")

    def validate(self):
        if self.settings.os != "Linux" or self.settings.arch not in ("x86_64", "armv8", "riscv64"):
            raise ConanInvalidConfiguration("sley runs on Linux on x86-64, aarch64 and riscv64")
        check_min_cppstd(self, 20)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        parts = {"TESTS": False, "BENCH": False, "EXAMPLES": False, "INSPECT": False, "TESTING": False,
                 "HTTP": bool(self.options.http), "TLS": bool(self.options.tls),
                 "BUILD_SHARED": bool(self.options.shared),
                 "BUILD_STATIC": not self.options.shared}
        for part, wanted in parts.items():
            toolchain.cache_variables[f"SLEY_{part}"] = wanted
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        rmdir(self, os.path.join(self.package_folder, "share"))

    # The package's own files for CMake and pkg-config are used, because they have what a program must
    # agree on with its library.
    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "sley")]
