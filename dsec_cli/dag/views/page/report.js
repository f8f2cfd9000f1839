/* The account of a run: what failed, what happened, who held up whom, use of the GPUs, memory, and what it cost. */
const told = data.run && data.run.account;
function hours(us) { const amount = us / 3.6e9; return us === null ? "unknown" : amount >= 1 || !us ? amount.toFixed(2) : amount.toFixed(4); }
function money(amount, currency) {
  if (amount === null || !currency) return "unknown";
  return `${(amount / 1e6).toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: Math.abs(amount) >= 1e5 || !amount ? 2 : 6 })} ${currency}`;
}
function size(bytes) {
  if (bytes === null || bytes === undefined) return "unknown";
  return bytes >= 2 ** 30 ? `${(bytes / 2 ** 30).toFixed(1)} GiB` : `${Math.round(bytes / 2 ** 20)} MiB`;
}
function grid(heads, rows) {
  const body = html("table", undefined, { class: "grid" }), head = html("tr");
  heads.forEach((one, at) => head.append(html("th", one, at ? { class: "number" } : {})));
  body.append(head);
  for (const cells of rows) {
    const row = html("tr");
    cells.forEach((cell, at) => row.append(html("td", cell, at ? { class: "number" } : {})));
    body.append(row);
  }
  return body;
}
function part(title, ...nodes) {
  const box = html("section", undefined, { class: "part" });
  box.append(html("h2", title), ...nodes.filter(Boolean));
  return box;
}
function failed() {
  const boxes = told.failures.map((one, at) => {
    const box = html("details", undefined, at < 3 ? { open: "" } : {}), head = html("summary");
    head.append(html("b", data.iterations > 1 ? `${one.step}@${one.iteration}` : one.step), ` ${one.text}`);
    box.append(head, html("p", one.log ? `${one.log}, its last lines` : "no log"));
    if (one.lines.length) box.append(html("pre", one.lines.join("\n")));
    return box;
  });
  if (told.more_failures) boxes.push(html("p", `and ${told.more_failures} more`));
  return boxes.length ? part("Failures", ...boxes) : null;
}
function happened() {
  if (!told.remarks.length) return null;
  return part("What happened", grid(["at", ""], told.remarks.map((one) => [time(one.at_ms), one.text])));
}
/* A strip for each device: the hotter the colour, the more of it was used; what was not read stays blank. */
function strip(values, name) {
  const box = html("canvas", undefined, { class: "heat", width: values.length, height: 1, role: "img", "aria-label": name }), pen = box.getContext("2d");
  values.forEach((value, at) => {
    if (value === null) return;
    pen.globalAlpha = 1;
    pen.fillStyle = color("--faint");
    pen.fillRect(at, 0, 1, 1);
    pen.globalAlpha = value / 1000;
    pen.fillStyle = color("--accent");
    pen.fillRect(at, 0, 1, 1);
  });
  box.addEventListener("pointermove", (event) => {
    const at = Math.floor((event.clientX - box.getBoundingClientRect().left) / box.clientWidth * values.length), value = values[at];
    tip(event, [name, `at ${time(at / values.length * data.run.span)}: ${value === null || value === undefined ? "not read" : `${(value / 10).toFixed(0)} %`}`]);
  });
  box.addEventListener("pointerleave", (event) => tip(event, null));
  return box;
}
/* A part without a reading is as the one before it, but not before the first nor behind the last. */
function carried(values) {
  const last = values.findLastIndex((value) => value !== null);
  let before = null;
  return values.map((value, at) => { before = value === null ? before : value; return at > last ? null : before; });
}
/* Who held up whom without using what was waited for; the bars are shares of the longest wait of all. */
function blocked() {
  if (told.contention === null) return null;
  const most = Math.max(1, ...told.contention.map((one) => one.ms)), box = html("div", undefined, { class: "blocked" });
  for (const one of told.contention) {
    const bar = html("i", undefined, { class: "wait", title: one.text });
    bar.style.width = `${Math.max(1, one.ms / most * 100)}%`;
    box.append(html("b", one.step), html("span", time(one.ms)), bar, html("p", one.text));
  }
  return part("Waits for what was not in use", told.contention.length ? box : html("p", "Nothing that the probes can see held a Step up for 50 ms or more."));
}
function hot() {
  if (!told.heat.length) return null;
  const box = html("div", undefined, { class: "heats" });
  for (const row of told.heat) {
    box.append(html("b", row.name));
    for (const [label, values] of [["busy", row.busy_permille], ["memory", row.memory_permille]]) box.append(html("span", label), strip(carried(values), `${row.name}, ${label}`));
  }
  const axis = html("div", undefined, { class: "axis" });
  axis.append(html("span", "0"), html("span", time(data.run.span / 2)), html("span", time(data.run.span)));
  box.append(axis);
  return part("Use of the GPUs", box);
}
const CURVE = { wide: 300, high: 70 };
/* One line per attempt; `at` says which figure of a point: 2 main memory, 3 memory on GPUs. Each has its own scale. */
function lineOf(one, at, look) {
  const points = one.points.filter((point) => point[at] !== null), peak = most(points.map((point) => point[at]).concat(1)), span = Math.max(1, data.run.span);
  const x = (point) => (point[0] / span * CURVE.wide).toFixed(1), y = (point) => (CURVE.high - 2 - point[at] / peak * (CURVE.high - 14)).toFixed(1);
  let path = "", before = null;
  for (const point of points) { path += `${before === null || before !== point[1] ? "M" : "L"}${x(point)} ${y(point)} `; before = point[1]; }
  const hueOf = numbers.has(one.step) ? hue(data.steps[numbers.get(one.step)]) : "--soft";
  const dots = points.length < 60 ? points.map((point) => make("circle", { cx: x(point), cy: y(point), r: 1.6, class: "dot" })) : [];
  return { peak: points.length ? peak : null, nodes: [make("path", { d: path, class: look, style: `stroke: var(${hueOf})` }), ...dots] };
}
function curve(one) {
  const box = html("figure"), picture = make("svg", { viewBox: `0 0 ${CURVE.wide} ${CURVE.high}`, preserveAspectRatio: "none", role: "img", "aria-label": `memory of ${one.step}` });
  const host = lineOf(one, 2, "curve"), devices = one.points.some((point) => point[3] > 0) ? lineOf(one, 3, "curve dashed") : null;
  picture.append(...(devices ? devices.nodes : []), ...host.nodes);
  const caption = html("figcaption");
  caption.append(html("b", one.step), ` at most ${size(host.peak)}${devices ? `, on GPUs (dashed) ${size(devices.peak)}` : ""}`);
  box.append(caption, picture);
  return box;
}
function memory() {
  if (!told.curves.length) return null;
  const box = html("div", undefined, { class: "curves" });
  box.append(...told.curves.map(curve));
  return part("Memory of the Steps", box);
}
function summed(cells, name) {
  const found = new Map();
  for (const cell of cells) {
    const [held, cost] = found.get(name(cell)) || [0, 0];
    found.set(name(cell), [held + cell.held_us, cost === null || cell.cost_millionths === null ? null : cost + cell.cost_millionths]);
  }
  return [...found].sort((a, b) => b[1][0] - a[1][0] || (a[0] < b[0] ? -1 : 1));
}
function settled() {
  const one = told.settlement;
  if (!one) return null;
  const { currency, hidden, opportunity } = one, share = (held) => one.used_gpu_us ? `${Math.round(held / one.used_gpu_us * 100)} %` : "-";
  const rows = (name) => summed(one.cells, name).slice(0, 60).map(([key, [held, cost]]) => [key, hours(held), share(held), money(cost, currency)]);
  const own = hidden.executor_cpu_us === null || hidden.monitor_cpu_us === null ? null : (hidden.executor_cpu_us + hidden.monitor_cpu_us) / 1000;
  const lines = [
    ["GPU-hours held", hours(one.used_gpu_us)],
    ["bounds", one.least_gpu_us === null && one.most_gpu_us === null ? "none stated" : `${one.least_gpu_us === null ? "0" : hours(one.least_gpu_us)} to ${one.most_gpu_us === null ? "any" : hours(one.most_gpu_us)}`],
    ["beyond the upper bound", one.over_gpu_us ? hours(one.over_gpu_us) : ""],
    ["missing to the lower bound", one.short_gpu_us ? hours(one.short_gpu_us) : ""],
    ["cost", currency ? money(one.bill_millionths, currency) : "unknown: no prices were given"],
    ["of it what was held", currency ? money(one.cost_millionths, currency) : ""],
    ["of it beyond the bound", one.surcharge_millionths ? money(one.surcharge_millionths, currency) : ""],
    ["of it up to the lower bound", one.shortfall_millionths ? money(one.shortfall_millionths, currency) : ""],
    ["hidden: between calls", `${hours(hidden.between_gpu_us)} GPU-hours, ${money(hidden.between_millionths, currency)}`],
    ["hidden: DSec itself", own === null ? "unknown" : `${time(own)} of a processor, ${money(hidden.cpu_millionths, currency)}`],
    ["opportunity: idle", opportunity.measured_gpu_us === null ? "unknown: no device was read" : `${hours(opportunity.idle_gpu_us)} of ${hours(opportunity.measured_gpu_us)} GPU-hours that were looked at, ${money(opportunity.idle_millionths, currency)}`],
  ];
  return part("Settlement", table(lines), grid(["Step", "GPU-hours", "share", "cost"], rows((cell) => cell.step || `(${cell.worker})`)), grid(["device", "GPU-hours", "share", "cost"], rows((cell) => cell.device_name)));
}
function report() {
  const box = by("report");
  const parts = [failed(), happened(), blocked(), hot(), memory(), settled()].filter(Boolean);
  box.replaceChildren(...(parts.length ? parts : [html("p", "Nothing was measured and nothing failed.")]));
}
function sheet(open) {
  if (!told) return;
  by("report").hidden = !open;
  document.querySelector("main").hidden = open;
  by("sheet").setAttribute("aria-pressed", open);
  if (open) { report(); by("report").focus(); } else { fit(); gantt(); }
}
