// Chrome's trace events: a row for each processor, an arrow from a waker to the run that it led to,
// and a row for each of the program's regions and tasks.
#include "debug/trace_writer.hpp"

#include <cstdint>
#include <string>
#include <unordered_set>

namespace sley::debug::trace {

namespace {

class json_writer : public trace_writer {
 public:
  explicit json_writer(const std::string& path) : file_(path) {
    file_.text("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    file_.text(R"({"ph":"M","name":"process_name","pid":1,"args":{"name":"sley"}})");
  }

  void add_processor(std::uint32_t id) override {
    file_.text(",\n").text(R"({"ph":"M","name":"thread_name","pid":1,"tid":)").number(id);
    file_.text(R"(,"args":{"name":"P )").number(id).text("\"}}");
  }

  void add_run(const traced_run& run) override {
    if (arrows_.erase(run.goroutine.id) != 0) {
      begin("f", run.processor, run.begin_ns);
      add_arrow(run.goroutine);
      file_.text(R"(,"bp":"e"})");
    }
    begin("X", run.processor, run.begin_ns);
    file_.text(",\"dur\":").us(run.end_ns - run.begin_ns).text(",\"name\":");
    file_.in_quotes(title(run.goroutine)).text(R"(,"args":{"end":)").in_quotes(run.end);
    file_.text(",\"machine\":").number(run.machine).text(",\"started\":");
    file_.in_quotes(shown(places_[run.goroutine.started_at])).text("}}");
  }

  // An arrow begins in a run, so the runtime's have none.
  void add_wake(const traced_wake& wake) override {
    if (wake.waker == nullptr) return;
    if (!arrows_.insert(wake.goroutine.id).second) return;  // the run that it led to is lost
    begin("s", wake.processor, wake.ns);
    add_arrow(wake.goroutine);
    file_.text("}");
  }

  void add_note(const traced_note& note) override {
    switch (note.kind) {
      case note_kind::region_begin: return add_part("b", "region", note, note.goroutine.id);
      case note_kind::region_end: return add_part("e", "region", note, note.goroutine.id);
      case note_kind::task_begin: return add_part("b", "task", note, note.task);
      case note_kind::task_end: return add_part("e", "task", note, note.task);
      case note_kind::log: break;
    }
    begin("i", note.processor, note.ns);
    file_.text(R"(,"s":"t","cat":"log","name":)").in_quotes(shown(note.text));
    add_args(note);
  }

  void complete(std::uint64_t lost) override {
    file_.text("\n],\"otherData\":{\"lost events\":\"").number(lost).text("\"}}\n");
    file_.complete();
  }

 private:
  void begin(std::string_view phase, std::uint32_t processor, std::int64_t ns) {
    file_.text(",\n{\"ph\":\"").text(phase).text(R"(","pid":1,"tid":)").number(processor);
    file_.text(",\"ts\":").us(ns);
  }

  // Of something that may begin on one processor and end on another.
  void add_part(std::string_view phase, std::string_view category, const traced_note& note,
                std::uint64_t id) {
    begin(phase, note.processor, note.ns);
    file_.text(",\"cat\":\"").text(category).text("\",\"id\":").number(id);
    file_.text(",\"name\":").in_quotes(shown(note.text));
    add_args(note);
  }

  void add_args(const traced_note& note) {
    file_.text(R"(,"args":{"goroutine":)").number(note.goroutine.id);
    if (note.task != 0) file_.text(",\"task\":").number(note.task);
    file_.text("}}");
  }

  // Its number is that of the goroutine: it ends before the next one begins.
  void add_arrow(const traced_goroutine& to) {
    file_.text(R"(,"cat":"wake","name":"wake","id":)").number(to.id);
  }

  trace_file file_;
  start_places places_;
  std::unordered_set<std::uint64_t> arrows_;  // that have begun, by goroutine
};

}  // namespace

std::unique_ptr<trace_writer> make_json_writer(const std::string& path) {
  return std::make_unique<json_writer>(path);
}

}  // namespace sley::debug::trace
