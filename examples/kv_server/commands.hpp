// The commands of the key/value server, and the values.
#pragma once

#include <sley/buffered.hpp>
#include <sley/mutex.hpp>

#include <array>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

using words = std::vector<std::string>;

// The client does not speak the protocol; what() is the answer to it.
struct protocol_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The next command, as "*2\r\n$3\r\nGET\r\n$1\r\na\r\n"; none in an empty line. False at the end of
// the stream.
bool read_command(sley::buffered_reader& in, words& command);

// Values by key, in 64 maps with a lock each: goroutines seldom wait for each other.
class store {
 public:
  // Carries the command out, and returns the answer in the protocol.
  std::string answer(words& command);

 private:
  using map = std::unordered_map<std::string, std::string>;
  struct part {
    sley::mutex lock;
    map values;
  };
  struct locked {
    std::unique_lock<sley::mutex> lock;
    map& values;
  };

  locked open(const std::string& key);  // the map that the key belongs to
  std::string get(const std::string& key);
  std::string set(const std::string& key, std::string value);
  std::string erase(const words& command);
  std::string increment(const std::string& key);

  std::array<part, 64> parts_;
};
