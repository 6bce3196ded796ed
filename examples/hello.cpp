// Hello: start a goroutine, and hear from it through a channel.
//
// sley::run makes its function the main goroutine and returns when that returns. Copying a channel
// copies a handle: main and the goroutine talk through the same channel.
#include <sley/sley.hpp>

#include <cstdio>
#include <string>

int main() {
  return sley::run([] {
    const sley::chan<std::string> greetings;

    sley::go([greetings] {
      for (const char* name : {"world", "channel", "goroutine"}) {
        greetings.send(std::string("hello, ") + name);
      }
      greetings.close();  // ends the loop below
    });

    for (const std::string& greeting : greetings) std::puts(greeting.c_str());
  });
}
