/* The page of the explorer: draws the answers of pyterrier_cwla.explorer.Exploration, and sends requests to it.
   All numbers come as texts; this script computes nothing but positions on the screen. */

function cwlaExplorer(root, start, ask) {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const live = start.mode === "live";
  const page = { state: start.state, sweep: start.sweep, topics: start.topics, axis: "rank", rank: 10 };
  const edits = { topic: start.state.topic, grades: {}, orders: {} };
  let sweepPath = start.sweep ? start.sweep.path : null;
  const ids = `cwla${Math.floor(Math.random() * 1e9)}-`; // several explorers may be on one page

  // ---- elements

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

  // ---- requests: one at a time; of the waiting ones only the newest is sent

  let busy = false;
  let waiting = null; // {set, measure}: changes that are not sent yet
  let sweepIsOld = false;
  let topicsTimer = 0;
  let topicsAreOld = false;

  function change(what) {
    waiting = waiting || { set: {} };
    if (what.measure !== undefined) waiting = { set: {}, measure: what.measure };
    Object.assign(waiting.set, what.set);
    pump();
  }

  async function pump() {
    if (busy) return;
    busy = true;
    try {
      if (waiting) await updateState();
      else if (sweepIsOld) await updateSweep();
      else if (topicsAreOld) await updateTopics();
      else return;
    } finally {
      busy = false;
    }
    if (waiting || sweepIsOld || topicsAreOld) pump();
  }

  async function answered(request) {
    try {
      return await ask({ measure: page.state.measure.text, ...edits, ...request });
    } catch (error) {
      return { error: `No answer: ${error.message || error}. Is the program that started this page still running?` };
    }
  }

  async function updateState() {
    const { set, measure } = waiting;
    waiting = null;
    const before = page.state;
    const answer = await answered({ want: "state", set, ...(measure === undefined ? {} : { measure }) });
    message.textContent = answer.error || "";
    if (answer.error) {
      if (!waiting) showControls();
      return;
    }
    page.state = answer;
    const path = Object.keys(set).join();
    const sameSweep = path === sweepPath && before.topic === answer.topic && measure === undefined;
    if (sameSweep && page.sweep) page.sweep.now = control(sweepPath).value;
    else sweepIsOld = true;
    if (page.topics && before.measure.text !== answer.measure.text) {
      clearTimeout(topicsTimer);
      topicsTimer = setTimeout(() => {
        topicsAreOld = true;
        pump();
      }, 300);
    }
    show();
  }

  async function updateSweep() {
    sweepIsOld = false;
    const sliders = page.state.controls.filter((one) => one.sweep).map((one) => one.path);
    if (!sliders.includes(sweepPath)) sweepPath = sliders[0] || null;
    if (!sweepPath) page.sweep = null;
    else {
      const answer = await answered({ want: "sweep", sweep: sweepPath });
      if (!waiting) page.sweep = answer;
    }
    showSweep();
  }

  async function updateTopics() {
    topicsAreOld = false;
    page.topics = await answered({ want: "topics" });
    showTopics();
  }

  function control(path) {
    return page.state.controls.find((one) => one.path === path);
  }

  // ---- the page

  const users = element("ul", { class: "cwla-users" });
  const message = element("p", { class: "cwla-error", role: "alert" });
  const choice = element("div", { class: "cwla-measure" });
  const text = element("input", {
    type: "text", id: `${ids}text`, class: "cwla-text", spellcheck: "false", autocomplete: "off", readonly: !live,
    onkeydown: (event) => event.key === "Enter" && useText(),
  });
  const copied = element("span", { class: "cwla-small", role: "status" });
  const sliders = element("div", { class: "cwla-sliders" });
  const choices = element("div", { class: "cwla-choices" });
  const scores = element("div", { class: "cwla-scores" });
  const spoken = element("p", { class: "cwla-unseen", "aria-live": "polite" });
  const difference = element("p", { class: "cwla-difference" });
  const notes = element("ul", { class: "cwla-notes" });
  const about = element("p", { class: "cwla-about" });
  const rankAnswer = element("div", { class: "cwla-answer", "aria-live": "polite" });
  const rankField = element("input", {
    type: "number", id: `${ids}rank`, min: 1, step: 1,
    oninput: () => selectRank(Number(rankField.value)),
  });
  const axis = element("div", { class: "cwla-axis" });
  const charts = element("div", { class: "cwla-charts" });
  const tables = element("div", { class: "cwla-tables" });
  const sweepChoice = element("div", { class: "cwla-measure" });
  const sweepBody = element("div", { class: "cwla-sweep" });
  const topics = element("section", { class: "cwla-topics", hidden: !start.topics });
  const reset = element("button", { type: "button", hidden: true, onclick: undo }, "Undo all changes of grades and order");

  function section(title, ...children) {
    return element("section", {}, element("h2", {}, title), ...children);
  }

  function build() {
    root.classList.add("cwla-explorer");
    root.replaceChildren(
      start.note ? element("p", { class: "cwla-note" }, start.note) : null || "",
      section("The measure", choice, measureText(), message, users),
      section("Parameters", sliders, element("details", { class: "cwla-five" }, element("summary", {}, "The five choices of the measure"), choices)),
      section("Scores", about, scores, difference, spoken, notes),
      section("Users, rank by rank", axis, charts),
      section("What happens at one rank?", element("p", { class: "cwla-field" }, element("label", { for: `${ids}rank` }, "Rank "), rankField), rankAnswer),
      section("Documents", live ? element("p", { class: "cwla-small" }, "Click a grade to change it. Drag a row, or use its arrows, to move a document.") : "", reset, tables),
      section("Which value of a parameter favours which ranking?", sweepChoice, sweepBody),
      topics,
    );
    rankField.value = page.rank;
  }

  function measureText() {
    const buttons = [
      live ? element("button", { type: "button", onclick: useText }, "Use") : null,
      element("button", { type: "button", onclick: copyText }, "Copy"),
    ];
    const label = live ? "As text, to copy or to change" : "As text, to copy";
    return element("p", { class: "cwla-field" }, element("label", { for: `${ids}text` }, label), text, ...buttons, copied);
  }

  function useText() {
    change({ measure: text.value });
  }

  async function copyText() {
    try {
      await navigator.clipboard.writeText(text.value);
      copied.textContent = "Copied.";
    } catch {
      text.select(); // the browser does not let pages write to the clipboard
      copied.textContent = "Press Ctrl+C to copy.";
    }
  }

  function undo() {
    edits.grades = {};
    edits.orders = {};
    change({});
  }

  function show() {
    const { state } = page;
    users.replaceChildren(...state.measure.sentences.map((sentence) => element("li", {}, sentence)));
    showControls();
    about.textContent = state.about ? `Topic ${state.topic}: ${state.about}` : start.topics ? `Topic ${state.topic}` : "";
    reset.hidden = !state.edited;
    showScores();
    notes.replaceChildren(...state.notes.map((note) => element("li", {}, note)));
    showAxis();
    showCharts();
    showTables();
    showRank();
    showSweep();
  }

  // ---- controls

  let shownControls = "";

  function showControls() {
    const { controls, measure } = page.state;
    if (document.activeElement !== text || !live) text.value = measure.text;
    else if (!message.textContent) text.value = measure.text;
    const kind = JSON.stringify(controls.map((one) => [one.path, one.kind, one.options]));
    if (kind !== shownControls) {
      shownControls = kind;
      const of = (group) => controls.filter((one) => one.group === group);
      choice.replaceChildren(...of("measure").map(field));
      sliders.replaceChildren(...of("parameters").map(field));
      if (!of("parameters").length) sliders.append(element("p", {}, "This measure has no parameters."));
      choices.replaceChildren(...of("choices").map(field));
      choices.parentElement.hidden = !of("choices").length;
    }
    controls.forEach(setField);
  }

  function field(one) {
    const id = `${ids}${one.path}`;
    const input = one.kind === "number" ? slider(one, id) : one.kind === "choice" ? select(one, id) : textField(one, id);
    const says = element("p", { class: "cwla-small", id: `${id}-says` });
    return element("div", { class: "cwla-control", "data-path": one.path }, element("label", { for: id }, one.label), input, says);
  }

  function slider(one, id) {
    const range = element("input", {
      type: "range", id, min: 0, step: 1, "aria-describedby": `${id}-says`,
      oninput: () => set(one.path, control(one.path).steps[range.value]),
    });
    const exact = element("input", {
      type: "text", inputmode: "decimal", class: "cwla-exact", "aria-label": `${one.label}, exact value`, readonly: !live,
      onchange: () => set(one.path, exact.value),
    });
    return element("div", { class: "cwla-range" }, range, exact);
  }

  function select(one, id) {
    const options = one.options.map((option) => element("option", { value: option.value }, option.label));
    const list = element("select", { id, "aria-describedby": `${id}-says`, onchange: () => set(one.path, list.value) }, options);
    return list;
  }

  function textField(one, id) {
    const input = element("input", { type: "text", id, readonly: !live, "aria-describedby": `${id}-says`, onchange: () => set(one.path, input.value) });
    return input;
  }

  function set(path, value) {
    change({ set: { [path]: value } });
  }

  function setField(one) {
    const box = [...root.querySelectorAll("[data-path]")].find((node) => node.dataset.path === one.path);
    if (!box) return;
    const moving = waiting && one.path in waiting.set; // the user has moved it further already
    const shown = one.value === "" ? "none" : one.value;
    if (one.kind === "number") {
      const [range, exact] = box.querySelectorAll("input");
      range.max = one.steps.length - 1;
      if (!moving) range.value = one.at;
      range.setAttribute("aria-valuetext", shown);
      if (document.activeElement !== exact || !moving) exact.value = one.value;
      exact.placeholder = "none";
    } else if (!moving) {
      box.querySelector("select, input").value = one.value;
    }
    const range = one.range ? `Range: ${one.range}. ` : "";
    box.querySelector(".cwla-small").textContent = range + (one.says || "");
  }

  // ---- scores

  let shownScores = "";

  function showScores() {
    const { rankings } = page.state;
    const kind = JSON.stringify(rankings.map((one) => [one.name, one.totals.map((total) => total.label)]));
    if (kind !== shownScores) {
      shownScores = kind;
      scores.replaceChildren(...rankings.map(score));
    }
    const highest = Math.max(1e-9, ...rankings.map((one) => Math.max(number(one.score), number(one.upper) || 0)));
    const most = highest > 0.5 && highest <= 1 ? 1 : highest;
    rankings.forEach((one, at) => setScore(scores.children[at], one, most));
    difference.textContent = page.state.difference ? page.state.difference.sentence : "";
    spoken.textContent = rankings.map((one) => `${one.name}: ${one.score}`).join("; ");
  }

  function score(one, at) {
    const bar = drawn(
      "svg", { viewBox: "0 0 300 14", class: "cwla-bar", "aria-hidden": "true", preserveAspectRatio: "none" },
      drawn("rect", { width: 300, height: 14, class: "cwla-empty" }),
      drawn("rect", { height: 14, class: `cwla-fill${at} cwla-faint` }),
      drawn("rect", { height: 14, class: `cwla-fill${at}` }),
    );
    const totals = one.totals.map((total) => element("div", {}, element("dt", {}, total.label), element("dd", {})));
    return element(
      "div", { class: "cwla-score" },
      element("h3", {}, mark(at), element("bdi", {}, one.name)),
      element("p", { class: "cwla-number", "data-score": at }),
      bar,
      element("p", { class: "cwla-small cwla-upper" }),
      element("p", { class: "cwla-mean" }),
      element("p", { class: "cwla-small cwla-beyond" }),
      element("details", {}, element("summary", {}, "Means over users"), element("dl", {}, totals)),
    );
  }

  function setScore(box, one, most) {
    const wide = (value) => Math.max(0, (300 * number(value)) / most) || 0;
    const [, faint, full] = box.querySelectorAll("rect");
    faint.setAttribute("width", wide(one.upper));
    full.setAttribute("width", wide(one.score));
    const say = (name, says) => (box.querySelector(name).textContent = says);
    say(".cwla-number", one.score);
    say(".cwla-upper", one.upper ? `Up to ${one.upper} if all documents without a judgment, and those below the list, had the best gain (pale bar).` : "");
    say(".cwla-mean", one.sentence);
    say(".cwla-beyond", number(one.beyond) === 0 ? "" : `${one.beyond} of the score comes from below the last document.`);
    box.querySelectorAll("dd").forEach((cell, i) => (cell.textContent = one.totals[i].value));
  }

  function mark(at) {
    const line = drawn("line", { x1: 0, x2: 22, y1: 6, y2: 6, class: `cwla-line${at}` });
    return drawn("svg", { viewBox: "0 0 22 12", class: "cwla-mark", "aria-hidden": "true" }, line);
  }

  // ---- charts

  function showAxis() {
    axis.hidden = !page.state.timed;
    if (!page.state.timed) page.axis = "rank";
    const names = { rank: "ranks", effort: page.state.unit };
    const radios = Object.entries(names).map(([value, name]) => {
      const radio = element("input", { type: "radio", name: `${ids}axis`, value, onchange: () => { page.axis = value; showCharts(); } });
      radio.checked = page.axis === value;
      return element("label", {}, radio, ` ${name}`);
    });
    if (axis.dataset.unit === page.state.unit) return;
    axis.dataset.unit = page.state.unit;
    axis.replaceChildren(element("fieldset", {}, element("legend", {}, "Horizontal axis"), radios));
  }

  /* Ranks that a chart shows: those that at least 1 % of the users see, at least 10. */
  function depth() {
    const seen = page.state.rankings.map((one) => {
      const last = one.columns.V.findLastIndex((V) => number(V) >= 0.01) + 1;
      return Math.min(one.shown, Math.max(10, last));
    });
    return Math.max(...seen);
  }

  function showCharts() {
    const last = depth();
    const byTime = page.axis === "effort";
    const { rankings, unit, timed } = page.state;
    const cut = (one, name) => one.columns[name].slice(0, last).map(number);
    const along = (one, name = "T") => (byTime ? cut(one, name) : cut(one, "rank"));
    const x = byTime ? `${unit} before the document` : "rank";
    const series = (name, kind, where = "T") => rankings.map((one, at) => ({ name: one.name, at, kind, xs: along(one, where), ys: cut(one, name) }));
    const drawings = [
      chart("Share of users who see each rank (V)", x, series("V", "line"), 1),
      chart("Share of users who stop at each rank (L)", x, series("L", "bars")),
      chart("What each rank adds to the score", x, series("adds", "bars")),
      chart("Gain of a user who reads so far (G)", byTime ? `${unit} after the document` : "rank", series("G", "line", "end")),
    ];
    if (timed) {
      const time = rankings.map((one, at) => ({ name: one.name, at, kind: "line", xs: cut(one, "rank"), ys: cut(one, "T") }));
      drawings.push(chart(`${unit[0].toUpperCase()}${unit.slice(1)} before each rank (T)`, "rank", time));
    }
    if (rankings.some((one) => one.columns.discount.some((value) => value !== null))) {
      drawings.push(chart("Weight of a gain at each rank (discount)", x, series("discount", "line")));
    }
    charts.replaceChildren(...drawings);
  }

  function chart(title, xLabel, series, highest) {
    const points = series.flatMap((one) => one.xs.map((x, i) => [x, one.ys[i]])).filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y));
    const frame = frameOf(points, series.some((one) => one.kind === "bars"), highest);
    const svg = drawn("svg", { viewBox: `0 0 ${frame.width} ${frame.height}`, role: "img", "aria-label": `${title}, by ${xLabel}. ${spokenSeries(series)}` });
    axes(svg, frame, xLabel);
    series.forEach((one) => (one.kind === "bars" ? bars(svg, frame, one, series.length) : line(svg, frame, one)));
    if (series.length > 1) names(svg, frame, series);
    return element("figure", {}, element("figcaption", {}, title), svg);
  }

  function spokenSeries(series) {
    return series.map((one) => `${one.name}: ${one.ys.slice(0, 5).join(", ")} …`).join(" ");
  }

  function frameOf(points, isBars, highest) {
    const wide = Math.max(280, Math.min(460, root.clientWidth - 40 || 460));
    const frame = { width: wide, height: 230, left: 48, right: 14, top: 26, bottom: 40 };
    const xs = points.map(([x]) => x);
    const ys = points.map(([, y]) => y);
    frame.x = spread(isBars ? Math.min(0.5, ...xs) : Math.min(...xs), isBars ? Math.max(...xs) + 0.5 : Math.max(...xs));
    frame.y = spread(Math.min(0, ...ys), highest || Math.max(...ys));
    return withScales(frame);
  }

  function spread(low, high) {
    if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
    return high > low ? [low, high] : [low, low + 1];
  }

  function withScales(frame) {
    const scale = ([low, high], from, to) => (value) => from + ((value - low) / (high - low)) * (to - from);
    frame.sx = scale(frame.x, frame.left, frame.width - frame.right);
    frame.sy = scale(frame.y, frame.height - frame.bottom, frame.top);
    return frame;
  }

  function axes(svg, frame, xLabel, xTicks) {
    for (const tick of ticks(frame.y, 4)) {
      svg.append(
        drawn("line", { x1: frame.left, x2: frame.width - frame.right, y1: frame.sy(tick), y2: frame.sy(tick), class: "cwla-grid" }),
        drawn("text", { x: frame.left - 6, y: frame.sy(tick) + 4, "text-anchor": "end" }, label(tick)),
      );
    }
    for (const [x, name] of xTicks || ticks(frame.x, 5).map((tick) => [tick, label(tick)])) {
      const anchor = frame.sx(x) + 4 * name.length > frame.width ? "end" : "middle";
      const shift = anchor === "end" ? frame.right - 2 : 0;
      svg.append(drawn("text", { x: frame.sx(x) + shift, y: frame.height - frame.bottom + 16, "text-anchor": anchor }, name));
    }
    svg.append(drawn("text", { x: (frame.left + frame.width - frame.right) / 2, y: frame.height - 6, "text-anchor": "middle" }, xLabel));
  }

  /* Round values within a range, for the ticks of an axis. */
  function ticks([low, high], about) {
    const rough = (high - low) / about;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * ([1, 2, 5].find((times) => times * power >= rough) || 10);
    const found = [];
    for (let tick = Math.ceil(low / step); tick * step <= high + step * 1e-6; tick += 1) found.push(tick * step);
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

  function bars(svg, frame, { xs, ys, at }, of) {
    const gaps = xs.slice(1).map((x, i) => x - xs[i]).filter((gap) => gap > 0);
    const room = frame.sx(frame.x[0] + Math.min(1e9, ...gaps, frame.x[1] - frame.x[0])) - frame.left;
    const width = Math.max(1.5, Math.min(16, (0.8 * room) / of));
    xs.forEach((x, i) => {
      if (!Number.isFinite(ys[i])) return;
      const y = frame.sy(Math.max(0, ys[i]));
      const height = Math.abs(frame.sy(ys[i]) - frame.sy(0));
      svg.append(drawn("rect", { x: frame.sx(x) + (at - of / 2) * width, y, width: width * 0.9, height, class: `cwla-fill${at}` }));
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

  // ---- one rank

  function selectRank(rank) {
    page.rank = rank;
    showRank();
  }

  function showRank() {
    const { rankings } = page.state;
    rankField.max = Math.max(...rankings.map((one) => one.shown));
    const sentences = rankings.map((one, at) => {
      const known = Number.isInteger(page.rank) && page.rank >= 1 && page.rank <= one.shown;
      const says = known ? one.says[page.rank - 1] : `Choose a rank from 1 to ${one.shown}.`;
      return element("p", {}, mark(at), element("b", {}, element("bdi", {}, one.name), ": "), says);
    });
    rankAnswer.replaceChildren(...sentences);
    for (const row of tables.querySelectorAll("tbody tr")) row.classList.toggle("cwla-chosen", Number(row.dataset.rank) === page.rank);
  }

  // ---- tables of documents

  const COLUMNS = [
    ["V", "see it (V)"], ["L", "stop there (L)"], ["adds", "adds to score"], ["gain", "gain"], ["T", "before it (T)"],
    ["W", "share of attention (W)"], ["C", "go on (C)"], ["discount", "discount"], ["A", "value if stopping (A)"],
  ];
  let shownTables = "";

  function showTables() {
    const { rankings } = page.state;
    const kind = JSON.stringify([page.state.unit, page.state.timed, rankings.map((one) => [one.name, one.columns.id])]);
    if (kind !== shownTables) {
      shownTables = kind;
      const focus = focusedPlace();
      tables.replaceChildren(...rankings.map(table));
      if (focus) refocus(focus);
    }
    rankings.forEach((one, at) => setCells(tables.children[at], one));
  }

  function columns() {
    return COLUMNS.filter(([name]) => name !== "T" || page.state.timed);
  }

  function table(one, at) {
    const heads = ["rank", "document", "grade", live ? "move" : null, ...columns().map(([name, head]) => (name === "T" ? `${page.state.unit} ${head}` : head))];
    const head = element("tr", {}, heads.filter(Boolean).map((name) => element("th", { scope: "col" }, name)));
    const rows = one.columns.id.map((id, i) => row(one, at, id, i));
    const more = one.ranks > one.shown ? element("p", { class: "cwla-small" }, `The first ${one.shown} of ${one.ranks} documents are shown; all of them count.`) : null;
    const caption = element("caption", {}, mark(at), element("bdi", {}, one.name));
    const frame = element("div", { class: "cwla-scrolls", tabindex: 0, role: "region", "aria-label": `Documents of ${one.name}` }, element("table", {}, caption, element("thead", {}, head), element("tbody", {}, rows)));
    return element("div", { class: "cwla-table" }, frame, more);
  }

  function row(one, at, id, i) {
    const shown = element("bdi", { class: "cwla-id" }, id);
    const given = one.columns.text ? element("span", { class: "cwla-small cwla-snippet", title: one.columns.text[i] }, one.columns.text[i]) : null;
    const grade = live ? element("button", { type: "button", class: "cwla-grade", onclick: () => nextGrade(at, i) }) : element("span", { class: "cwla-grade" });
    const cells = columns().map(([name]) => element("td", { class: "cwla-value", "data-name": name }));
    const move = live ? element("td", { class: "cwla-move" }, mover(at, i, -1, "up", "↑"), mover(at, i, 1, "down", "↓")) : null;
    const made = element("tr", { "data-rank": i + 1, draggable: live ? "true" : false, onclick: () => pick(i + 1), onfocusin: () => pick(i + 1) },
      element("th", { scope: "row" }, String(i + 1)), element("td", {}, shown, given), element("td", {}, grade), move, cells);
    if (live) makeDraggable(made, at, i);
    return made;
  }

  function pick(rank) {
    rankField.value = rank;
    selectRank(rank);
  }

  function mover(at, i, by, way, arrow) {
    const { name, columns: { id } } = page.state.rankings[at];
    const last = i + by < 0 || i + by >= id.length;
    return element("button", { type: "button", "data-way": way, "aria-label": `Move ${id[i]} ${way} in ${name}`, disabled: last, onclick: () => moveTo(at, i, i + by) }, arrow);
  }

  function makeDraggable(made, at, i) {
    made.addEventListener("dragstart", (event) => {
      event.dataTransfer.setData("text/plain", `${ids}${at} ${i}`);
      event.dataTransfer.effectAllowed = "move";
    });
    made.addEventListener("dragover", (event) => event.preventDefault());
    made.addEventListener("drop", (event) => {
      event.preventDefault();
      const [from, place] = event.dataTransfer.getData("text/plain").split(" ");
      if (from === `${ids}${at}`) moveTo(at, Number(place), i);
    });
  }

  function moveTo(at, from, to) {
    const { name, columns: { id } } = page.state.rankings[at];
    const order = [...id];
    order.splice(to, 0, ...order.splice(from, 1));
    edits.orders = { ...edits.orders, [name]: order };
    moved = { at, to, way: to < from ? "up" : "down" };
    change({});
  }

  let moved = null; // the button that moves with its document

  function focusedPlace() {
    const found = moved;
    moved = null;
    return found;
  }

  function refocus({ at, to, way }) {
    const buttons = tables.children[at].querySelectorAll("tbody tr")[to].querySelectorAll(".cwla-move button");
    const button = [...buttons].find((one) => one.dataset.way === way && !one.disabled) || [...buttons].find((one) => !one.disabled);
    if (button) button.focus();
  }

  function nextGrade(at, i) {
    const { columns } = page.state.rankings[at];
    const steps = [...page.state.grades, null];
    const next = steps[(steps.indexOf(columns.grade[i]) + 1) % steps.length];
    edits.grades = { ...edits.grades, [columns.id[i]]: next === null ? null : Number(next) };
    change({});
  }

  function setCells(box, one) {
    const most = Math.max(...one.columns.adds.map(number).filter(Number.isFinite));
    box.querySelectorAll("tbody tr").forEach((made, i) => {
      const grade = one.columns.grade[i];
      const button = made.querySelector(".cwla-grade");
      button.textContent = grade === null ? "not judged" : grade;
      button.classList.toggle("cwla-unjudged", grade === null);
      if (live) button.setAttribute("aria-label", `Grade of ${one.columns.id[i]}: ${button.textContent}. Change it.`);
      for (const cell of made.querySelectorAll(".cwla-value")) {
        const { name } = cell.dataset;
        const value = one.columns[name][i];
        cell.textContent = value === null ? "–" : value;
        const share = name === "V" ? number(value) : name === "adds" && most > 0 ? number(value) / most : 0;
        if (name === "V" || name === "adds") cell.style.setProperty("--share", Math.max(0, Math.min(1, share || 0)));
      }
    });
  }

  // ---- the sweep over a parameter

  function showSweep() {
    const sliders = page.state.controls.filter((one) => one.sweep);
    sweepChoice.parentElement.hidden = !sliders.length || !page.sweep;
    if (!sliders.length || !page.sweep) return;
    const id = `${ids}sweep`;
    const list = element("select", { id, onchange: () => { sweepPath = list.value; sweepIsOld = true; pump(); } },
      sliders.map((one) => element("option", { value: one.path }, one.label)));
    if (document.activeElement !== sweepChoice.querySelector("select") || sweepChoice.dataset.paths !== sliders.map((one) => one.path).join()) {
      sweepChoice.dataset.paths = sliders.map((one) => one.path).join();
      sweepChoice.replaceChildren(element("label", { for: id }, "Parameter "), list);
    }
    sweepChoice.querySelector("select").value = page.sweep.path || sweepPath;
    if (page.sweep.error) sweepBody.replaceChildren(element("p", { class: "cwla-error" }, page.sweep.error));
    else sweepBody.replaceChildren(...sweepParts(page.sweep));
  }

  function sweepParts(sweep) {
    const both = page.state.rankings.map((one, at) => ({ name: one.name, at, ys: sweep.scores[at].map(number) }));
    const parts = [element("p", { class: "cwla-wins", "aria-live": "polite" }, sweep.sentence)];
    const shown = sweep.flips.slice(0, 12);
    if (shown.length > 1) parts.push(element("ul", { class: "cwla-small" }, shown.map((flip) => element("li", {}, flip.sentence))));
    parts.push(element("div", { class: "cwla-charts" }, sweepChart("Score", sweep, both)));
    if (sweep.difference) {
      const [first, second] = page.state.rankings.map((one) => short(one.name, 18));
      parts[parts.length - 1].append(sweepChart(`${second} minus ${first}`, sweep, [{ name: "difference", at: 2, ys: sweep.difference.map(number) }]));
    }
    return parts;
  }

  /* Values of the parameter at equal distances, as on its slider. */
  function sweepChart(title, sweep, series) {
    const xs = sweep.values.map((_, i) => i);
    const ys = series.flatMap((one) => one.ys).filter(Number.isFinite);
    const frame = frameOf(xs.map((x) => [x, 0]).concat(ys.map((y) => [0, y])), false);
    const svg = drawn("svg", { viewBox: `0 0 ${frame.width} ${frame.height}`, role: "img", "aria-label": `${title} by ${sweep.label}. ${sweep.sentence}` });
    const last = xs.length - 1;
    const at = [...new Set([0, 0.25, 0.5, 0.75, 1].map((part) => Math.round(part * last)))];
    axes(svg, frame, sweep.label, at.map((i) => [i, sweep.values[i]]));
    const mark = (x, kind) => svg.append(drawn("line", { x1: frame.sx(x), x2: frame.sx(x), y1: frame.top, y2: frame.height - frame.bottom, class: kind }));
    if (sweep.values.includes(sweep.now)) {
      mark(sweep.values.indexOf(sweep.now), "cwla-now");
      svg.append(drawn("text", { x: frame.sx(sweep.values.indexOf(sweep.now)), y: frame.height - frame.bottom - 4, "text-anchor": "middle", class: "cwla-halo" }, `now ${sweep.now}`));
    }
    if (frame.y[0] < 0) svg.append(drawn("line", { x1: frame.left, x2: frame.width - frame.right, y1: frame.sy(0), y2: frame.sy(0), class: "cwla-zero" }));
    series.forEach((one) => line(svg, frame, { ...one, xs }));
    sweep.flips.slice(0, 12).forEach((flip) => {
      const x = placeOf(flip.value, sweep.values);
      mark(x, "cwla-flip");
      svg.append(drawn("text", { x: frame.sx(x), y: frame.top - 4, "text-anchor": "middle", class: "cwla-halo" }, flip.value));
    });
    if (series.length > 1 && !sweep.flips.length) names(svg, frame, series);
    else series.forEach((one) => endName(svg, frame, one, xs, series));
    return element("figure", {}, element("figcaption", {}, title), svg);
  }

  /* Place of a value between those of the slider. */
  function placeOf(value, values) {
    const wanted = parseFloat(value);
    const above = values.findIndex((one) => Number(one) >= wanted);
    if (above <= 0) return above < 0 ? values.length - 1 : 0;
    const [low, high] = [Number(values[above - 1]), Number(values[above])];
    return above - 1 + (wanted - low) / (high - low);
  }

  function endName(svg, frame, { name, ys, at }, xs, series) {
    const last = ys.findLastIndex(Number.isFinite);
    if (last < 0 || name === "difference") return;
    const others = series.filter((one) => one.at !== at && Number.isFinite(one.ys[last])).map((one) => one.ys[last]);
    const below = others.some((y) => y > ys[last] || (y === ys[last] && at > 0));
    const y = Math.min(frame.height - frame.bottom - 16, Math.max(frame.top + 12, frame.sy(ys[last]) + (below ? 16 : -8)));
    svg.append(drawn("text", { x: frame.sx(xs[last]) - 4, y, "text-anchor": "end", class: `cwla-halo cwla-name${at}` }, short(name, 18)));
  }

  // ---- topics

  function showTopics() {
    if (!start.topics) return;
    const answer = page.topics;
    topics.hidden = false;
    if (answer.error) {
      topics.replaceChildren(element("h2", {}, "Topics"), element("p", { class: "cwla-error" }, answer.error));
      return;
    }
    const heads = ["topic", ...start.runs, answer.rows.some((one) => one.difference) ? "difference" : null].filter(Boolean);
    const rows = answer.rows.map((one) =>
      element("tr", { class: one.topic === page.state.topic ? "cwla-chosen" : "" },
        element("th", { scope: "row" }, element("button", { type: "button", "data-topic": one.topic, onclick: () => openTopic(one.topic) }, element("bdi", {}, one.topic)), one.about ? element("span", { class: "cwla-small cwla-snippet" }, one.about) : null),
        one.scores.map((value) => element("td", { class: "cwla-value" }, value)),
        one.difference ? element("td", { class: "cwla-value" }, one.difference) : null));
    const list = element("table", {}, element("thead", {}, element("tr", {}, heads.map((name) => element("th", { scope: "col" }, element("bdi", { title: name }, short(name)))))), element("tbody", {}, rows));
    const order = start.runs.length > 1 ? " Topics with the largest differences come first; your changes of grades and order are left out." : "";
    topics.replaceChildren(
      element("h2", {}, "Topics"),
      element("p", {}, answer.sentence + (live ? order : "")),
      element("div", { class: "cwla-scrolls", tabindex: 0, role: "region", "aria-label": "Topics" }, list));
  }

  function openTopic(topic) {
    edits.topic = topic;
    edits.grades = {};
    edits.orders = {};
    change({});
    for (const row of topics.querySelectorAll("tbody tr")) row.classList.toggle("cwla-chosen", row.querySelector("button").dataset.topic === topic);
  }

  build();
  show();
  showTopics();
  let width = root.clientWidth;
  const observer = new ResizeObserver(() => {
    if (Math.abs(root.clientWidth - width) < 20) return;
    width = root.clientWidth;
    showCharts();
    showSweep();
  });
  observer.observe(root);
  return () => observer.disconnect();
}
