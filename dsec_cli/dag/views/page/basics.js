"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const by = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const FONT = 'system-ui, "Segoe UI", Helvetica, Arial, "Noto Sans CJK SC", sans-serif';
const MANY = 200, EACH = 12, HUES = 10;
const CARRIED = 1, LOOP = 2, LONG = 4;
const numbers = new Map(data.steps.map((step, at) => [step.id, at]));
const longest = data.steps.reduce((most, step) => Math.max(most, step.ms || 0), 0);
const state = { folded: data.steps.length > MANY, open: new Set(), chosen: null, path: false, actual: false };

/* Few Steps have a colour each; of many, those of a class share one. */
const kinds = [...new Set(data.steps.map((step) => (data.steps.length <= EACH ? step.id : step.group)))];
function kind(step) { return data.steps.length <= EACH ? step.id : step.group; }
/* Of more kinds than colours, those that take most time have one of their own; the others share the last. */
function coloured() {
  const work = new Map(kinds.map((one) => [one, 0]));
  for (const step of data.steps) work.set(kind(step), work.get(kind(step)) + (step.ms || 1) * (1 + step.devices.length));
  const first = new Set(kinds.length <= HUES ? kinds : [...kinds].sort((a, b) => work.get(b) - work.get(a)).slice(0, HUES - 1));
  let next = 0;
  return new Map(kinds.map((one) => [one, first.has(one) ? next++ : HUES - 1]));
}
const hues = coloured();
function hue(step) { return `--hue-${hues.get(kind(step))}`; }

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
const ruler = document.createElement("canvas").getContext("2d");
function wide(text, font) { ruler.font = `${font} ${FONT}`; return ruler.measureText(text).width; }
/* An id without what all ids begin with; the hint and the search have it whole. */
function unprefixed(id) { return data.prefix && id.startsWith(data.prefix) ? id.slice(data.prefix.length) : id; }
/* A text without its middle, as wide as there is room for: ids differ at their ends. */
function elided(text, room, font) {
  if (wide(text, font) <= room) return text;
  const chars = [...text];
  const cut = (left) => `${chars.slice(0, Math.ceil(left / 3)).join("")}…${chars.slice(chars.length - Math.floor(left * 2 / 3)).join("")}`;
  let low = 0, high = chars.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (wide(cut(middle), font) <= room) low = middle; else high = middle - 1;
  }
  return cut(low);
}
/* The beginning of a text that is as wide as there is room for. */
function fits(text, room, font) {
  if (wide(text, font) <= room) return text;
  const chars = [...text];
  let low = 0, high = chars.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (wide(`${chars.slice(0, middle).join("")}…`, font) <= room) low = middle; else high = middle - 1;
  }
  return `${chars.slice(0, low).join("").trimEnd()}…`;
}
function color(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
function least(values) { return values.reduce((a, b) => Math.min(a, b), Infinity); }
function most(values) { return values.reduce((a, b) => Math.max(a, b), -Infinity); }
