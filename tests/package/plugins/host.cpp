// Loads each PLUGIN:FUNCTION, calls the functions, unloads the plugins, and waits until the threads
// that the plugins' copies of sley have left have been looking for work for a while.
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  std::vector<void*> loaded;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto colon = argument.rfind(':');
    void* plugin = dlopen(argument.substr(0, colon).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) {
      std::puts(dlerror());
      return 1;
    }
    loaded.push_back(plugin);
    const auto run = reinterpret_cast<int (*)()>(dlsym(plugin, argument.substr(colon + 1).c_str()));
    if (run() != 10) return 1;
  }
  for (void* plugin : loaded) dlclose(plugin);
  std::this_thread::sleep_for(std::chrono::seconds(2));
  std::puts("hello from the installed sley");
}
