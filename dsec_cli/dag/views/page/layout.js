/* Where everything stands: Steps, or classes of Steps while they are folded, in columns by level. */
const WIDE = 176, HIGH = 62, GAP_X = 44, GAP_Y = 16, BAND = 46, BANDS = 6, ARCS = 1500;

/* Of the first cycles each Step is shown, also where others of its class are folded. */
const KEPT = 24, kept = new Set(data.cycles.flatMap((cycle) => cycle.steps).slice(0, KEPT));
function items() {
  if (!state.folded) return data.steps.map((step, at) => ({ key: "s" + at, at, members: [at], step }));
  const groups = new Map();
  data.steps.forEach((step, at) => {
    const key = state.open.has(step.group) || kept.has(at) ? "s" + at : "g" + step.group;
    if (!groups.has(key)) groups.set(key, { key, at, members: [], step });
    groups.get(key).members.push(at);
  });
  return [...groups.values()];
}
function joined(nodes, home) {
  const edges = new Map();
  for (const [source, target, kind, via, flags] of data.edges) {
    const a = home.get(source), b = home.get(target);
    if (a === b && a.count > 1) continue;
    const key = `${a.index},${b.index},${flags & CARRIED}`;
    const known = edges.get(key) || { a, b, count: 0, vias: new Set(), carried: flags & CARRIED, loop: 0, long: 0 };
    known.count += 1;
    if (via) known.vias.add(via);
    known.loop |= flags & LOOP;
    known.long |= flags & LONG;
    edges.set(key, known);
  }
  return [...edges.values()];
}
/* Each node near the middle of its neighbours, sweeping to and fro. */
function ordered(nodes, columns) {
  const rows = columns.map(() => []);
  nodes.forEach((node) => rows[node.column].push(node));
  rows.forEach((row) => row.forEach((node, y) => { node.y = y - row.length / 2 + 0.5; }));
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
  return rows;
}
/* A long row of columns goes on in the line below, as text does, where that shows it larger. */
function broken(rows, box) {
  let best = { k: 0 };
  for (let count = 1; count <= Math.min(BANDS, Math.max(1, rows.length)); count += 1) {
    const per = Math.ceil(rows.length / count), highs = [];
    for (let from = 0; from < rows.length; from += per) highs.push(most(rows.slice(from, from + per).map((row) => row.length)) * (HIGH + GAP_Y));
    const tall = highs.reduce((sum, high) => sum + high, 0) + BAND * (highs.length - 1);
    const k = Math.min(1.1, (box.width - 48) / (per * (WIDE + GAP_X)), (box.height - 76) / tall);
    if (k > best.k * 1.15) best = { k, per, highs };
  }
  return best;
}
function layout(box) {
  const nodes = items(), home = new Map();
  nodes.forEach((node, index) => {
    node.index = index;
    node.count = node.members.length;
    node.column = least(node.members.map((at) => data.steps[at].column));
    node.up = [];
    node.down = [];
    for (const at of node.members) home.set(at, node);
  });
  const columns = [...new Set(nodes.map((node) => node.column))].sort((a, b) => a - b), place = new Map(columns.map((column, at) => [column, at]));
  nodes.forEach((node) => { node.column = place.get(node.column); });
  const edges = joined(nodes, home);
  for (const edge of edges) if (!edge.carried) { edge.b.up.push(edge.a); edge.a.down.push(edge.b); }
  const rows = ordered(nodes, columns), { per, highs } = broken(rows, box);
  const tops = [];
  (highs || []).reduce((top, high) => { tops.push(top); return top + high + BAND; }, 0);
  for (const node of nodes) {
    node.band = Math.floor(node.column / per);
    node.x = (node.column - node.band * per) * (WIDE + GAP_X);
    node.top = tops[node.band] + highs[node.band] / 2 + node.y * (HIGH + GAP_Y) - HIGH / 2;
  }
  const bands = tops.map((top, at) => ({ top, bottom: top + highs[at] }));
  edges.forEach((edge, at) => { edge.d = edgePath(edge, at, rows, bands, edges.length <= ARCS); });
  return { nodes, edges, home, rows, per, turns: tops.length > 1 };
}
function edgePath(edge, number, rows, bands, arcs) {
  const x1 = edge.a.x + WIDE, y1 = edge.a.top + HIGH / 2, x2 = edge.b.x - 2, y2 = edge.b.top + HIGH / 2;
  if (edge.a === edge.b) return `M${x1 - 34} ${edge.a.top} c 0 -30, -64 -30, -64 -2`;
  if (edge.a.band !== edge.b.band) return around(x1, y1, x2, y2, bands[edge.b.band], edge.a.band < edge.b.band, number % 5 * 3 - 6);
  if (x2 > x1) {
    const over = arcs ? hurdle(edge, rows, y1, y2) : null;
    if (over !== null) return `M${x1} ${y1} C${x1 + 26} ${y1}, ${x1 + 14} ${over}, ${x1 + GAP_X + 20} ${over} H${x2 - GAP_X - 18} C${x2 - 14} ${over}, ${x2 - 26} ${y2}, ${x2} ${y2}`;
    const bend = Math.max(22, (x2 - x1) / 2);
    return `M${x1} ${y1} C${x1 + bend} ${y1}, ${x2 - bend} ${y2}, ${x2} ${y2}`;
  }
  const between = arcs ? rows.slice(edge.b.column, edge.a.column + 1).flat().filter((node) => node.band === edge.a.band) : [edge.a, edge.b];
  const near = Math.max(edge.a.top, edge.b.top) + HIGH + 8, barred = between.some((node) => node.top < near + 5 && node.top + HIGH > near - 5);
  const low = barred ? most(between.map((node) => node.top)) + HIGH + 12 + 4 * (number % 4) : near;
  return rounded([[x1, y1], [x1 + 16, y1], [x1 + 16, low], [x2 - 18, low], [x2 - 18, y2], [x2, y2]]);
}
/* How high an edge has to go where a Step of a column between stands in its way; null: nowhere. */
function hurdle(edge, rows, y1, y2) {
  const { a, b } = edge;
  let over = null;
  for (let column = a.column + 1; column < b.column; column += 1) {
    const y = y1 + (y2 - y1) * (column - a.column) / (b.column - a.column);
    for (const node of rows[column]) if (Math.abs(node.top + HIGH / 2 - y) < HIGH / 2 + 6) over = Math.min(over === null ? Infinity : over, node.top - 9);
  }
  return over;
}
function around(x1, y1, x2, y2, band, down, shift) {
  const level = (down ? band.top - BAND / 2 : band.bottom + BAND / 2) + shift;
  return rounded([[x1, y1], [x1 + 18 + shift, y1], [x1 + 18 + shift, level], [x2 - 20 + shift, level], [x2 - 20 + shift, y2], [x2, y2]]);
}
/* A line through the points whose corners are rounded. */
function rounded(points) {
  let path = `M${points[0][0]} ${points[0][1]}`;
  for (let at = 1; at < points.length - 1; at += 1) {
    const [before, here, after] = [points[at - 1], points[at], points[at + 1]];
    const toward = (other) => {
      const far = Math.hypot(other[0] - here[0], other[1] - here[1]) || 1, r = Math.min(9, far / 2);
      return `${here[0] + (other[0] - here[0]) / far * r} ${here[1] + (other[1] - here[1]) / far * r}`;
    };
    path += ` L${toward(before)} Q${here[0]} ${here[1]} ${toward(after)}`;
  }
  const last = points[points.length - 1];
  return `${path} L${last[0]} ${last[1]}`;
}
