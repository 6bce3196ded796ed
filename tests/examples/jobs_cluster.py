"""What the tests of examples/jobs run: a Redis and a PostgreSQL server in a temporary folder, a server
of pages, workers. All is started and ended by process id, and the kernel ends the servers if the test
dies."""
import glob
import http.client
import http.server
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

LIMIT_S = 200  # of all that is waited for: the machine may be busy, and the program slowed by a sanitizer
NOBODY = 65534
SKIPPED = 77
DIES_WITH_TEST = ["setpriv", "--pdeathsig", "KILL"]


def programs():
    """The programs of both servers; ends the test where one is not installed."""
    redis = shutil.which("redis-server") or shutil.which("redis-check-rdb")
    postgres = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not redis or not postgres or not os.path.exists(postgres[-1] + "/initdb"):
        print("skipped: no redis-server or no PostgreSQL server (Debian: redis-tools, postgresql)")
        sys.exit(SKIPPED)
    return redis, postgres[-1]


def wait_until(what, is_so):
    """Looks again and again, because it comes from other processes."""
    end = time.monotonic() + LIMIT_S
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError(f"does not happen in {LIMIT_S} s: {what}")
        time.sleep(0.01)


class Server:
    """A server that says in a line when it is ready."""

    def __init__(self, command, folder):
        self._command, self._folder, self._process = command, folder, None

    def start(self):
        self._process = subprocess.Popen(self._command, cwd=self._folder, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = ""
        for line in self._process.stdout:
            said += line
            if re.search("eady to accept connections", line):
                break
        else:
            raise ChildProcessError(f"{self._command} has not started:\n{said}")
        threading.Thread(target=self._process.stdout.read, daemon=True).start()

    def stop(self, how):
        if self._process:
            self._process.send_signal(how)
            self._process.wait()
        self._process = None


class Servers:
    """Both, on Unix sockets; also on a port of `address` each if there is one. What they have
    answered survives that they are killed."""

    def __init__(self, address=None):
        redis, self.postgres_programs = programs()
        self.folder = tempfile.mkdtemp(prefix="sley-jobs-")
        self.redis_address = f"{address}:6379" if address else f"{self.folder}/redis.socket"
        self.conninfo = f"host={address or self.folder} port=5432 user=postgres dbname=postgres"
        os.symlink(redis, f"{self.folder}/redis-server")  # the program does what its name says
        self.redis = Server(
            [*DIES_WITH_TEST, f"{self.folder}/redis-server", "--dir", self.folder, "--unixsocket",
              f"{self.folder}/redis.socket", "--save", "", "--appendonly", "yes",
             "--appendfsync", "no"]
            + (["--bind", address, "--protected-mode", "no", "--port", "6379"] if address
               else ["--port", "0"]), self.folder)
        self.postgres = Server(
            self._as_user("postgres", "-k", self.folder, "-c", "fsync=off", "-c", "max_connections=400",
                          "-c", f"listen_addresses={address or ''}"), self.folder)
        try:
            self._make_cluster(address)
        except BaseException:
            shutil.rmtree(self.folder)
            raise

    def _as_user(self, name, *arguments):
        """PostgreSQL does not run as root."""
        user = (["--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
                if os.geteuid() == 0 else [])
        return ["setpriv", "--pdeathsig", "QUIT", *user, f"{self.postgres_programs}/{name}", "-D",
                f"{self.folder}/data", *arguments]

    def _make_cluster(self, address):
        if os.geteuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
        subprocess.run(self._as_user("initdb", "--no-sync", "--no-locale", "--encoding=UTF8",
                                     "--auth=trust", "--username=postgres", "--wal-segsize=1"),
                       cwd=self.folder, stdout=subprocess.DEVNULL, check=True)
        if address:
            with open(f"{self.folder}/data/pg_hba.conf", "a", encoding="utf-8") as file:
                file.write(f"host all all {address}/24 trust\n")

    def select(self, sql):
        """The rows, each a list of texts."""
        done = subprocess.run([f"{self.postgres_programs}/psql", "-XAtF\t", "-c", sql, self.conninfo],
                              capture_output=True, text=True, check=True)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def __enter__(self):
        try:
            self.redis.start()
            self.postgres.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.redis.stop(signal.SIGKILL)
        self.postgres.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder)


class Pages:
    """A server of pages that knows which worker has asked for which of them. A page that is held is
    not answered before it is released."""

    def __init__(self, host="127.0.0.1"):
        self.changed = threading.Condition()
        self.asked = {}  # page: the workers that have asked for it, in order
        self._held = set()
        self._server = http.server.ThreadingHTTPServer((host, 0), self._handler())
        self._server.daemon_threads = True
        self._server.request_queue_size = 1000
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = "http://%s:%d" % self._server.server_address

    @staticmethod
    def content(page):
        """Its status and size."""
        number = int(page.rpartition("/")[2])
        return (404 if number % 10 == 7 else 200), number % 5000

    def _answer(self, page, worker):
        with self.changed:
            self.asked.setdefault(page, []).append(worker)
            is_first = len(self.asked[page]) == 1
            self.changed.notify_all()
            self.changed.wait_for(lambda: page not in self._held)
        if is_first and page.endswith("3"):
            return 503, 0
        return self.content(page)

    def _handler(pages):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def do_GET(self):
                worker = self.headers["User-Agent"].removeprefix("jobs/")
                status, size = pages._answer(self.path, worker)
                self.send_response(status)
                self.send_header("Content-Length", str(size))
                self.end_headers()
                self.wfile.write(b"x" * size)

            def handle(self):
                try:
                    super().handle()
                except OSError:
                    pass  # the worker was killed

            def log_message(self, *_):
                pass

        return Handler

    def hold(self, page):
        with self.changed:
            self._held.add(page)

    def release(self, page):
        with self.changed:
            self._held.remove(page)
            self.changed.notify_all()

    def wait_for(self, page, others_than=()):
        """Until a worker asks for the page that is none of these; its name."""
        def found():
            return next((w for w in self.asked.get(page, ()) if w not in others_than), None)
        with self.changed:
            if not self.changed.wait_for(found, LIMIT_S):
                raise TimeoutError(f"no worker asks for {page}, but {self.asked.get(page)}")
            return found()

    def wait_for_number(self, number):
        """Until so many pages have been asked for."""
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.asked) >= number, 10 * LIMIT_S):
                raise TimeoutError(f"{len(self.asked)} pages are asked for, not {number}")


class Worker:
    def __init__(self, command, name, *options, watch="127.0.0.1:0"):
        self.name = name
        self.process = subprocess.Popen(
            [*DIES_WITH_TEST, *command, "work", "--name", name, "--watch", watch, *options],
            stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"watched at http://([\d.]+):(\d+)/", line)
        if not found:
            self.process.kill()
            raise ChildProcessError(f"{name} does not start: {line!r}")
        self._address = found[1], int(found[2])

    def ask(self, page):
        connection = http.client.HTTPConnection(*self._address, timeout=LIMIT_S)
        try:
            connection.request("GET", page)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def figure(self, name):
        return int(re.search(rf"^jobs_{name} (\d+)$", self.ask("/metrics")[1], re.MULTILINE)[1])

    def wait_until_ready(self, is_ready=True):
        wanted = 200 if is_ready else 503
        wait_until(f"{self.name} says {wanted} at /readyz", lambda: self.ask("/readyz")[0] == wanted)

    def send(self, what):
        self.process.send_signal(what)

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def end(self):
        """Waits until it has ended, of itself or told before; what it said last."""
        output, _ = self.process.communicate(timeout=LIMIT_S)
        if self.process.returncode != 0:
            raise ChildProcessError(f"{self.name} has ended with {self.process.returncode}: {output}")
        return output.splitlines()[-1]


class Cluster:
    """The servers, the pages and the workers of one run of a test."""

    def __init__(self, program, engine, servers, pages):
        self.servers, self.pages = servers, pages
        self.program = program
        self.common = ["--engine", engine, "--redis", servers.redis_address,
                       "--postgres", servers.conninfo]
        self.workers = {}
        self.wanted = {}  # the id of each job, and its page
        self._made = 0

    def start_worker(self, *options, host=(), watch="127.0.0.1:0"):
        self._made += 1
        worker = Worker([*host, self.program], f"w{self._made}", *self.common, *options, watch=watch)
        self.workers[worker.name] = worker
        return worker

    def kill_worker(self, name):
        self.workers.pop(name).kill()

    def start_producing(self, batch, numbers):
        """A program that adds a job for each number; returns the pages and the program."""
        pages = [f"/{batch}/{n}" for n in numbers]
        self.wanted.update({f"{batch}-{i + 1}": page for i, page in enumerate(pages)})
        file = f"{self.servers.folder}/{batch}"
        with open(file, "w", encoding="utf-8") as urls:
            urls.write("".join(f"{self.pages.url}{page}\n" for page in pages))
        return subprocess.Popen(
            [*DIES_WITH_TEST, self.program, "produce", file, "--batch", batch, *self.common],
            stdout=subprocess.PIPE, text=True)

    def produce(self, batch, numbers):
        self.end_producing(self.start_producing(batch, numbers))

    @staticmethod
    def end_producing(producer):
        output, _ = producer.communicate(timeout=LIMIT_S)
        if producer.returncode != 0 or not output.startswith("added"):
            raise ChildProcessError(f"the producer ends with {producer.returncode}: {output}")

    def status(self, *options, limit_s=LIMIT_S):
        return subprocess.run([*DIES_WITH_TEST, self.program, "status", *self.common, *options], check=True,
                              stdout=subprocess.PIPE, text=True, timeout=limit_s).stdout

    def end_workers(self):
        for worker in self.workers.values():
            worker.send(signal.SIGTERM)
        said = [worker.end() for worker in self.workers.values()]
        self.workers = {}
        return said

    def check_results(self):
        """Each job is recorded with its page, and counted by one worker once."""
        expected = {(job, self.pages.url + page, *map(str, self.pages.content(page)), "")
                    for job, page in self.wanted.items()}
        got = self.servers.select("select job, url, status, bytes, error from results")
        counted = self.servers.select("select sum(recorded) from progress")
        wrong = expected.symmetric_difference(map(tuple, got))
        if wrong or len(got) != len(expected) or counted != [[str(len(expected))]]:
            sys.exit(f"{len(expected)} jobs, {len(got)} results, counted {counted}; "
                     f"wrong or missing: {sorted(wrong)[:10]}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self.workers.values():
            worker.send(signal.SIGCONT)
            worker.kill()
