/* The picture of the graph, and moving about in it. */
let drawn = null, view = { x: 0, y: 0, k: 1 };
const picture = by("picture"), layer = make("g", {});
function arrow(id, color) {
  const marker = make("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerUnits: "userSpaceOnUse", markerWidth: 10, markerHeight: 10, orient: "auto-start-reverse" });
  marker.append(make("path", { d: "M0 0.5 L8 4 L0 7.5 z", style: `fill: var(${color})` }));
  return marker;
}
function room() { const box = picture.getBoundingClientRect(); return { width: Math.max(box.width, 60), height: Math.max(box.height, 90) }; }
function draw() {
  drawn = layout(room());
  layer.replaceChildren();
  for (const edge of drawn.edges) {
    const look = edge.loop ? "loop" : edge.carried ? "carried" : edge.long ? "long" : "plain";
    edge.path = make("path", { class: `edge ${look}`, d: edge.d, "marker-end": `url(#tip-${look})` });
    const said = [...edge.vias].slice(0, 4).join(", ");
    edge.path.append(make("title", {}, `${label(edge.a)} → ${label(edge.b)}${edge.count > 1 ? ` (${edge.count})` : ""}${edge.carried ? ", read an iteration later" : ""}${said ? `: ${said}` : ""}`));
    layer.append(edge.path);
  }
  for (const node of drawn.nodes) layer.append(drawNode(node));
  mark();
}
function label(node) { return unprefixed(node.count > 1 ? node.step.group : node.step.id); }
function total(node) { return node.members.reduce((sum, at) => sum + (data.steps[at].ms || 0), 0); }
function drawNode(node) {
  const step = node.step, of = (word) => node.members.some((at) => data.steps[at][word]);
  const long = of("critical"), run = outcome(node);
  const group = make("g", {
    class: `node ${step.level}${long ? " long" : ""}${of("loop") ? " loop" : ""}`, transform: `translate(${node.x} ${node.top})`,
    role: "button", "aria-label": `${label(node)}${node.count > 1 ? `, ${node.count} Steps` : ""}, ${step.level}, ${time(step.ms)}, ${step.demand}`, style: `--hue: var(${hue(step)})`,
  });
  if (node.count > 1) for (const off of [8, 4]) group.append(make("rect", { class: "back", x: off, y: -off, width: WIDE, height: HIGH, rx: 9 }));
  group.append(make("rect", { class: "body", width: WIDE, height: HIGH, rx: 9 }), make("path", { class: "stripe", d: `M9 0 H6 Q0 0 0 9 V${HIGH - 9} Q0 ${HIGH} 6 ${HIGH} H9 z` }));
  const badge = node.count > 1 ? `× ${node.count}` : step.level, font = node.count > 1 ? "600 11px" : "10px";
  let left = WIDE - 30 - wide(badge, font);
  if (run) left -= 14;
  group.append(make("text", { x: 18, y: 20, class: "id" }, elided(label(node), left, "600 13px")));
  group.append(make("text", { x: WIDE - (run ? 24 : 10), y: 20, class: node.count > 1 ? "count" : "level", "text-anchor": "end" }, badge));
  if (run) group.append(make("circle", { cx: WIDE - 14, cy: 16, r: 5, style: `fill: var(${run[1]})` }));
  const [first, second] = under(node);
  group.append(make("text", { x: 18, y: 36, class: "sub" }, fits(first, WIDE - 28, "11px")), make("text", { x: 18, y: 50, class: "sub" }, fits(second, WIDE - 28, "11px")));
  if (longest) group.append(make("rect", { class: "share", x: 18, y: HIGH - 7, width: Math.max(2, (WIDE - 30) * most(node.members.map((at) => data.steps[at].ms || 0)) / longest), height: 3, rx: 1.5 }));
  group.addEventListener("pointerenter", () => { if (state.chosen === null) about(node); near(node, true); });
  group.addEventListener("pointerleave", () => { if (state.chosen === null) overview(); near(node, false); });
  group.addEventListener("click", (event) => { event.stopPropagation(); choose(node); });
  group.addEventListener("dblclick", () => unfold(node));
  node.group = group;
  return group;
}
/* The two lines below the id. */
function under(node) {
  const step = node.step, shown = node.count === 1 && step.run && step.run.median_ms !== null ? step.run.median_ms : step.ms;
  if (node.count > 1) return [step.ms === null ? "" : `${time(total(node))} in all`, node.members.every((at) => data.steps[at].brief === step.brief) ? `each ${step.brief}` : `${step.brief}, and others`];
  const named = step.name && step.name !== step.id;
  const facts = [shown === null ? "" : time(shown), step.brief].filter(Boolean);
  return named ? [step.name, facts.join(" · ")] : [facts[0], facts[1] || ""];
}
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

function show() { layer.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.k})`); }
function bounds() {
  const xs = drawn.nodes.map((node) => node.x), ys = drawn.nodes.map((node) => node.top);
  const low = drawn.edges.some((edge) => edge.carried || edge.loop) ? 34 : 0, beside = low || drawn.turns ? 24 : 8;
  return drawn.nodes.length ? [least(xs) - beside, least(ys) - 12, most(xs) + WIDE + beside, most(ys) + HIGH + low] : [0, 0, 1, 1];
}
function fit() {
  if (drawn.nodes.length && drawn.per !== broken(drawn.rows, room()).per) draw();
  const [x1, y1, x2, y2] = bounds(), box = room();
  const k = Math.min(1.25, (box.width - 40) / (x2 - x1), (box.height - 60) / (y2 - y1));
  view = { k: Math.max(k, 0.02), x: 0, y: 0 };
  view.x = (box.width - view.k * (x1 + x2)) / 2;
  view.y = (box.height - 24 - view.k * (y1 + y2)) / 2;
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
  const box = room();
  const x = view.x + node.x * view.k, y = view.y + node.top * view.k, across = WIDE * view.k, high = HIGH * view.k;
  if (x < 8) view.x += 8 - x; else if (x + across > box.width - 8) view.x -= x + across - box.width + 8;
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
