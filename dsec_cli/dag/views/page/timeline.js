/* The time line: a lane per GPU, and what runs without one in lanes, or as cores in use where it is much. */
const canvas = by("gantt"), LEFT = 132, RIGHT = 18, TOP = 4, FOOT = 22, LANES = 10;
let bars = [], loads = null;
function known() {
  const source = state.actual
    ? data.run.bars.map(([at, from, to, devices, iteration, attempt, cause]) => ({ at, from, to, devices, iteration, attempt, cause }))
    : data.steps.map((step, at) => ({ at, from: step.start, to: step.end, devices: step.devices, cause: "" }));
  return source.filter((bar) => bar.from !== null).sort((a, b) => a.from - b.from || a.at - b.at);
}
function lanes(list) {
  const rows = new Map((state.actual ? data.run.devices : data.planned).map((uuid) => [uuid, []])), rest = [];
  const put = (row, bar) => {
    let lane = row.find((one) => one.until <= bar.from);
    if (!lane) { lane = { until: 0, bars: [] }; row.push(lane); }
    lane.until = bar.to === null ? Infinity : bar.to;
    lane.bars.push(bar);
  };
  for (const bar of list) {
    for (const uuid of bar.devices) { if (!rows.has(uuid)) rows.set(uuid, []); put(rows.get(uuid), bar); }
    if (!bar.devices.length) put(rest, bar);
  }
  const named = ([uuid, row]) => (row.length ? row : [{ bars: [] }]).map((lane, at) => ({ name: at ? "" : data.devices[uuid] || uuid, bars: lane.bars, gpu: true }));
  return { gpus: [...rows].flatMap(named), rest: rest.map((lane, at) => ({ name: at ? "" : "no GPU", bars: lane.bars })) };
}
/* Distances that people count in. */
const NICE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 144e5, 288e5, 864e5];
function ticks(span, most) {
  const apart = NICE.find((one) => span / one <= most) || Math.ceil(span / most / 864e5) * 864e5;
  return Array.from({ length: Math.floor(span / apart) + 1 }, (_, n) => n * apart);
}
function gantt() {
  const box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, box.width * ratio);
  canvas.height = Math.max(1, box.height * ratio);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.font = `11px ${FONT}`;
  pen.textBaseline = "middle";
  bars = [];
  loads = null;
  const list = data.makespan === null && !state.actual ? [] : known(), found = lanes(list);
  const span = Math.max(1, state.actual ? data.run.span : 0, most(list.map((bar) => (bar.to === null ? bar.from : bar.to)).concat(1)));
  const across = Math.max(60, box.width - LEFT - RIGHT), floor = box.height - FOOT;
  const plot = { pen, span, scale: across / span, across, floor, ink: color("--ink"), soft: color("--soft"), line: color("--line"), faint: color("--faint") };
  for (const at of ticks(span, Math.max(2, across / 90))) {
    const x = LEFT + at * plot.scale;
    pen.strokeStyle = plot.line;
    pen.beginPath(); pen.moveTo(x + 0.5, TOP); pen.lineTo(x + 0.5, floor + 3); pen.stroke();
    pen.fillStyle = plot.soft;
    pen.textAlign = at ? "center" : "left";
    if (x < box.width - 14) pen.fillText(at ? time(at) : "0", x, box.height - FOOT / 2 + 1);
  }
  const filled = found.rest.length > LANES || (found.gpus.length + found.rest.length) * 13 > floor - TOP;
  const rows = filled ? found.gpus : [...found.gpus, ...found.rest];
  const high = Math.min(36, Math.max(3, (floor - TOP) * (filled && found.rest.length ? 0.56 : 1) / Math.max(rows.length, 1)));
  rows.forEach((row, index) => lane(plot, row, TOP + index * high, high));
  if (filled && found.rest.length) area(plot, list, TOP + rows.length * high + (rows.length ? 10 : 2));
  by("when").textContent = state.actual ? data.run.simulated ? `As simulated (${data.run.outcome})` : `What run ${data.run.job} did (${data.run.outcome})` : data.makespan === null ? "No times: the graph has cycles" : "One iteration as planned";
}
function lane(plot, row, y, high) {
  const { pen } = plot;
  if (y + high > plot.floor + 1) return;
  if (row.gpu) { pen.fillStyle = plot.faint; pen.fillRect(LEFT, y + 1, plot.across, high - 2); }
  pen.fillStyle = plot.soft;
  pen.textAlign = "left";
  if (high > 10) pen.fillText(fits(row.name, LEFT - 26, "11px"), 16, y + high / 2);
  for (const [bar, part, parts] of shared(row.bars)) block(plot, bar, y + 1 + part * (high - 2) / parts, (high - 2) / parts);
}
/* Bars that are there at the same time share the height of their lane: each with its part of how many. */
function shared(list) {
  const found = [];
  let cluster = [], until = -1, ends = [];
  const close = () => { for (const [bar, part] of cluster) found.push([bar, part, ends.length]); cluster = []; ends = []; };
  for (const bar of list) {
    if (bar.from >= until) close();
    let part = ends.findIndex((end) => end <= bar.from);
    if (part < 0) part = ends.length;
    ends[part] = bar.to === null ? Infinity : bar.to;
    until = Math.max(bar.from >= until ? -1 : until, ends[part]);
    cluster.push([bar, part]);
  }
  close();
  return found;
}
function block(plot, bar, y, high) {
  const { pen } = plot, step = data.steps[bar.at], x = LEFT + bar.from * plot.scale;
  const end = bar.to === null ? plot.span : bar.to, size = Math.max(1, (end - bar.from) * plot.scale);
  const bad = bar.cause && bar.cause !== "ok" && bar.cause !== "running", gap = high > 8 ? 1 : 0.3;
  pen.fillStyle = color(bad ? "--wrong" : hue(step));
  pen.globalAlpha = state.path && !step.critical ? 0.2 : bar.cause === "running" ? 0.6 : 1;
  pen.beginPath();
  if (size > 6 && high > 8) pen.roundRect(x + 0.5, y + gap, size - 1, high - 2 * gap, 3); else pen.rect(x, y + gap, Math.max(size - 0.5, 0.7), high - 2 * gap);
  pen.fill();
  if (bar.at === state.chosen) { pen.strokeStyle = color("--focus"); pen.lineWidth = 2.5; pen.stroke(); pen.lineWidth = 1; }
  if (step.critical && high > 8) { pen.fillStyle = color("--accent"); pen.fillRect(x + 0.5, y + high - gap - 2.5, Math.max(1, size - 1), 2.5); }
  const name = unprefixed(step.id);
  if (high > 11 && size > 20 && wide(name, "11px") < size - 9) {
    pen.fillStyle = color("--on-hue");
    pen.textAlign = "left";
    pen.fillText(name, x + 6, y + high / 2);
  }
  pen.globalAlpha = 1;
  bars.push({ bar, x, y: y + gap, size: Math.max(size, 3), high: high - 2 * gap });
}
/* Cores in use, class on class; a pixel shows the mean over its time. */
function area(plot, list, top) {
  const { pen } = plot, cells = Math.ceil(plot.across), some = data.steps.some((step) => step.cores);
  const layers = new Map();
  for (const bar of list) {
    const step = data.steps[bar.at], amount = some ? step.cores : 1, end = bar.to === null ? plot.span : bar.to;
    if (!amount) continue;
    const key = hue(step);
    if (!layers.has(key)) layers.set(key, new Float64Array(cells + 1));
    const sums = layers.get(key), from = bar.from * plot.scale, to = end * plot.scale;
    for (let x = Math.floor(from); x < to && x < cells; x += 1) sums[x] += amount * (Math.min(x + 1, to) - Math.max(x, from));
  }
  const stack = [...layers].sort((a, b) => (a[0] < b[0] ? -1 : 1)), sums = new Float64Array(cells + 1);
  for (const [, layer] of stack) layer.forEach((amount, x) => { sums[x] += amount; });
  const peak = sums.reduce((a, b) => Math.max(a, b), 0), limit = some ? data.cores : null;
  const high = plot.floor - top, full = Math.max(limit !== null && limit < 4 * peak ? limit : 0, peak) * 1.04 || 1;
  if (high < 16) return;
  pen.fillStyle = plot.faint;
  pen.fillRect(LEFT, top, plot.across, high);
  const below = new Float64Array(cells + 1);
  for (const [key, layer] of stack) {
    pen.fillStyle = color(key);
    for (let x = 0; x < cells; x += 1) {
      if (!layer[x]) continue;
      const size = layer[x] / full * high;
      pen.fillRect(LEFT + x, plot.floor - below[x] - size, 1, size);
      below[x] += size;
    }
  }
  pen.fillStyle = plot.soft;
  pen.textAlign = "left";
  pen.fillText(some ? "cores in use" : "Steps at once", 16, top + 8);
  if (limit !== null && limit <= full) {
    const y = plot.floor - limit / full * high;
    pen.strokeStyle = plot.ink;
    pen.setLineDash([4, 3]);
    pen.beginPath(); pen.moveTo(LEFT, y); pen.lineTo(LEFT + plot.across, y); pen.stroke();
    pen.setLineDash([]);
    pen.fillText(`of ${limit}`, 16, top + 23);
  }
  loads = { top, stack, sums, some };
}
function tip(event, text) {
  const box = by("tip");
  box.hidden = !text;
  if (!text) return;
  box.replaceChildren(...text.map((one, at) => html(at ? "span" : "b", one)));
  const size = box.getBoundingClientRect();
  box.style.left = `${Math.max(4, Math.min(event.clientX + 14, window.innerWidth - size.width - 8))}px`;
  box.style.top = `${Math.max(4, event.clientY - size.height - 12)}px`;
}
function hit(event) {
  const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  return bars.findLast((one) => x >= one.x && x <= one.x + one.size && y >= one.y && y <= one.y + one.high);
}
function loaded(event) {
  const box = canvas.getBoundingClientRect(), x = Math.floor(event.clientX - box.left - LEFT);
  if (!loads || event.clientY - box.top < loads.top || x < 0 || !loads.sums[x]) return null;
  const names = new Map([...kinds].reverse().map((one) => [`--hue-${hues.get(one)}`, one]));
  const parts = loads.stack.filter(([, layer]) => layer[x] >= 0.05).map(([key, layer]) => `${kinds.length > HUES && key === `--hue-${HUES - 1}` ? "others" : names.get(key)}: ${layer[x].toFixed(1)}`);
  return [`${loads.sums[x].toFixed(1)} ${loads.some ? "cores in use" : "Steps at once"}`, ...parts];
}
canvas.addEventListener("pointermove", (event) => {
  const found = hit(event);
  canvas.style.cursor = found ? "pointer" : "default";
  if (!found) { tip(event, loaded(event)); return; }
  const { bar } = found, step = data.steps[bar.at], lines = [step.id, `${time(bar.from)} – ${bar.to === null ? "still running" : `${time(bar.to)}, ${time(bar.to - bar.from)}`}`, step.demand];
  if (bar.devices.length) lines.push(bar.devices.map((uuid) => data.devices[uuid] || uuid).join(", "));
  if (bar.iteration !== undefined) lines.push(`iteration ${bar.iteration}${bar.attempt > 1 ? `, attempt ${bar.attempt}` : ""}${bar.cause ? `, ${bar.cause}` : ""}`);
  tip(event, lines);
});
canvas.addEventListener("pointerleave", (event) => tip(event, null));
canvas.addEventListener("click", (event) => {
  const found = hit(event);
  if (!found) { choose(null); return; }
  const node = drawn.home.get(found.bar.at);
  if (node.count > 1) { state.open.add(node.step.group); draw(); }
  choose(drawn.home.get(found.bar.at));
});
let sizing = false;
by("split").addEventListener("pointerdown", () => { sizing = true; });
window.addEventListener("pointerup", () => { sizing = false; });
window.addEventListener("pointermove", (event) => { if (sizing) height(window.innerHeight - event.clientY); });
function height(low) {
  const kept = Math.min(window.innerHeight - 240, Math.max(70, low));
  document.querySelector("main").style.setProperty("--low", `${Math.round(kept)}px`);
  gantt();
}
by("split").addEventListener("keydown", (event) => {
  if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
  event.stopPropagation();
  event.preventDefault();
  height(by("time").getBoundingClientRect().height + (event.key === "ArrowUp" ? 24 : -24));
});
