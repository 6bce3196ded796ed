#include "http/live_page.hpp"

namespace sley::debug {

// Texts of the program become text nodes, so no name of a goroutine is taken for HTML. What the
// page keeps is bounded: the last looks for the curves, and which of the groups shown are open.
const std::string_view live_page = R"html(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>sley</title>
<style>
:root { color-scheme: light dark; --line: #8884; --faint: #888; --accent: #2a7de1; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 76rem;
  padding: 0 1rem 3rem; }
header { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; align-items: baseline; padding: .8rem 0;
  border-bottom: 1px solid var(--line); }
h1 { font-size: 1.25rem; margin: 0; }
h2 { font-size: 1rem; margin: 1.6rem 0 .5rem; }
nav { margin-left: auto; display: flex; flex-wrap: wrap; gap: .3rem 1rem; }
a { color: var(--accent); }
.faint { color: var(--faint); }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: .8rem; }
.card { border: 1px solid var(--line); border-radius: .4rem; padding: .5rem .7rem; }
.card b { display: block; font-size: 1.3rem; font-variant-numeric: tabular-nums; }
.card svg { display: block; width: 100%; height: 2rem; }
polyline { fill: none; stroke: var(--accent); stroke-width: 1.5;
  vector-effect: non-scaling-stroke; }
.bars { display: flex; flex-wrap: wrap; gap: .4rem 1rem; }
.bar { display: grid; grid-template-columns: auto 8rem auto; gap: .4rem;
  align-items: center; }
.bar i { display: block; height: .7rem; background: var(--accent); border-radius: .2rem; }
.bar span:nth-child(2) { border: 1px solid var(--line); border-radius: .2rem; }
input { font: inherit; padding: .3rem .5rem; width: min(30rem, 100%); box-sizing: border-box; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0;
  border-bottom: 1px solid var(--line); }
td code { overflow-wrap: anywhere; }
td:first-child, th:first-child { text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
tr.group { cursor: pointer; }
tr.group:focus-visible { outline: 2px solid var(--accent); }
code, pre { font: 12.5px/1.45 ui-monospace, monospace; }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
#trouble { color: #c33; }
</style>
<header>
<h1>sley</h1>
<span id="about" class="faint"></span>
<span id="trouble" role="status"></span>
<nav>
<a href="pprof/profile?seconds=5">CPU profile, 5 s</a>
<a href="pprof/wall?seconds=5">wall-clock profile, 5 s</a>
<a href="pprof/trace?seconds=1">trace, 1 s</a>
<a href="pprof/threadblock?debug=1">blocked threads</a>
<a href="pprof/goroutineleak?debug=2">leaked goroutines</a>
<a href="goroutines">dump</a>
<a href="profile">groups as text</a>
<a href="metrics">metrics</a>
<a href="pprof/">profiles</a>
</nav>
</header>
<noscript><p>This page needs JavaScript. The links above do not.</noscript>
<h2>Now</h2>
<div id="cards" class="cards"></div>
<h2>Queues of the processors</h2>
<div id="processors" class="bars"></div>
<h2 id="latency_title" hidden>Latency since the look before</h2>
<table id="latency" hidden><thead><tr><th>times<th>what<th>half within<th>99 of 100 within</thead>
<tbody></tbody></table>
<h2 id="blocks_title" hidden>What has kept processors from others <span class="faint">calls
without an announcement that have blocked a thread, and goroutines that were preempted</span></h2>
<table id="blocks" hidden><thead><tr><th>times<th>for<th>with its processor for<th>in<th>function
</thead><tbody></tbody></table>
<h2>Goroutines at the same place <span id="counts" class="faint"></span></h2>
<p><label>Filter: <input id="filter" type="search" placeholder="state, name or function"></label>
<label><input id="pause" type="checkbox" style="width: auto"> stand still</label></p>
<table id="groups"><thead><tr><th>count<th>state<th>name<th>function<th>started by</thead>
<tbody></tbody></table>
<script>
"use strict";
const every_ms = 2000, most_points = 150;
const by_id = id => document.getElementById(id);

function make(tag, text, parent, attributes = {}) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  if (parent) parent.append(e);
  return e;
}

// Prometheus' text: [{name, labels, value}].
function read_metrics(text) {
  const all = [];
  for (const line of text.split("\n")) {
    const m = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!m) continue;
    const labels = {};
    for (const l of (m[2] || "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[l[1]] = l[2];
    all.push({name: m[1], labels, value: m[3] === "+Inf" ? Infinity : Number(m[3])});
  }
  return all;
}

const one = (all, name) => (all.find(m => m.name === name) || {}).value;

function seconds(s) {
  if (s < 1e-6) return (s * 1e9).toPrecision(3) + " ns";
  if (s < 1e-3) return (s * 1e6).toPrecision(3) + " \u00b5s";
  if (s < 1) return (s * 1e3).toPrecision(3) + " ms";
  if (s < 120) return s.toPrecision(3) + " s";
  if (s < 7200) return Math.round(s / 60) + " min";
  return (s / 3600).toFixed(1) + " h";
}

function bytes(n) {
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (n < 1024) return n.toPrecision(3) + " " + unit;
    n /= 1024;
  }
  return n.toPrecision(3) + " TiB";
}

const cards = new Map();  // title -> {value, line, points}
function show_card(title, text, point) {
  let c = cards.get(title);
  if (!c) {
    const card = make("div", undefined, by_id("cards"), {"class": "card"});
    make("span", title, card, {"class": "faint"});
    const value = make("b", "", card);
    const ns = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(ns, "svg");
    svg.setAttribute("viewBox", "0 0 " + (most_points - 1) + " 100");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    const line = document.createElementNS(ns, "polyline");
    svg.append(line);
    card.append(svg);
    c = {value, line, points: []};
    cards.set(title, c);
  }
  c.value.textContent = text;
  c.points.push(point);
  if (c.points.length > most_points) c.points.shift();
  const top = Math.max(...c.points, 1e-9);
  const first = most_points - c.points.length;
  c.line.setAttribute("points",
    c.points.map((p, i) => (first + i) + "," + (97 - 94 * p / top).toFixed(1)).join(" "));
}

let before = null;  // the look before: {all, at}
function show_metrics(all) {
  const at = performance.now() / 1000;
  const rate = name => {
    if (!before || one(before.all, name) === undefined) return undefined;
    return (one(all, name) - one(before.all, name)) / (at - before.at);
  };
  const build = all.find(m => m.name === "sley_build_info");
  const start = one(all, "process_start_time_seconds");
  by_id("about").textContent = (build ? build.labels.version + ", " + build.labels.compiler : "") +
    (start ? ", up " + seconds(Date.now() / 1000 - start) : "");
  for (const m of all.filter(m => m.name === "sley_goroutines_by_state")) {
    show_card(m.labels.state, m.value.toLocaleString(), m.value);
  }
  const cpu = rate("process_cpu_seconds_total");
  if (cpu !== undefined) show_card("CPUs used", cpu.toFixed(2), cpu);
  const switches = rate("sley_switches_total");
  if (switches !== undefined) {
    show_card("switches a second", Math.round(switches).toLocaleString(), switches);
  }
  const blocked = rate("sley_unannounced_block_seconds_total");
  if (blocked !== undefined) show_card("threads blocked", blocked.toFixed(2), blocked);
  show_card("threads", one(all, "sley_threads"), one(all, "sley_threads"));
  const memory = one(all, "process_resident_memory_bytes");
  if (memory !== undefined) show_card("memory", bytes(memory), memory);
  show_processors(all);
  show_latency(all);
  before = {all, at};
}

function show_processors(all) {
  const place = by_id("processors");
  place.replaceChildren();
  const queues = all.filter(m => m.name === "sley_local_queue");
  const rows = queues.map(m => ["P" + m.labels.p, m.value]);
  rows.push(["of all", one(all, "sley_global_queue")]);
  const top = Math.max(...rows.map(r => r[1]), 16);
  for (const [name, length] of rows) {
    const bar = make("div", undefined, place, {"class": "bar"});
    make("span", name, bar);
    const i = make("i", undefined, make("span", undefined, bar));
    i.style.width = (100 * length / top) + "%";
    make("span", length, bar);
  }
  const idle = one(all, "sley_idle_procs"), reserve = one(all, "sley_reserve_procs");
  make("span", idle + " idle" + (reserve ? ", " + reserve + " in reserve" : ""), place,
    {"class": "faint"});
}

// The bound that this part of the counted values are within; counts are cumulative.
function quantile(buckets, part) {
  const all = buckets.length ? buckets[buckets.length - 1].count : 0;
  const found = buckets.find(b => b.count >= all * part);
  return found ? found.bound : 0;
}

function show_latency(all) {
  const table = by_id("latency"), body = table.tBodies[0];
  body.replaceChildren();
  const key = m => m.name + JSON.stringify(m.labels);
  const old = new Map(before ? before.all.map(m => [key(m), m.value]) : []);
  const names = new Set(all.filter(m => m.name.endsWith("_seconds_bucket")).map(m => m.name));
  for (const name of names) {
    const sums = new Map();  // of all other labels
    for (const m of all.filter(m => m.name === name)) {
      const bound = m.labels.le === "+Inf" ? Infinity : Number(m.labels.le);
      sums.set(bound, (sums.get(bound) || 0) + m.value - (old.get(key(m)) || 0));
    }
    const buckets = [...sums].map(([bound, count]) => ({bound, count}))
      .sort((a, b) => a.bound - b.bound);
    const count = buckets[buckets.length - 1].count;
    if (!count) continue;
    const row = make("tr", undefined, body);
    make("td", count.toLocaleString(), row);
    make("td", name.replace(/_seconds_bucket$/, ""), row);
    for (const part of [.5, .99]) {
      const bound = quantile(buckets, part);
      make("td", bound === Infinity ? "more than all bounds" : seconds(bound), row);
    }
  }
  table.hidden = by_id("latency_title").hidden = !body.rows.length;
}

const most_blocks = 20;
function show_blocks(all) {
  const table = by_id("blocks"), body = table.tBodies[0];
  body.replaceChildren();
  for (const b of all.slice(0, most_blocks)) {
    const row = make("tr", undefined, body);
    make("td", b.count.toLocaleString(), row);
    make("td", seconds(b.delay_ns / 1e9), row);
    make("td", seconds(b.lost_ns / 1e9), row);
    make("td", b.system_call, row);
    const place = make("td", undefined, row);
    place.title = b.stack.map(place_of).join("\n");
    make("code", own_function(b.stack), place);
  }
  table.hidden = by_id("blocks_title").hidden = !body.rows.length;
}

let groups = {goroutines: 0, all_groups: 0, groups: []};
const open_groups = new Set();
const place_of = f => f ? f.function + (f.file ? "\n\t" + f.file + ":" + f.line : "") : "";
// Neither libc's, whose files have relative names, nor sley's or the C++ library's.
const is_own = f => f.file && f.file.startsWith("/") &&
  !/\/include\/(sley|c\+\+)\/|^\/usr\/src\/sley-/.test(f.file);
const is_of_sley = f => /^(?:[\w:<>*& ]+ )?sley::/.test(f.function);
// The innermost function of the program's own, or else the innermost one that says most.
const own_function = stack => (stack.find(is_own) || stack.find(f => !is_of_sley(f)) || stack[0] ||
  {function: ""}).function;
const key_of = g => JSON.stringify([g.state, g.name, g.creator, g.stack]);

function show_groups() {
  const body = by_id("groups").tBodies[0];
  const words = by_id("filter").value.toLowerCase().split(/\s+/).filter(w => w);
  const focused = document.activeElement && document.activeElement.dataset.key;
  body.replaceChildren();
  const keys = new Set();
  let shown = 0;
  for (const g of groups.groups) {
    const key = key_of(g);
    keys.add(key);
    const text = key.toLowerCase();
    if (!words.every(w => text.includes(w))) continue;
    shown += g.count;
    const row = make("tr", undefined, body, {"class": "group", tabindex: "0"});
    row.dataset.key = key;
    row.setAttribute("aria-expanded", open_groups.has(key));
    make("td", g.count.toLocaleString(), row);
    make("td", g.state + (g.minutes ? ", " + g.minutes + " minutes" : ""), row);
    make("td", g.name || "", row);
    make("code", own_function(g.stack), make("td", undefined, row));
    make("code", g.creator ? g.creator.function : "", make("td", undefined, row));
    const turn = () => {
      if (!open_groups.delete(key)) open_groups.add(key);
      show_groups();
    };
    row.addEventListener("click", turn);
    row.addEventListener("keydown", e => {
      if (e.key === "Enter" || e.key === " ") { e.preventDefault(); turn(); }
    });
    if (key === focused) row.focus();
    if (open_groups.has(key)) show_stack(g, body);
  }
  for (const key of open_groups) if (!keys.has(key)) open_groups.delete(key);
  by_id("counts").textContent = shown.toLocaleString() + " of " +
    groups.goroutines.toLocaleString() + " goroutines, " + groups.all_groups.toLocaleString() +
    " groups" + (groups.all_groups > groups.groups.length ? ", the largest are here" : "");
}

function show_stack(g, body) {
  const row = make("tr", undefined, body);
  make("td", "", row);
  const lines = ["goroutine " + g.first_id + (g.count > 1 ? " and others" : "")];
  if (g.waits_for) {
    lines.push("waits for " + g.waits_for + (g.object ? " (" + g.object + ")" : "") +
      (g.held_by ? ", held by goroutine " + g.held_by : ""));
  }
  if (g.waits_for_one_of) lines.push("waits for one of " + g.waits_for_one_of.join(", "));
  for (const f of g.stack) lines.push(place_of(f));
  if (g.creator) lines.push("created by " + place_of(g.creator));
  make("pre", lines.join("\n"), make("td", undefined, row, {colspan: "4"}));
}

async function get(page) {
  const answer = await fetch(page, {cache: "no-store"});
  if (!answer.ok) throw new Error(page + ": " + answer.status);
  return answer;
}

async function look() {
  const begin = performance.now();
  if (!document.hidden && !by_id("pause").checked) {
    try {
      show_metrics(read_metrics(await (await get("metrics")).text()));
      groups = await (await get("goroutines.json")).json();
      show_groups();
      show_blocks((await (await get("threadblocks.json")).json()).groups);
      by_id("trouble").textContent = "";
    } catch (e) {
      by_id("trouble").textContent = "no answer: " + e.message;
    }
  }
  // A process with very many goroutines is asked less often.
  setTimeout(look, Math.max(every_ms, 10 * (performance.now() - begin)));
}

by_id("filter").addEventListener("input", show_groups);
look();
</script>
</html>
)html";

}  // namespace sley::debug
