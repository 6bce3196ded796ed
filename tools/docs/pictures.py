"""The pictures of docs/debugging.md, made anew from the web server of the examples under its own load.

usage: pictures.py WEBSERVER FOLDER
Needs Chromium, Go's pprof and Graphviz (Debian's packages chromium, golang-go and graphviz).
"""
import http.server
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

PORT = 6060
PAGES = f"http://127.0.0.1:{PORT}/debug/"
LOOKS_S = 60  # so long the live page looks, every two seconds
LIMIT_S = 120


def wait_for_pages():
    end = time.monotonic() + LIMIT_S
    while True:
        try:
            with urllib.request.urlopen(PAGES, timeout=LIMIT_S):
                return
        except urllib.error.URLError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


class Frame(http.server.BaseHTTPRequestHandler):
    """The live page in a frame, and an image that comes late: Chromium draws what is loaded."""

    def do_GET(self):
        if self.path != "/":
            time.sleep(LOOKS_S)
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f"""<!doctype html><body style="margin: 0"><img src="late" hidden>
<iframe src="{PAGES}" style="border: 0; width: 100vw; height: 100vh"></iframe>""".encode())

    def log_message(self, *_):
        pass


def draw_live_page(file):
    with tempfile.TemporaryDirectory() as folder, \
            http.server.ThreadingHTTPServer(("127.0.0.1", 0), Frame) as frame:
        threading.Thread(target=frame.serve_forever, daemon=True).start()
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                        f"--user-data-dir={folder}", "--window-size=1100,900",
                        f"--screenshot={file}", f"http://127.0.0.1:{frame.server_port}/"],
                       timeout=LIMIT_S, check=True, stderr=subprocess.DEVNULL)
        frame.shutdown()


def draw_cpu_profile(file):
    subprocess.run(["go", "tool", "pprof", "-png", "-noinlines", "-nodecount=14", f"-output={file}",
                    PAGES + "pprof/profile?seconds=5"], timeout=LIMIT_S, check=True)


def main():
    webserver, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    server = subprocess.Popen([webserver, "--port", str(PORT), "--demo", "--seconds", str(2 * LIMIT_S)],
                              stdout=subprocess.DEVNULL)
    try:
        wait_for_pages()
        draw_cpu_profile(os.path.join(folder, "cpu_profile.png"))
        draw_live_page(os.path.join(folder, "live_page.png"))
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
