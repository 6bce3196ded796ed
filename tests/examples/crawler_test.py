#!/usr/bin/env python3
"""The crawler asks for every page of a site once, however they link to each other, and for no other
site; a page that fails is a line of its own; a signal ends it beside a server that does not answer.

usage: crawler_test.py PROGRAM
"""
import collections
import http.server
import signal
import subprocess
import sys
import threading

from running import LIMIT_S, expect

PAGES = {
    "/": '<a href="/a">a</a> <a href="b">b</a> <a href="/missing">m</a> <a href="//other.invalid/">o</a>',
    "/a": '<a href="/">back</a> <a href="./deep/1#part">d</a> <a href="/picture">p</a> <a href="',
    "/b": '<a href="/a">a</a> <a href="/broken">x</a> <a href="/moved">v</a> <a href="mailto:a@b">m</a>',
    "/deep/1": '<a href="2">2</a>',
    "/deep/2": '<a href="3">3</a>',
    "/deep/3": "too deep",
}


class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = collections.Counter()
    silence = threading.Event()

    def answer(self, status, text, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        self.asked[self.path] += 1
        if self.path == "/broken":
            self.close_connection = True
        elif self.path == "/silent":
            self.silence.wait()
        elif self.path == "/moved":
            self.answer(301, "", Location="/deep/1")
        elif self.path == "/picture":
            self.answer(200, '<a href="/never">', Content_Type="image/png")
        elif self.path in PAGES:
            self.answer(200, PAGES[self.path], Content_Type="text/html; charset=utf-8")
        else:
            self.answer(404, "none", Content_Type="text/plain")

    def log_message(self, *_):
        pass


def crawl(program, address, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=LIMIT_S)
    expect("status " + done.stderr, done.returncode, 0)
    return sorted(done.stdout.replace(address, "SITE").splitlines())


def check_site(program, address):
    lines = crawl(program, address, f"http://{address}/")
    expect("pages", [line for line in lines if "SITE/broken" not in line], sorted([
        *(f"200 {path} {len(PAGES[path])} bytes" for path in ("/", "/a", "/b", "/deep/1", "/deep/2")),
        f"200 /moved {len(PAGES['/deep/1'])} bytes", "200 /picture 17 bytes", "404 /missing 4 bytes",
        "9 pages"]))
    expect("the page that fails", len([line for line in lines if "SITE/broken" in line]), 1)
    Site.asked.pop("/broken")  # a request without an answer may be sent again
    expect("asked", {path: count for path, count in Site.asked.items() if count > 1},
           {"/deep/1": 2})  # by a link, and behind /moved
    expect("depth 0", crawl(program, address, f"http://{address}/a", "0"),
           ["1 pages", f"200 /a {len(PAGES['/a'])} bytes"])


def check_signal(program, address):
    crawler = subprocess.Popen([program, f"http://{address}/silent"], stdout=subprocess.PIPE, text=True)
    while not Site.asked["/silent"]:
        pass
    crawler.send_signal(signal.SIGINT)
    output, _ = crawler.communicate(timeout=LIMIT_S)
    expect("told to end", (crawler.returncode, output), (0, "1 pages, and then it was told to end\n"))


def main(program):
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    site.daemon_threads = True
    threading.Thread(target=site.serve_forever, daemon=True).start()
    address = "%s:%d" % site.server_address
    check_site(program, address)
    check_signal(program, address)
    Site.silence.set()


main(sys.argv[1])
