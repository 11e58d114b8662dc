// Elements from plain calls. Text of an environment only ever becomes text nodes, never markup.
const DATA = JSON.parse(document.getElementById("data").textContent);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, text] of Object.entries(value)) node.style.setProperty(key, text);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const by = (id) => document.getElementById(id);

const known = (value) => value !== null && value !== undefined;
const percent = (value, digits = 1) => (known(value) ? `${(100 * value).toFixed(digits)} %` : "–");
const whole = (value) => (known(value) ? Math.round(value).toLocaleString("en") : "–");
// enough digits to tell neighbours apart, none that say nothing
function short(value) {
  if (!known(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
  if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)}k`;
  return size !== 0 && size < 1e-3 ? value.toExponential(1) : `${+value.toPrecision(size >= 100 ? 4 : 3)}`;
}
function duration(seconds) {
  if (!known(seconds)) return "–";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
const signed = (value) => (value > 0 ? "+" : value < 0 ? "−" : "") + Math.abs(value).toFixed(2);
const plural = (count, word) => `${whole(count)} ${word}${count === 1 ? "" : "s"}`;
const words = (name) => name.replaceAll("_", " ");

// A row of buttons of which one is pressed.
function segments(box, options, chosen, choose) {
  const buttons = options.map(([value, label]) =>
    el("button", { type: "button", "data-value": value, onclick: () => press(value) }, label));
  function press(value) {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.value === value));
    choose(value);
  }
  box.append(...buttons);
  for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.value === chosen));
  return press;
}
