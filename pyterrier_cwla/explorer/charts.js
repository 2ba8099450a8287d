/* Charts of the page, as SVG elements. A series has a name, the number of its colour, xs, ys, and a kind: line or bars. */

function chartOf(title, xLabel, xTicks, series, { wide, highest, percent, picks }) {
  const points = series.flatMap((one) => one.xs.map((x, i) => [x, one.ys[i]])).filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y));
  const frame = frameOf(wide, points, series.some((one) => one.kind === "bars"), highest);
  const spoken = series.map((one) => `${one.name}: ${one.ys.slice(0, 5).join(", ")} …`).join(" ");
  const svg = drawn("svg", { viewBox: `0 0 ${frame.width} ${frame.height}`, role: "img", "aria-label": `${title}, by ${xLabel}. ${spoken}` });
  axes(svg, frame, xLabel, xTicks(frame.x).map((tick) => [tick, label(tick)]), percent);
  series.forEach((one) => (one.kind === "bars" ? bars(svg, frame, one, series.length) : line(svg, frame, one)));
  if (series.length > 1) names(svg, frame, series);
  if (picks) rankLine(svg, frame, picks);
  return element("figure", {}, element("figcaption", {}, title), svg);
}

function rankTicks(range) {
  return [...new Set([1, ...ticks(range, 5)])].filter((tick) => Number.isInteger(tick) && tick > 0);
}

/* A line at the chosen rank; a click on the chart chooses another. */
function rankLine(svg, frame, { rank, pick }) {
  const marked = drawn("line", { y1: frame.top, y2: frame.height - frame.bottom, class: "cwla-now" });
  svg.append(marked);
  svg.markRank = () => {
    marked.setAttribute("visibility", rank() >= frame.x[0] && rank() <= frame.x[1] ? "visible" : "hidden");
    marked.setAttribute("x1", frame.sx(rank()) || 0);
    marked.setAttribute("x2", frame.sx(rank()) || 0);
  };
  svg.classList.add("cwla-picks");
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * frame.width;
    const chosen = frame.x[0] + ((x - frame.left) / (frame.width - frame.right - frame.left)) * (frame.x[1] - frame.x[0]);
    pick(Math.max(1, Math.min(Math.floor(frame.x[1]), Math.round(chosen))));
  });
}

function frameOf(wide, points, isBars, highest, top = 26) {
  const frame = { width: wide, height: 210, left: 48, right: 14, top, bottom: 40 };
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  const apart = isBars ? Math.min(1, ...gapsOf([...new Set(xs)].sort((a, b) => a - b))) / 2 : 0; // half a bar beside the first
  frame.x = spread(Math.min(...xs) - apart, Math.max(...xs) + apart);
  frame.y = spread(Math.min(0, ...ys), highest || Math.max(0, ...ys));
  if (!highest) frame.y = frame.y.map((end, i) => upToTick(end, tickStep(frame.y, 4), i ? Math.ceil : Math.floor));
  const scale = ([low, high], from, to) => (value) => from + ((value - low) / (high - low)) * (to - from);
  frame.sx = scale(frame.x, frame.left, frame.width - frame.right);
  frame.sy = scale(frame.y, frame.height - frame.bottom, frame.top);
  return frame;
}

function gapsOf(xs) {
  return xs.slice(1).map((x, i) => x - xs[i]).filter((gap) => gap > 0);
}

function spread(low, high) {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  return high > low ? [low, high] : [low, low + 1];
}

function axes(svg, frame, xLabel, xTicks, percent) {
  const [bottom, right] = [frame.height - frame.bottom, frame.width - frame.right];
  for (const tick of ticks(frame.y, 4)) {
    const y = frame.sy(tick);
    const shown = percent ? `${label(100 * tick)} %` : label(tick);
    svg.append(
      drawn("line", { x1: frame.left, x2: right, y1: y, y2: y, class: "cwla-grid" }),
      drawn("text", { x: frame.left - 6, y: y + 4, "text-anchor": "end" }, shown),
    );
  }
  let free = 0; // labels that would overlap are left out
  for (const [x, name] of xTicks) {
    const half = 4 * name.length;
    const middle = Math.min(frame.sx(x), frame.width - half - 2);
    if (middle - half < free) continue;
    free = middle + half + 4;
    svg.append(drawn("text", { x: middle, y: bottom + 16, "text-anchor": "middle" }, name));
  }
  svg.append(drawn("text", { x: (frame.left + right) / 2, y: frame.height - 6, "text-anchor": "middle" }, xLabel));
}

function tickStep([low, high], about) {
  const rough = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((times) => times * power >= rough) || 10);
}

function upToTick(value, step, round) {
  return round(Number((value / step).toPrecision(6))) * step;
}

/* Round values within a range, for the ticks of an axis. */
function ticks([low, high], about) {
  const step = tickStep([low, high], about);
  const found = [];
  for (let tick = Math.ceil(low / step - 1e-6); tick * step <= high + step * 1e-6; tick += 1) found.push(tick * step);
  return found;
}

function label(tick) {
  return String(Number(tick.toPrecision(4)));
}

function line(svg, frame, { xs, ys, at }) {
  let path = "";
  let drawing = false;
  xs.forEach((x, i) => {
    if (Number.isFinite(ys[i]) && Number.isFinite(x)) path += `${drawing ? "L" : "M"}${frame.sx(x).toFixed(1)} ${frame.sy(ys[i]).toFixed(1)}`;
    drawing = Number.isFinite(ys[i]);
  });
  svg.append(drawn("path", { d: path, class: `cwla-line${at}` }));
}

/* Bars beside each other; where they would be thinner than two pixels, a line. */
function bars(svg, frame, series, of) {
  const { xs, ys, at } = series;
  const gaps = gapsOf(xs);
  const room = frame.sx(frame.x[0] + Math.min(1e9, ...gaps, frame.x[1] - frame.x[0])) - frame.left;
  const wide = Math.min(16, (0.85 * room) / of);
  if (wide < 2) {
    line(svg, frame, series);
    return;
  }
  xs.forEach((x, i) => {
    if (!Number.isFinite(ys[i])) return;
    const y = frame.sy(Math.max(0, ys[i]));
    const height = Math.abs(frame.sy(ys[i]) - frame.sy(0));
    svg.append(drawn("rect", { x: frame.sx(x) + (at - of / 2) * wide, y, width: wide * 0.9, height, class: `cwla-fill${at}` }));
  });
}

/* Names of the rankings above the drawing, each with its line. */
function names(svg, frame, series) {
  let x = frame.left;
  for (const { name, at } of series) {
    const shown = short(name, 18);
    svg.append(
      drawn("line", { x1: x, x2: x + 20, y1: 12, y2: 12, class: `cwla-line${at}` }),
      drawn("text", { x: x + 25, y: 16 }, shown, drawn("title", {}, name)),
    );
    x += 45 + 7.2 * shown.length;
  }
}

// ---- the sweep over a parameter

/* Values of the parameter stand at equal distances, as on its slider. */
function sweepChart(title, sweep, series, wide) {
  const xs = sweep.values.map((_, i) => i);
  const ys = series.flatMap((one) => one.ys).filter(Number.isFinite);
  const frame = frameOf(wide, xs.map((x) => [x, 0]).concat(ys.map((y) => [0, y])), false, undefined, 42);
  const name = `${title} by ${sweep.label}. ${sweep.sentence}`;
  const svg = drawn("svg", { viewBox: `0 0 ${frame.width} ${frame.height}`, role: "img", "aria-label": name });
  const last = xs.length - 1;
  const at = [...new Set([0, 0.25, 0.5, 0.75, 1].map((part) => Math.round(part * last)))];
  axes(svg, frame, sweep.label, at.map((i) => [i, sweep.values[i]]));
  if (series[0].above) winners(svg, frame, series[0], xs);
  series.forEach((one) => line(svg, frame, { ...one, xs }));
  if (series.length > 1) names(svg, frame, series);
  if (sweep.now !== "") {
    const now = placeOf(sweep.now, sweep.values);
    upright(svg, frame, now, "cwla-now");
    haloed(svg, frame, now, frame.height - frame.bottom - 5, `now ${sweep.now}`);
  }
  markFlips(svg, frame, sweep);
  return element("figure", {}, element("figcaption", {}, title), svg);
}

/* Fill the area between 0 and the difference in the colour of the ranking that wins, and write its name there. */
function winners(svg, frame, { ys, above, below }, xs) {
  const zero = frame.sy(0);
  const shape = (part) => {
    const corners = xs.filter((x) => Number.isFinite(ys[x])).map((x) => `${frame.sx(x).toFixed(1)} ${frame.sy(part(ys[x])).toFixed(1)}`);
    return `M${frame.sx(0)} ${zero}L${corners.join("L")}L${frame.sx(xs.length - 1)} ${zero}Z`;
  };
  svg.append(
    drawn("path", { d: shape((y) => Math.min(0, y)), class: "cwla-fill0 cwla-faint" }),
    drawn("path", { d: shape((y) => Math.max(0, y)), class: "cwla-fill1 cwla-faint" }),
    drawn("line", { x1: frame.left, x2: frame.width - frame.right, y1: zero, y2: zero, class: "cwla-zero" }),
  );
  const inside = (name, at, y) => svg.append(drawn("text", { x: frame.left + 4, y, class: `cwla-halo cwla-name${at}` }, `${name} higher`));
  const bottom = frame.height - frame.bottom;
  if (zero - frame.top > 16) inside(above, 1, frame.top + 13);
  if (bottom - zero > 16) inside(below, 0, Math.max(zero + 15, bottom - 22));
}

function upright(svg, frame, x, kind) {
  const at = frame.sx(x);
  svg.append(drawn("line", { x1: at, x2: at, y1: frame.top, y2: frame.height - frame.bottom, class: kind }));
}

function haloed(svg, frame, x, y, says) {
  const half = 3.6 * says.length;
  const middle = Math.max(frame.left + half, Math.min(frame.width - half, frame.sx(x)));
  svg.append(drawn("text", { x: middle, y, "text-anchor": "middle", class: "cwla-halo" }, says));
}

/* Lines at the values where the order changes, with the values that have room; the list has all of them. */
function markFlips(svg, frame, { flips, values }) {
  let free = 0;
  for (const flip of flips.slice(0, 12)) {
    const x = placeOf(flip.value, values);
    upright(svg, frame, x, "cwla-flip");
    const half = 3.8 * flip.value.length;
    if (frame.sx(x) - half < free) continue;
    free = frame.sx(x) + half + 4;
    haloed(svg, frame, x, frame.top - 5, flip.value);
  }
}
