/* What is said beside the picture. */
function table(rows) {
  const body = html("table");
  for (const [name, value] of rows) {
    if (value === null || value === undefined || value === "") continue;
    const row = html("tr"), cell = html("td");
    row.append(html("td", name));
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
  const step = node.step, box = by("about"), inside = new Set(node.members);
  const others = (end, from, carried) => [...new Set(data.edges.filter((edge) => inside.has(edge[end]) && (edge[4] & CARRIED) === carried).map((edge) => edge[from]))];
  const seen = step.run;
  const rows = node.count > 1
    ? [["Steps", String(node.count)], ["time in all", step.ms === null ? null : time(total(node))], ["tolerance", step.level], ["each asks for", step.demand],
       ["on the critical path", String(node.members.filter((at) => data.steps[at].critical).length)], ["like", links(node.members)]]
    : [["tolerance", step.level], ["asks for", step.demand], ["takes", step.ms === null ? null : `${time(step.ms)} (${step.source})`],
       ["may start later by", step.slack === null ? null : step.critical ? "0: on the critical path" : time(step.slack)],
       ["planned", step.start === null ? null : `${time(step.start)} – ${time(step.end)}`],
       ["devices", step.devices.map((uuid) => data.devices[uuid] || uuid).join(", ")],
       ["needs", links(others(1, 0, 0))], ["needed by", links(others(0, 1, 0))],
       ["reads earlier iteration of", links(others(1, 0, CARRIED))], ["stated at", step.place]];
  if (seen && node.count === 1) {
    rows.push(["run", `${seen.state}${data.iterations > 1 ? ` ${seen.done}/${data.iterations}` : ""}`], ["took (median)", seen.median_ms === null ? "not known yet" : time(seen.median_ms)],
      ["waited (median)", seen.waited_ms === null ? null : time(seen.waited_ms)], ["attempts", seen.attempts > seen.done ? String(seen.attempts) : null], ["failures", seen.failures ? String(seen.failures) : null], ["retries", seen.retries ? String(seen.retries) : null],
      ["last failure", seen.cause || null], ["held GPUs", seen.gpu_ms ? `${time(seen.gpu_ms)}${seen.gpu_permille === null ? "" : `, ${Math.round(seen.gpu_permille / 10)} % of all GPU time`}` : null]);
  }
  box.replaceChildren(html("h2", label(node)), html("p", node.count === 1 && step.name && step.name !== step.id ? step.name : ""), table(rows));
  if (node.count > 1) box.append(html("p", "Enter or a double click unfolds this class."));
}
/* A row with a bar of `share`, 0 to 1. */
function measure(name, value, share, bad) {
  const row = html("div", undefined, { class: `measure${bad ? " bad" : ""}` }), bar = html("i");
  bar.style.width = `${Math.max(0.5, Math.min(100, share * 100))}%`;
  row.append(html("span", name), html("b", value), bar);
  return row;
}
function overview() {
  const parts = [];
  for (const cycle of data.cycles.slice(0, 20)) {
    parts.push(html("h2", "Cycle"), html("p", cycle.text), table(cycle.edges.map(([place, text]) => [place, text])), html("p", cycle.more ? `and ${cycle.more} more edges` : ""), html("p", cycle.remedy, { class: "remedy" }));
  }
  if (data.cycles.length > 20) parts.push(html("p", `${data.cycles.length - 20} more cycles`));
  if (data.cycles.length) parts.push(html("p", "A graph with cycles has no times."));
  if (data.idle.length) {
    parts.push(html("h2", "Why GPUs are idle"));
    for (const [text, permille, share] of data.idle) parts.push(measure(text, share, permille / 1000));
  }
  if (data.critical.length) {
    parts.push(html("h2", `Critical path, ${time(data.length)}`), html("p", undefined, { class: "path" }));
    parts[parts.length - 1].append(links(data.critical));
  }
  const bounds = data.bounds.filter(([, ms]) => ms > data.makespan / 20).sort((a, b) => b[1] - a[1]);
  if (bounds.length) {
    parts.push(html("h2", "No schedule is shorter than"));
    for (const [name, ms] of bounds.slice(0, 4)) parts.push(measure(name, time(ms), ms / Math.max(data.makespan, 1)));
  }
  if (data.uses.length) {
    const body = html("table", undefined, { class: "uses" });
    for (const cells of [["", "widest level", "peak", "there"], ...data.uses]) {
      const row = html("tr");
      cells.forEach((cell, at) => row.append(html(cells[0] === "" ? "th" : "td", cell, at ? { class: "number" } : {})));
      body.append(row);
    }
    parts.push(html("h2", "Side by side"), body);
  }
  by("about").replaceChildren(...(parts.length ? parts : [html("p", "Nothing to tell.")]));
}
