"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const by = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const WIDE = 158, HIGH = 46, GAP_X = 46, GAP_Y = 16, MANY = 200;
const numbers = new Map(data.steps.map((step, at) => [step.id, at]));
const state = { folded: data.steps.length > MANY, open: new Set(), chosen: null, path: false, actual: false };

function time(ms) {
  if (ms === null || ms === undefined) return "unknown";
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 59950) return `${(ms / 1000).toFixed(1).replace(/\.0$/, "")}s`;
  const s = Math.round(ms / 1000), parts = [[Math.floor(s / 3600), "h"], [Math.floor(s / 60) % 60, "m"], [s % 60, "s"]];
  return parts.filter(([n]) => n).map(([n, unit]) => n + unit).join("") || "0s";
}
function make(name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  return node;
}
function html(name, text, attributes) {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  for (const key in attributes || {}) node.setAttribute(key, attributes[key]);
  return node;
}
function short(text, most) {
  const chars = [...text];
  let width = 0, out = "";
  for (const char of chars) {
    width += char.codePointAt(0) > 0x2e7f ? 2 : 1;
    if (width > most) return out + "…";
    out += char;
  }
  return out;
}

/* What is drawn: Steps, or classes of Steps while they are folded. */
function items() {
  if (!state.folded) return data.steps.map((step, at) => ({ key: "s" + at, at, members: [at], step }));
  const groups = new Map();
  data.steps.forEach((step, at) => {
    const key = state.open.has(step.group) ? "s" + at : "g" + step.group;
    if (!groups.has(key)) groups.set(key, { key, at, members: [], step });
    groups.get(key).members.push(at);
  });
  return [...groups.values()];
}
function layout() {
  const nodes = items(), home = new Map();
  nodes.forEach((node, index) => {
    node.index = index;
    node.count = node.members.length;
    node.column = Math.min(...node.members.map((at) => data.steps[at].column));
    for (const at of node.members) home.set(at, node);
  });
  const columns = [...new Set(nodes.map((node) => node.column))].sort((a, b) => a - b);
  nodes.forEach((node) => { node.column = columns.indexOf(node.column); });
  const edges = new Map();
  for (const [source, target, kind, via, flags] of data.edges) {
    const a = home.get(source), b = home.get(target);
    if (a === b && a.count > 1) continue;
    const key = `${a.index},${b.index},${flags & 1}`;
    const known = edges.get(key) || { a, b, count: 0, kinds: new Set(), vias: new Set(), carried: flags & 1, loop: 0, long: 0 };
    known.count += 1;
    known.kinds.add(kind);
    if (via) known.vias.add(via);
    known.loop |= flags & 2;
    known.long |= flags & 4;
    edges.set(key, known);
  }
  const list = [...edges.values()];
  nodes.forEach((node) => { node.up = []; node.down = []; });
  for (const edge of list) if (!edge.carried) { edge.b.up.push(edge.a); edge.a.down.push(edge.b); }
  const rows = columns.map(() => []);
  nodes.forEach((node) => rows[node.column].push(node));
  rows.forEach((row) => row.forEach((node, y) => { node.y = y - row.length / 2; }));
  for (let sweep = 0; sweep < 6; sweep += 1) {
    const forth = sweep % 2 === 0;
    for (const row of forth ? rows : [...rows].reverse()) {
      for (const node of row) {
        const near = (forth ? node.up : node.down).filter((other) => other.column !== node.column);
        node.pull = near.length ? near.reduce((sum, other) => sum + other.y, 0) / near.length : node.y;
      }
      row.sort((a, b) => a.pull - b.pull || a.index - b.index);
      row.forEach((node, y) => { node.y = y - row.length / 2 + 0.5; });
    }
  }
  for (const node of nodes) { node.x = node.column * (WIDE + GAP_X); node.top = node.y * (HIGH + GAP_Y); }
  return { nodes, edges: list, home, rows };
}

let drawn = null, view = { x: 0, y: 0, k: 1 };
const picture = by("picture"), layer = make("g", {});
function arrow(id, color) {
  const marker = make("marker", { id, viewBox: "0 0 8 8", refX: 7.5, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" });
  marker.append(make("path", { d: "M0 0 L8 4 L0 8 z", style: `fill: var(${color})` }));
  return marker;
}
function edgePath(edge) {
  const x1 = edge.a.x + WIDE, y1 = edge.a.top + HIGH / 2, x2 = edge.b.x, y2 = edge.b.top + HIGH / 2;
  if (edge.a === edge.b) return `M${x1 - 30} ${edge.a.top} c 0 -34, -60 -34, -60 -2`;
  if (x2 > x1) {
    const bend = Math.max(30, (x2 - x1) / 2);
    return `M${x1} ${y1} C${x1 + bend} ${y1}, ${x2 - bend} ${y2}, ${x2 - 1} ${y2}`;
  }
  const low = Math.max(edge.a.top, edge.b.top) + HIGH + 26 + 6 * Math.abs(edge.a.column - edge.b.column);
  return `M${x1} ${y1} C${x1 + 46} ${y1}, ${x1 + 46} ${low}, ${(x1 + x2) / 2} ${low} S${x2 - 46} ${y2}, ${x2 - 1} ${y2}`;
}
function draw() {
  drawn = layout();
  layer.replaceChildren();
  for (const edge of drawn.edges) {
    const kind = edge.loop ? "loop" : edge.carried ? "carried" : edge.long ? "long" : "plain";
    const path = make("path", { class: `edge ${kind}`, d: edgePath(edge), "marker-end": `url(#tip-${kind})` });
    const said = [...edge.vias].slice(0, 4).join(", ");
    path.append(make("title", {}, `${label(edge.a)} → ${label(edge.b)}${edge.count > 1 ? ` (${edge.count})` : ""}${edge.carried ? ", carried to a later iteration" : ""}${said ? `: ${said}` : ""}`));
    edge.path = path;
    layer.append(path);
  }
  for (const node of drawn.nodes) layer.append(drawNode(node));
  mark();
}
function label(node) { return node.count > 1 ? `${node.step.group} × ${node.count}` : node.step.id; }
function full(node) { return node.count === 1 && node.step.name && node.step.name !== node.step.id ? `${node.step.id}  ${node.step.name}` : label(node); }
function drawNode(node) {
  const step = node.step;
  const long = node.members.some((at) => data.steps[at].critical), loop = node.members.some((at) => data.steps[at].loop);
  const run = outcome(node);
  const group = make("g", {
    class: `node ${step.level}${long ? " long" : ""}${loop ? " loop" : ""}`, transform: `translate(${node.x} ${node.top})`,
    role: "button", "aria-label": `${label(node)}, ${step.level}, ${time(step.ms)}`,
  });
  if (node.count > 1) group.append(make("rect", { x: 5, y: -5, width: WIDE, height: HIGH, rx: 8, opacity: 0.55 }));
  group.append(make("rect", { width: WIDE, height: HIGH, rx: 8 }));
  group.append(make("text", { x: 11, y: 19 }, short(full(node), run ? 18 : 20)));
  group.append(make("text", { x: 11, y: 35, class: "sub" }, short(under(node), 26)));
  if (run) group.append(make("circle", { class: "mark", cx: WIDE - 12, cy: 12, r: 5, style: `fill: var(${run[1]})` }));
  group.addEventListener("pointerenter", () => { if (state.chosen === null) about(node); near(node, true); });
  group.addEventListener("pointerleave", () => { if (state.chosen === null) overview(); near(node, false); });
  group.addEventListener("click", (event) => { event.stopPropagation(); choose(node); });
  group.addEventListener("dblclick", () => unfold(node));
  node.group = group;
  return group;
}
function under(node) {
  const step = node.step, parts = [];
  if (step.ms !== null) parts.push(node.count > 1 ? `${time(total(node))} in all` : time(step.ms));
  parts.push(step.demand);
  return parts.join(" · ");
}
function total(node) { return node.members.reduce((sum, at) => sum + (data.steps[at].ms || 0), 0); }
const STATES = { done: "--right", running: "--busy", failed: "--wrong", dropped: "--soft", waiting: "--soft" };
function outcome(node) {
  if (!data.run) return null;
  const order = ["failed", "running", "dropped", "waiting", "done"];
  const seen = node.members.map((at) => data.steps[at].run && data.steps[at].run.state).filter(Boolean);
  const worst = order.find((word) => seen.includes(word));
  return worst ? [worst, STATES[worst]] : null;
}
function near(node, on) {
  for (const edge of drawn.edges) if (edge.a === node || edge.b === node) edge.path.classList.toggle("near", on);
}
function mark() {
  const chosen = state.chosen;
  for (const node of drawn.nodes) {
    const long = node.members.some((at) => data.steps[at].critical);
    node.group.classList.toggle("dim", state.path && !long);
    node.group.classList.toggle("chosen", chosen !== null && node.members.includes(chosen));
  }
  for (const edge of drawn.edges) edge.path.classList.toggle("dim", state.path && !edge.long);
  by("fold").setAttribute("aria-pressed", state.folded);
  by("path").setAttribute("aria-pressed", state.path);
  gantt();
}
function choose(node) {
  state.chosen = node ? node.members[0] : null;
  if (node) about(node); else overview();
  mark();
  if (node) reveal(node);
}
function unfold(node) {
  if (node.count === 1) return;
  state.open.add(node.step.group);
  draw();
  choose(drawn.home.get(node.members[0]));
}

/* What is said beside the picture. */
function table(rows) {
  const body = html("table");
  for (const [name, value] of rows) {
    if (value === null || value === undefined || value === "") continue;
    const row = html("tr");
    row.append(html("td", name));
    const cell = html("td");
    if (value instanceof Node) cell.append(value); else cell.textContent = value;
    row.append(cell);
    body.append(row);
  }
  return body;
}
function links(ats) {
  const box = html("span");
  ats.slice(0, 30).forEach((at, index) => {
    if (index) box.append(", ");
    const link = html("a", data.steps[at].id, { role: "link", tabindex: "0" });
    const go = () => { const node = drawn.home.get(at); if (node.count > 1) unfold(node); choose(drawn.home.get(at)); };
    link.addEventListener("click", go);
    link.addEventListener("keydown", (event) => { if (event.key === "Enter") go(); });
    box.append(link);
  });
  if (ats.length > 30) box.append(` and ${ats.length - 30} more`);
  return ats.length ? box : null;
}
function about(node) {
  const step = node.step, box = by("about");
  const others = (end, from, carried) => [...new Set(data.edges.filter((edge) => node.members.includes(edge[end]) && (edge[4] & 1) === carried).map((edge) => edge[from]))];
  const title = html("h2", label(node));
  const seen = step.run;
  const rows = node.count > 1
    ? [["Steps", String(node.count)], ["time in all", time(total(node))], ["tolerance", step.level], ["each asks for", step.demand],
       ["on the critical path", String(node.members.filter((at) => data.steps[at].critical).length)], ["like", links(node.members)]]
    : [["tolerance", step.level], ["asks for", step.demand], ["takes", step.ms === null ? null : `${time(step.ms)} (${step.source})`],
       ["may start later by", step.slack === null ? null : step.critical ? "0: on the critical path" : time(step.slack)],
       ["planned", step.start === null ? null : `${time(step.start)} – ${time(step.start + step.ms)}`],
       ["devices", step.devices.map((uuid) => data.devices[uuid] || uuid).join(", ")],
       ["needs", links(others(1, 0, 0))], ["needed by", links(others(0, 1, 0))],
       ["reads earlier iteration of", links(others(1, 0, 1))], ["stated at", step.place]];
  if (seen && node.count === 1) {
    rows.push(["run", `${seen.state}${data.iterations > 1 ? ` ${seen.done}/${data.iterations}` : ""}`], ["took (median)", seen.median_ms === null ? "not known yet" : time(seen.median_ms)],
      ["attempts", seen.attempts > seen.done ? String(seen.attempts) : null]);
  }
  box.replaceChildren(title, html("p", step.name && step.name !== step.id ? step.name : ""), table(rows));
  if (node.count > 1) box.append(html("p", "Enter or a double click unfolds this class."));
}
function overview() {
  const box = by("about");
  const rows = data.bounds.map(([name, ms]) => [`bound: ${name}`, time(ms)]);
  box.replaceChildren(html("h2", "Overview"), html("p", data.cycles.length ? "The graph has cycles, so it has no times." : "Times are estimates for one iteration."));
  for (const cycle of data.cycles) {
    box.append(html("h2", "Cycle"), html("p", cycle.text), table(cycle.edges.map(([place, text]) => [place, text])), html("p", cycle.remedy));
  }
  if (data.critical.length) rows.push(["critical path", links(data.critical)]);
  box.append(table(rows));
}

/* Moving about. */
function show() { layer.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.k})`); }
function bounds() {
  const xs = drawn.nodes.map((node) => node.x), ys = drawn.nodes.map((node) => node.top);
  const low = drawn.edges.some((edge) => edge.carried || edge.loop) ? 60 : 0;
  const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity), most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
  return drawn.nodes.length ? [least(xs), least(ys) - 12, most(xs) + WIDE + 8, most(ys) + HIGH + low] : [0, 0, 1, 1];
}
function fit() {
  const [x1, y1, x2, y2] = bounds(), box = picture.getBoundingClientRect();
  const k = Math.min(1.25, (box.width - 48) / (x2 - x1), (box.height - 64) / (y2 - y1));
  view = { k: Math.max(k, 0.02), x: 0, y: 0 };
  view.x = (box.width - view.k * (x1 + x2)) / 2;
  view.y = (box.height - 20 - view.k * (y1 + y2)) / 2;
  show();
}
function zoom(factor, x, y) {
  const k = Math.min(4, Math.max(0.02, view.k * factor));
  view.x = x - (x - view.x) * k / view.k;
  view.y = y - (y - view.y) * k / view.k;
  view.k = k;
  show();
}
function reveal(node) {
  const box = picture.getBoundingClientRect();
  const x = view.x + node.x * view.k, y = view.y + node.top * view.k, wide = WIDE * view.k, high = HIGH * view.k;
  if (x < 8) view.x += 8 - x; else if (x + wide > box.width - 8) view.x -= x + wide - box.width + 8;
  if (y < 8) view.y += 8 - y; else if (y + high > box.height - 30) view.y -= y + high - box.height + 30;
  show();
}
let drag = null;
picture.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, y: event.clientY, moved: false }; });
window.addEventListener("pointermove", (event) => {
  if (!drag) return;
  const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
  if (!drag.moved && Math.hypot(dx, dy) < 4) return;
  drag = { x: event.clientX, y: event.clientY, moved: true };
  picture.classList.add("drag");
  view.x += dx;
  view.y += dy;
  show();
});
window.addEventListener("pointerup", () => { picture.classList.remove("drag"); const moved = drag && drag.moved; drag = null; if (moved) window.setTimeout(() => { drag = null; }, 0); });
picture.addEventListener("click", () => choose(null));
picture.addEventListener("wheel", (event) => {
  event.preventDefault();
  const box = picture.getBoundingClientRect();
  zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
}, { passive: false });

/* The time line. */
const canvas = by("gantt");
let bars = [];
function lanes() {
  const planned = !state.actual;
  const source = planned
    ? data.steps.map((step, at) => ({ at, from: step.start, to: step.start === null ? null : step.start + step.ms, devices: step.devices, cause: "" }))
    : data.run.bars.map(([at, from, to, devices, iteration, attempt, cause]) => ({ at, from, to, devices, iteration, attempt, cause }));
  const known = source.filter((bar) => bar.from !== null && bar.at !== undefined);
  const rows = new Map(Object.keys(data.devices).map((uuid) => [uuid, []]));
  const cpu = [];
  for (const bar of known.sort((a, b) => a.from - b.from || a.at - b.at)) {
    for (const uuid of bar.devices) { if (!rows.has(uuid)) rows.set(uuid, []); rows.get(uuid).push(bar); }
    if (bar.devices.length) continue;
    let lane = cpu.find((one) => one.until <= bar.from);
    if (!lane) { lane = { until: 0, bars: [] }; cpu.push(lane); }
    lane.until = bar.to === null ? Infinity : bar.to;
    lane.bars.push(bar);
  }
  const found = [...rows].map(([uuid, list]) => ({ name: data.devices[uuid] || uuid, bars: list, gpu: true }));
  cpu.forEach((lane, index) => found.push({ name: index ? "" : "CPU", bars: lane.bars, gpu: false }));
  return found;
}
function color(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
function gantt() {
  const box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, box.width * ratio);
  canvas.height = Math.max(1, box.height * ratio);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  bars = [];
  const rows = data.makespan === null && !state.actual ? [] : lanes();
  const ends = rows.flatMap((row) => row.bars.map((bar) => (bar.to === null ? bar.from : bar.to)));
  const span = state.actual ? Math.max(data.run.span, 1) : Math.max(ends.reduce((a, b) => Math.max(a, b), 0), 1);
  const left = 150, right = 18, top = 4, foot = 20;
  const high = Math.min(26, Math.max(3, (box.height - top - foot) / Math.max(rows.length, 1)));
  const scale = (box.width - left - right) / span;
  const [ink, soft, line, faint] = ["--ink", "--soft", "--line", "--faint"].map(color);
  pen.font = '11px system-ui, "Noto Sans CJK SC", sans-serif';
  pen.textBaseline = "middle";
  const ticks = Math.max(2, Math.floor((box.width - left) / 110));
  for (let n = 0; n <= ticks; n += 1) {
    const x = left + (span * n / ticks) * scale;
    pen.strokeStyle = line;
    pen.beginPath(); pen.moveTo(x, top); pen.lineTo(x, box.height - foot); pen.stroke();
    pen.fillStyle = soft;
    pen.textAlign = n === ticks ? "right" : n ? "center" : "left";
    pen.fillText(time(span * n / ticks), x, box.height - foot / 2);
  }
  rows.forEach((row, index) => {
    const y = top + index * high;
    if (y + high > box.height - foot + 1) return;
    if (row.gpu) { pen.fillStyle = faint; pen.fillRect(left, y + 1, box.width - left - right, high - 2); }
    pen.fillStyle = soft;
    pen.textAlign = "left";
    if (high > 10) pen.fillText(short(row.name, 24), 16, y + high / 2);
    for (const bar of row.bars) {
      const step = data.steps[bar.at], x = left + bar.from * scale;
      const wide = Math.max(1, ((bar.to === null ? span : bar.to) - bar.from) * scale);
      const bad = bar.cause && bar.cause !== "ok" && bar.cause !== "running";
      const fill = bad ? "--wrong" : bar.cause === "running" ? "--busy" : `--${step.level}`;
      pen.fillStyle = color(fill);
      pen.globalAlpha = state.path && !step.critical ? 0.25 : 1;
      pen.fillRect(x, y + 2, wide, high - 4);
      pen.strokeStyle = bar.at === state.chosen ? color("--focus") : step.critical ? color("--accent") : soft;
      pen.lineWidth = bar.at === state.chosen ? 2.5 : 1;
      if (wide > 3) pen.strokeRect(x + 0.5, y + 2.5, wide - 1, high - 5);
      if (wide > 34 && high > 13) {
        pen.fillStyle = step.level === "critical" || bad ? color("--on-critical") : ink;
        pen.save(); pen.beginPath(); pen.rect(x + 2, y, wide - 4, high); pen.clip();
        pen.fillText(step.id, x + 6, y + high / 2 + 0.5);
        pen.restore();
      }
      pen.globalAlpha = 1;
      bars.push({ bar, x, y: y + 2, wide: Math.max(wide, 3), high: high - 4 });
    }
  });
  by("when").textContent = state.actual ? `What run ${data.run.job} did (${data.run.outcome})` : data.makespan === null ? "No times: the graph has cycles" : "One iteration as planned";
}
function under_pointer(event) {
  const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  return bars.findLast((one) => x >= one.x && x <= one.x + one.wide && y >= one.y && y <= one.y + one.high);
}
canvas.addEventListener("pointermove", (event) => {
  const hit = under_pointer(event), tip = by("tip");
  canvas.style.cursor = hit ? "pointer" : "default";
  if (!hit) { tip.textContent = ""; return; }
  const { bar } = hit, step = data.steps[bar.at];
  const end = bar.to === null ? "still running" : time(bar.to);
  const more = bar.iteration === undefined ? "" : `, iteration ${bar.iteration}${bar.attempt > 1 ? `, attempt ${bar.attempt}` : ""}${bar.cause ? `, ${bar.cause}` : ""}`;
  tip.textContent = `${step.id}: ${time(bar.from)} – ${end}${more} · ${step.demand}`;
});
canvas.addEventListener("click", (event) => {
  const hit = under_pointer(event);
  if (!hit) { choose(null); return; }
  const node = drawn.home.get(hit.bar.at);
  if (node.count > 1) { state.open.add(node.step.group); draw(); }
  choose(drawn.home.get(hit.bar.at));
});
let sizing = false;
by("split").addEventListener("pointerdown", () => { sizing = true; });
window.addEventListener("pointerup", () => { sizing = false; });
window.addEventListener("pointermove", (event) => {
  if (!sizing) return;
  const low = Math.min(window.innerHeight - 240, Math.max(70, window.innerHeight - event.clientY));
  document.querySelector("main").style.setProperty("--low", `${low}px`);
  gantt();
});

/* Keys and buttons. */
function step_to(key) {
  const node = state.chosen === null ? null : drawn.home.get(state.chosen);
  if (!node) { choose(drawn.rows.find((row) => row.length)[0]); return; }
  const row = drawn.rows[node.column], place = row.indexOf(node);
  const middle = (list) => list.slice().sort((a, b) => Math.abs(a.y - node.y) - Math.abs(b.y - node.y) || a.index - b.index)[0];
  const next = { ArrowUp: row[place - 1], ArrowDown: row[place + 1], ArrowLeft: middle(node.up), ArrowRight: middle(node.down) }[key];
  if (next) choose(next);
}
function theme(name) {
  const dark = name === "dark" || (name !== "light" && window.matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.classList.toggle("dark", dark);
  by("theme").textContent = dark ? "light" : "dark";
  if (drawn) gantt();
}
const actions = {
  c: () => { state.path = !state.path; mark(); },
  g: () => { state.folded = !state.folded; state.open.clear(); draw(); fit(); },
  f: fit,
  t: () => theme(document.documentElement.classList.contains("dark") ? "light" : "dark"),
  p: () => { if (data.run) { state.actual = !state.actual; which(); gantt(); } },
  "/": () => by("find").focus(),
  "?": () => by("keys").showModal(),
  "+": () => zoom(1.25, picture.clientWidth / 2, picture.clientHeight / 2),
  "=": () => zoom(1.25, picture.clientWidth / 2, picture.clientHeight / 2),
  "-": () => zoom(0.8, picture.clientWidth / 2, picture.clientHeight / 2),
  Escape: () => choose(null),
  Enter: () => { if (state.chosen !== null) unfold(drawn.home.get(state.chosen)); },
};
window.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || by("keys").open) return;
  if (event.target instanceof HTMLInputElement) {
    if (event.key === "Escape") { event.target.value = ""; event.target.blur(); }
    return;
  }
  if (event.target instanceof HTMLButtonElement && (event.key === "Enter" || event.key === " ")) return;
  if (event.key.startsWith("Arrow")) { event.preventDefault(); step_to(event.key); return; }
  const act = actions[event.key];
  if (act) { event.preventDefault(); act(); }
});
by("find").addEventListener("input", (event) => {
  const word = event.target.value.toLowerCase();
  const at = word ? data.steps.findIndex((step) => step.id.toLowerCase().includes(word) || (step.name || "").toLowerCase().includes(word)) : -1;
  if (at < 0) { choose(null); return; }
  const node = drawn.home.get(at);
  if (node.count > 1) { state.open.add(node.step.group); draw(); }
  choose(drawn.home.get(at));
});
for (const [id, key] of [["fold", "g"], ["path", "c"], ["fit", "f"], ["theme", "t"], ["help", "?"]]) by(id).addEventListener("click", actions[key]);
function which() {
  const box = by("which");
  box.replaceChildren();
  if (!data.run) return;
  for (const [name, actual] of [["planned", false], ["actual", true]]) {
    const button = html("button", name, { "aria-pressed": String(state.actual === actual) });
    button.addEventListener("click", () => { state.actual = actual; which(); gantt(); });
    box.append(button);
  }
}
function legend() {
  const box = by("legend");
  const rows = [["critical", "--critical"], ["pauseable", "--pauseable"], ["elastic", "--elastic"], ["discardable", "--discardable"]]
    .filter(([level]) => data.steps.some((step) => step.level === level));
  if (data.critical.length) rows.push(["critical path", null, "--accent"]);
  if (data.edges.some((edge) => edge[4] & 1)) rows.push(["carried to a later iteration", null, "--carried"]);
  if (data.cycles.length) rows.push(["cycle", null, "--wrong"]);
  for (const [name, fill, stroke] of rows) {
    const item = html("li"), swatch = html("i");
    if (fill) swatch.style.background = `var(${fill})`;
    if (stroke) { swatch.style.borderColor = `var(${stroke})`; swatch.style.borderWidth = "2.5px"; }
    item.append(swatch, name);
    box.append(item);
  }
}
function start() {
  by("title").textContent = data.title;
  by("basis").textContent = data.basis;
  for (const [name, value, bad] of data.figures) {
    const box = html("div");
    box.append(html("dt", name), html("dd", value, bad ? { class: "bad" } : {}));
    by("figures").append(box);
  }
  const marks = make("defs", {});
  marks.append(arrow("tip-plain", "--soft"), arrow("tip-long", "--accent"), arrow("tip-carried", "--carried"), arrow("tip-loop", "--wrong"));
  picture.append(marks, layer);
  by("fold").hidden = new Set(data.steps.map((step) => step.group)).size === data.steps.length;
  theme(new URLSearchParams(location.search).get("theme"));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme(null));
  state.actual = Boolean(data.run && data.run.bars.length);
  which();
  legend();
  overview();
  const high = lanes().length * 26 + 62;
  document.querySelector("main").style.setProperty("--low", `${Math.round(Math.min(high, window.innerHeight * 0.42))}px`);
  draw();
  fit();
  new ResizeObserver(() => { fit(); gantt(); }).observe(by("graph"));
}
start();
