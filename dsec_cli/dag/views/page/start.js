/* Keys, buttons, and how the page comes up. */
function step_to(key) {
  const node = state.chosen === null ? null : drawn.home.get(state.chosen);
  if (!node) { const row = drawn.rows.find((one) => one.length); if (row) choose(row[0]); return; }
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
  if (!by("report").hidden) report();
}
const zoomed = (factor) => zoom(factor, picture.clientWidth / 2, picture.clientHeight / 2);
const actions = {
  c: () => { state.path = !state.path; mark(); },
  g: () => { state.folded = !state.folded; state.open.clear(); draw(); fit(); },
  f: fit,
  t: () => theme(document.documentElement.classList.contains("dark") ? "light" : "dark"),
  p: () => { if (data.run) { state.actual = !state.actual; which(); gantt(); } },
  r: () => sheet(by("report").hidden),
  "/": () => by("find").focus(),
  "?": () => by("keys").showModal(),
  "+": () => zoomed(1.25),
  "=": () => zoomed(1.25),
  "-": () => zoomed(0.8),
  Escape: () => choose(null),
  Enter: () => { if (state.chosen !== null) unfold(drawn.home.get(state.chosen)); },
};
window.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || by("keys").open) return;
  if (event.target instanceof HTMLInputElement) {
    if (event.key === "Escape") { event.target.value = ""; event.target.blur(); }
    return;
  }
  if ((event.target instanceof HTMLButtonElement || event.target instanceof HTMLAnchorElement) && (event.key === "Enter" || event.key === " ")) return;
  if (!by("report").hidden && !"rt?".includes(event.key) && event.key !== "Escape") return;
  if (!by("report").hidden && event.key === "Escape") { sheet(false); return; }
  if (event.key.startsWith("Arrow")) { event.preventDefault(); step_to(event.key); return; }
  const act = actions[event.key];
  if (act) { event.preventDefault(); act(); }
});
by("find").addEventListener("input", (event) => {
  const word = event.target.value.toLowerCase();
  const at = word ? data.steps.findIndex((step) => step.id.toLowerCase().includes(word) || (step.name || "").toLowerCase().includes(word)) : -1;
  event.target.classList.toggle("none", Boolean(word) && at < 0);
  if (at < 0) { choose(null); return; }
  const node = drawn.home.get(at);
  if (node.count > 1) { state.open.add(node.step.group); draw(); }
  choose(drawn.home.get(at));
});
for (const [id, key] of [["sheet", "r"], ["fold", "g"], ["path", "c"], ["fit", "f"], ["theme", "t"], ["help", "?"]]) by(id).addEventListener("click", () => actions[key]());
function which() {
  const box = by("which");
  box.replaceChildren();
  if (!data.run) return;
  for (const [name, actual] of [["planned", false], [data.run.simulated ? "simulated" : "actual", true]]) {
    const button = html("button", name, { "aria-pressed": String(state.actual === actual) });
    button.addEventListener("click", () => { state.actual = actual; which(); gantt(); });
    box.append(button);
  }
}
function legend() {
  const rows = [];
  if (data.critical.length) rows.push(["critical path", "--accent"]);
  if (data.edges.some((edge) => edge[4] & CARRIED)) rows.push(["read an iteration later", "--carried"]);
  if (data.cycles.length) rows.push(["cycle", "--wrong"]);
  for (const [name, stroke] of rows) {
    const item = html("li"), swatch = html("i");
    swatch.style.background = `var(${stroke})`;
    item.append(swatch, name);
    by("legend").append(item);
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
  marks.append(arrow("tip-plain", "--edge"), arrow("tip-long", "--accent"), arrow("tip-carried", "--carried"), arrow("tip-loop", "--wrong"));
  picture.append(marks, layer);
  by("fold").hidden = data.steps.length <= EACH || new Set(data.steps.map((step) => step.group)).size === data.steps.length;
  by("path").hidden = !data.critical.length;
  theme(new URLSearchParams(location.search).get("theme"));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme(null));
  state.actual = Boolean(data.run && data.run.bars.length);
  which();
  legend();
  overview();
  const found = data.makespan === null && !state.actual ? { gpus: [], rest: [] } : lanes(known());
  const rows = found.gpus.length + (found.rest.length > LANES ? 5 : found.rest.length);
  if (!state.folded && !by("fold").hidden && broken(layout(room()).rows, room()).k < 0.3) state.folded = true;
  if (!rows) document.querySelector("main").classList.add("timeless");
  draw();
  const [, top, , bottom] = bounds(), spare = by("graph").clientHeight + by("time").clientHeight - 1.1 * (bottom - top) - 110;
  if (rows) height(Math.max(90, Math.min(rows * 26 + 64, window.innerHeight * (window.innerWidth > 900 ? 0.44 : 0.3)), Math.min(rows * 36 + 64, window.innerHeight * 0.55, spare)));
  fit();
  const asked = numbers.get(new URLSearchParams(location.search).get("step"));
  if (asked !== undefined) { unfold(drawn.home.get(asked)); choose(drawn.home.get(asked)); }
  by("sheet").hidden = !told;
  if (told && new URLSearchParams(location.search).get("view") === "report") sheet(true);
  new ResizeObserver(() => { fit(); gantt(); }).observe(by("graph"));
}
start();
