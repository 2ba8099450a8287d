/* Elements of the explorer's page. The page draws the answers of pyterrier_cwla.explorer.Exploration and sends requests
   to it; all numbers come as texts, and the scripts compute nothing but positions on the screen. */

const SVG = "http://www.w3.org/2000/svg";

function element(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function drawn(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

function number(text) {
  return text === null || text === "" ? NaN : Number(text);
}

function short(text, most = 24) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/* The line of a ranking, beside its name. */
function mark(at) {
  const line = drawn("line", { x1: 0, x2: 22, y1: 6, y2: 6, class: `cwla-line${at}` });
  return drawn("svg", { viewBox: "0 0 22 12", class: "cwla-mark", "aria-hidden": "true" }, line);
}

/* A frame in which a table can be scrolled, also with the keyboard. */
function scrolling(name, id, shown) {
  return element("div", { class: "cwla-scrolls", id, tabindex: 0, role: "region", "aria-label": name }, shown);
}

/* Draw a part of the page anew, and leave the focus on the element with the same id. */
function keepingFocus(root, draw) {
  const focused = root.getRootNode().activeElement;
  const id = focused && root.contains(focused) ? focused.id : "";
  draw();
  if (!id || root.contains(focused)) return;
  const again = [...root.querySelectorAll("[id]")].find((one) => one.id === id);
  again?.focus({ preventScroll: true });
  again?.scrollIntoView({ block: "nearest" });
}

/* Place of a value between those of a slider. */
function placeOf(value, values) {
  const wanted = parseFloat(value);
  const above = values.findIndex((one) => Number(one) >= wanted);
  if (above <= 0) return above < 0 ? values.length - 1 : 0;
  const [low, high] = [Number(values[above - 1]), Number(values[above])];
  return above - 1 + (wanted - low) / (high - low);
}
