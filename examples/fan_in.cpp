// Fan-in: one select receives from several channels, whichever is ready.
//
// A channel that is closed is always ready, with nothing in it. The loop therefore forgets it by
// putting the nil channel in its place: a case on the nil channel never fires. When both are nil,
// both sources have ended.
#include <sley/sley.hpp>

#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <string>

using namespace std::chrono_literals;

struct reading {
  std::string sensor;
  int value;
};

// Sends `count` readings, a while apart, then closes its channel.
sley::recv_chan<reading> sensor(std::string name, int count, std::chrono::milliseconds pause) {
  sley::chan<reading> out;
  sley::go([name, count, pause, out] {
    for (int i = 1; i <= count; ++i) {
      sley::this_goroutine::sleep_for(pause);
      out.send({name, i});
    }
    out.close();
  });
  return out;
}

int main() {
  return sley::run([] {
    sley::recv_chan<reading> indoors = sensor("indoors", 5, 1ms);
    sley::recv_chan<reading> outdoors = sensor("outdoors", 3, 2ms);
    std::map<std::string, int> last;
    bool in_order = true;
    int timeouts = 0;

    const auto note = [&](const reading& r) {
      in_order = in_order && r.value == last[r.sensor] + 1;
      last[r.sensor] = r.value;
    };
    // A case that notes what comes from the source, and switches the source off when it ends.
    const auto from = [&](sley::recv_chan<reading>& source) {
      return sley::on_receive(source, [&](std::optional<reading> r) {
        if (r) {
          note(*r);
        } else {
          source = nullptr;
        }
      });
    };
    while (indoors || outdoors) {
      sley::select(from(indoors), from(outdoors), sley::on_timeout(1min, [&] { ++timeouts; }));
    }

    for (const auto& [name, value] : last) std::printf("%s: %d readings\n", name.c_str(), value);
    std::printf("each sensor's readings came %s\n", in_order ? "in order" : "out of order");
    std::printf("%d timeouts\n", timeouts);
  });
}
