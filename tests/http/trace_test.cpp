// Traces: the header as the W3C Recommendation has it, its way through servers and clients, and
// into the log.
#include "support/web.hpp"

#include <sley/http/trace.hpp>

#include <optional>
#include <string>
#include <string_view>

using sley::http::client;
using sley::http::client_request;
using sley::http::request;
using sley::http::response;
using sley::http::trace_context;
using sley::http::trace_in;
using sley::http::trace_parent;
using sley_test::body_of;
using sley_test::get;
using sley_test::running_server;

namespace {

constexpr std::string_view example = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

std::string header(std::string_view name, std::string_view value) {
  return std::string(name) + ": " + std::string(value) + "\r\n";
}

// What the request's context carries: traceparent and tracestate.
void show_trace(request& in, response& out) {
  const trace_context* const t = trace_in(in.context());
  out.send(200, "text/plain", t == nullptr ? "none" : t->parent.to_string() + ' ' + t->state);
}

void show_headers(request& in, response& out) {
  out.send(200, "text/plain",
           std::string(in.header("traceparent")) + ' ' + std::string(in.header("tracestate")));
}

trace_parent parent_of(std::string_view text) {
  return trace_parent::parse(text.substr(0, example.size())).value_or(trace_parent());
}

}  // namespace

// ---- the header ----

TEST(trace, a_header_is_read_and_written) {
  const auto p = trace_parent::parse(example);
  ASSERT_TRUE(p);
  EXPECT_TRUE(p->is_sampled);
  EXPECT_EQ(p->trace_id[0], std::byte(0x0a));
  EXPECT_EQ(p->parent_id[7], std::byte(0x31));
  EXPECT_EQ(p->to_string(), example);
}

TEST(trace, flags_but_sampled_are_not_handed_on) {
  const std::string ids(example.substr(0, 53));
  EXPECT_EQ(trace_parent::parse(ids + "ff")->to_string(), ids + "01");
  EXPECT_EQ(trace_parent::parse(ids + "fe")->to_string(), ids + "00");
}

TEST(trace, a_later_version_may_have_more) {
  const std::string rest(example.substr(2));
  for (const std::string& text : {"01" + rest, "fe" + rest, "cc" + rest + "-what-else"}) {
    ASSERT_TRUE(trace_parent::parse(text)) << text;
    EXPECT_EQ(trace_parent::parse(text)->to_string(), example);
  }
}

TEST(trace, invalid_headers_are_refused) {
  const std::string whole(example);
  const auto with = [&](std::size_t at, std::string_view text) {
    return std::string(whole).replace(at, text.size(), text);
  };
  const std::string refused[] = {"",
                                 "00",
                                 whole.substr(1),
                                 whole.substr(0, 54),
                                 whole + "-more",
                                 whole + ' ',
                                 ' ' + whole,
                                 with(0, "ff"),
                                 with(0, "0g"),
                                 with(0, "0A"),
                                 "01" + whole.substr(2) + "x",
                                 with(2, "_"),
                                 with(35, "_"),
                                 with(52, "_"),
                                 with(3, "A"),
                                 with(36, "B"),
                                 with(53, "0F"),
                                 with(3, std::string(32, '0')),
                                 with(36, std::string(16, '0')),
                                 with(10, "-"),
                                 with(5, std::string(1, '\0'))};
  for (const std::string& text : refused) EXPECT_FALSE(trace_parent::parse(text)) << text;
}

TEST(trace, ids_are_of_chance) {
  const trace_parent p = trace_parent::make(true);
  EXPECT_NE(p.trace_id, trace_parent::make().trace_id);
  EXPECT_EQ(trace_parent::parse(p.to_string()), p);
  EXPECT_EQ(p.child().trace_id, p.trace_id);
  EXPECT_NE(p.child().parent_id, p.parent_id);
  EXPECT_TRUE(p.child().is_sampled);
}

// ---- servers ----

GO_TEST(trace, the_context_of_a_request_carries_it) {
  const running_server web(show_trace, {.trace = true});
  const std::string more = header("TraceParent", example) + header("tracestate", "a=1") +
                           header("tracestate", "b=2,c=3");
  const std::string shown = body_of(web.exchange(get("/", more)));
  const trace_parent seen = parent_of(shown);
  EXPECT_EQ(seen.trace_id, parent_of(example).trace_id);
  EXPECT_NE(seen.parent_id, parent_of(example).parent_id) << "it is the server's own";
  EXPECT_TRUE(seen.is_sampled);
  EXPECT_TRUE(shown.ends_with(" a=1,b=2,c=3")) << shown;
}

GO_TEST(trace, begins_with_a_request_that_has_none_or_no_valid_one) {
  const running_server web(show_trace, {.trace = true});
  const std::string state = header("tracestate", "a=1");
  for (const std::string& more :
       {state, state + header("traceparent", "00-0"),
        state + header("traceparent", example) + header("traceparent", example)}) {
    const std::string shown = body_of(web.exchange(get("/", more)));
    EXPECT_NE(parent_of(shown), trace_parent()) << shown;
    EXPECT_NE(parent_of(shown).trace_id, parent_of(example).trace_id);
    EXPECT_TRUE(shown.ends_with("-00 ")) << shown;
  }
  const running_server without(show_trace);
  EXPECT_EQ(body_of(without.exchange(get("/", header("traceparent", example)))), "none");
}

// ---- clients ----

GO_TEST(trace, goes_on_to_the_next_server) {
  const running_server back(show_headers);
  client asking({.trace = true});
  client silent;
  const running_server front(
      [&](request& in, response& out) {
        const std::string url = "http://" + back.address + '/';
        client_request own{.url = url, .context = in.context()};
        own.headers.set("traceparent", "own");
        out.write(trace_in(in.context())->parent.to_string() + '\n');
        out.write(asking.get(url, in.context()).read_all() + '\n');
        out.write(silent.get(url, in.context()).read_all() + '\n');
        out.write(asking.send(std::move(own)).read_all() + '\n');
      },
      {.trace = true});
  client_request first{.url = "http://" + front.address + '/'};
  first.headers.set("traceparent", example);
  first.headers.set("tracestate", "a=1");
  const std::string answer = silent.send(std::move(first)).read_all();
  const std::string parent = answer.substr(0, answer.find('\n'));
  EXPECT_EQ(parent_of(parent).trace_id, parent_of(example).trace_id);
  EXPECT_EQ(answer, parent + '\n' + parent + " a=1\n \nown \n");
}

// ---- the log ----

namespace {

// What a server's log has of one request.
std::string logged(bool traces, std::string_view more) {
  const sley::chan<std::string> lines(1);
  const running_server web(
      sley_test::hello,
      {.trace = traces, .access_log = [lines](const sley::http::access_record& r) {
         lines.send(std::string(r.traceparent));
       }});
  web.exchange(get("/", more));
  return *lines.receive();
}

}  // namespace

GO_TEST(trace, is_logged) {
  EXPECT_EQ(logged(false, header("traceparent", example)), example);
  EXPECT_EQ(logged(false, header("traceparent", "nonsense")), "");
  EXPECT_EQ(logged(false, ""), "");
  const trace_parent own = parent_of(logged(true, header("traceparent", example)));
  EXPECT_EQ(own.trace_id, parent_of(example).trace_id);
  EXPECT_NE(own.parent_id, parent_of(example).parent_id);
}

TEST(access_log, a_record_is_one_object_of_json) {
  sley::http::access_record r = sley_test::example_record();
  EXPECT_EQ(to_json(r),
            R"({"time":"2026-01-02T03:04:05.067890Z","remote":"192.0.2.1:5000","method":"GET",)"
            R"("target":"/a?b","status":200,"bytes":5,"duration_us":1023,)"
            R"("first_byte_us":918})");
  r.remote = {};
  r.method = "\"\\\n";
  r.target = "/\x7f\xc3\xa9\xff\xe2\x80\xae";
  r.cut_by = sley::http::errc::incomplete;
  r.traceparent = example;
  EXPECT_EQ(to_json(r),
            R"({"time":"2026-01-02T03:04:05.067890Z","remote":"","method":"\"\\\u000a",)"
            "\"target\":\"/\\u007f\xc3\xa9\\ufffd\\ufffd\\ufffd\\ufffd\","
            R"("status":200,"bytes":5,"duration_us":1023,"first_byte_us":918,)"
            R"("traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",)"
            R"("cut":"the message ended too soon"})");
}
