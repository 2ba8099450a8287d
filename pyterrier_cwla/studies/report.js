"use strict";
// Sorts a table by the column whose header is clicked; rows without a value stay at the bottom.
for (const head of document.querySelectorAll("thead th")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = head.textContent || "(no name)";
  head.replaceChildren(button);
  button.addEventListener("click", () => {
    const column = head.cellIndex;
    const body = head.closest("table").tBodies[0];
    const rising = head.getAttribute("aria-sort") !== "ascending";
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", rising ? "ascending" : "descending");
    const keyed = Array.from(body.rows, row => [row.cells[column].dataset.key ?? "", row]);
    const numbers = head.classList.contains("number");
    const value = key => numbers ? (key === "inf" ? Infinity : key === "-inf" ? -Infinity : Number(key)) : key;
    keyed.sort(([a], [b]) => {
      if (a === "" || b === "") return (a === "") - (b === "");
      const x = value(a), y = value(b);
      const order = numbers ? (x < y ? -1 : x > y ? 1 : 0) : x.localeCompare(y, undefined, { numeric: true });
      return rising ? order : -order;
    });
    body.append(...keyed.map(([, row]) => row));
  });
}

// Says which tables and pictures go on to the right.
function hint() {
  for (const said of document.querySelectorAll(".hint")) {
    const wide = said.nextElementSibling;
    said.hidden = wide.scrollWidth <= wide.clientWidth;
  }
}
for (const details of document.querySelectorAll("details")) details.addEventListener("toggle", hint);
addEventListener("resize", hint);
hint();

// Opens pictures and small tables on paper.
let opened = [];
addEventListener("beforeprint", () => {
  opened = Array.from(document.querySelectorAll("details.prints:not([open])"));
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
});

// Highlights one series in all pictures that show it.
const pictures = Array.from(document.querySelectorAll("figure.picture"), figure => {
  const { series, points } = JSON.parse(figure.dataset.values);
  const find = id => document.getElementById(figure.id + "-" + id);
  return { figure, points, find, series: series.map(one => ({ name: one.name, parts: one.ids.map(find).filter(Boolean) })) };
});
let highlighted = null;
function highlight(name) {
  highlighted = name === highlighted ? null : name;
  for (const { figure, series } of pictures) {
    const there = series.some(one => one.name === highlighted);
    for (const one of series) {
      for (const part of one.parts) part.classList.toggle("faded", there && one.name !== highlighted);
    }
    for (const button of figure.querySelectorAll(".series button")) {
      button.setAttribute("aria-pressed", button.textContent === highlighted);
    }
  }
}
for (const { figure, series } of pictures) {
  if (series.length < 2) continue;
  for (const { name } of series) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.setAttribute("aria-pressed", false);
    button.addEventListener("click", () => highlight(name));
    figure.querySelector(".series").append(button);
  }
}

// Shows the values of the nearest point under the mouse or a finger, or of the next point by the arrow keys.
const box = document.getElementById("value");
for (const { figure, points, find } of pictures) {
  const drawing = figure.querySelector(".drawing"), svg = drawing.querySelector("svg");
  const spot = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  spot.setAttribute("class", "spot");
  spot.setAttribute("r", 5);
  let at = -1;
  const hide = () => { spot.remove(); box.hidden = true; };
  const places = () => {
    const frames = {};
    return points.map(([axes, x, y]) => {
      const frame = frames[axes] ??= find("axes-" + axes)?.getBBox();
      return frame ? [frame.x + x * frame.width, frame.y + (1 - y) * frame.height] : [NaN, NaN];
    });
  };
  const show = ([x, y], text) => {
    spot.setAttribute("cx", x);
    spot.setAttribute("cy", y);
    svg.append(spot);
    box.textContent = text;
    box.hidden = false;
    const on = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM()), own = box.getBoundingClientRect();
    box.style.left = Math.max(4, Math.min(on.x + 12, innerWidth - own.width - 4)) + "px";
    box.style.top = (on.y + 12 + own.height > innerHeight ? on.y - 12 - own.height : on.y + 12) + "px";
  };
  drawing.addEventListener("pointermove", event => {
    const mouse = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    let least = 15;
    at = -1;
    const all = places();
    all.forEach(([x, y], number) => {
      const far = Math.hypot(x - mouse.x, y - mouse.y);
      if (far < least) [least, at] = [far, number];
    });
    if (at < 0) hide();
    else show(all[at], points[at][3]);
  });
  drawing.addEventListener("pointerleave", hide);
  drawing.addEventListener("blur", hide);
  drawing.addEventListener("keydown", event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") hide();
    if (!step || !points.length) return;
    event.preventDefault();
    at = at < 0 ? (step > 0 ? 0 : points.length - 1) : (at + step + points.length) % points.length;
    show(places()[at], points[at][3]);
  });
}
