/* The page of the explorer: draws the answers of pyterrier_cwla.explorer.Exploration, and sends requests to it.
   All numbers come as texts; this script computes nothing but positions on the screen.
   `wanted` is the end of the page's address: #measure=TBG opens it with this measure. */

function cwlaExplorer(root, start, ask, wanted) {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const live = start.mode === "live";
  const page = { state: start.state, sweep: start.sweep, topics: start.topics, axis: "rank" };
  page.rank = Math.min(10, ...start.state.rankings.map((one) => one.shown)); // of the question "What happens at one rank?"
  let edits = { topic: start.state.topic, grades: {}, orders: {} }; // replaced as a whole by each change
  let shownEdits = edits; // those of the state on the screen
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

  /* Draw a part of the page anew, and leave the focus on the element with the same id. */
  function keepingFocus(draw) {
    const focused = root.getRootNode().activeElement;
    const id = focused && root.contains(focused) ? focused.id : "";
    draw();
    if (!id || root.contains(focused)) return;
    const again = [...root.querySelectorAll("[id]")].find((one) => one.id === id);
    again?.focus({ preventScroll: true });
    again?.scrollIntoView({ block: "nearest" });
  }

  // ---- requests: one at a time; of the waiting ones only the newest is sent

  let busy = false;
  let waiting = null; // {set, measure}: changes that are not sent yet
  let sweepIsOld = false;
  let sweepTimer = 0;
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
      else if (sweepIsOld && !sweepTimer) await updateSweep();
      else if (topicsAreOld && !topicsTimer) await updateTopics();
      else return;
    } finally {
      busy = false;
    }
    pump();
  }

  /* Ask for a sweep or for topics when the user has changed nothing for a moment. */
  function sweepLater() {
    sweepIsOld = true;
    clearTimeout(sweepTimer);
    sweepTimer = setTimeout(() => { sweepTimer = 0; pump(); }, 120);
  }

  function topicsLater() {
    topicsAreOld = true;
    clearTimeout(topicsTimer);
    topicsTimer = setTimeout(() => { topicsTimer = 0; pump(); }, 300);
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
    const [before, asked, path] = [page.state, edits, Object.keys(set).join()];
    const answer = await answered({ want: "state", set, ...(measure === undefined ? {} : { measure }) });
    showError(answer.error, path);
    if (answer.error) {
      if (!waiting) refuse();
      return;
    }
    page.state = answer;
    const onlyThisParameter = path === sweepPath && asked === shownEdits && measure === undefined;
    if (onlyThisParameter && page.sweep && !sweepIsOld) page.sweep.now = control(sweepPath).value;
    else sweepLater();
    if (page.topics && before.measure.text !== answer.measure.text) topicsLater();
    shownEdits = asked;
    show();
  }

  /* Take back changes that Python refused: the page shows the last state that it has. */
  function refuse() {
    edits = shownEdits;
    showControls();
    if (page.topics) markTopic(edits.topic);
  }

  async function updateSweep() {
    sweepIsOld = false;
    const paths = page.state.controls.filter((one) => one.sweep).map((one) => one.path);
    if (!paths.includes(sweepPath)) sweepPath = paths[0] || null;
    const answer = sweepPath ? await answered({ want: "sweep", sweep: sweepPath }) : null;
    if (waiting) sweepIsOld = true; // something has changed since
    else page.sweep = answer;
    showSweep();
  }

  async function updateTopics() {
    topicsAreOld = false;
    page.topics = await answered({ want: "topics" });
    keepingFocus(showTopics);
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
  const spokenScores = element("p", { class: "cwla-unseen", "aria-live": "polite" });
  const spokenRank = element("p", { class: "cwla-unseen", "aria-live": "polite" });
  const strip = element("p", { class: "cwla-strip", "aria-hidden": "true" }); // scores beside whatever the user changes
  const difference = element("p", { class: "cwla-difference" });
  const notes = element("ul", { class: "cwla-notes" });
  const about = element("p", { class: "cwla-about" });
  const topicList = element("select", { id: `${ids}topics`, onchange: () => openTopic(topicList.value) });
  const rankAnswer = element("div", { class: "cwla-answer" });
  const rankField = element("input", {
    type: "number", id: `${ids}rank`, min: 1, step: 1,
    oninput: () => selectRank(Number(rankField.value)),
  });
  const axis = element("div", { class: "cwla-axis" });
  const charts = element("div", { class: "cwla-charts" });
  const tables = element("div", { class: "cwla-tables" });
  const sweepChoice = element("div", { class: "cwla-measure" });
  const sweepWins = element("p", { class: "cwla-wins", "aria-live": "polite" });
  const sweepBody = element("div", { class: "cwla-sweep" });
  const topics = element("section", { class: "cwla-topics", hidden: !start.topics });
  const reset = element("button", { type: "button", hidden: true, onclick: undo }, "Undo all changes of grades and order");

  function section(title, ...children) {
    return element("section", {}, element("h2", {}, title), ...children);
  }

  function build() {
    root.classList.add("cwla-explorer");
    const five = element("details", { class: "cwla-five" }, element("summary", {}, "The choices of the measure"), choices);
    const rank = element("p", { class: "cwla-field" }, element("label", { for: `${ids}rank` }, "Rank "), rankField);
    const how = "Click a grade to change it. Drag a row, or use its arrows, to move a document.";
    root.replaceChildren(
      start.note ? element("p", { class: "cwla-note" }, start.note) : "",
      section("Who is the user?", users),
      section("The measure", choice, measureText(), message),
      section("Parameters", sliders, five),
      section("Scores", topicField(), about, scores, difference, spokenScores, notes),
      section("Users, rank by rank", axis, charts),
      section("What happens at one rank?", rank, rankAnswer, spokenRank),
      section("Documents", live ? element("p", { class: "cwla-small" }, how) : "", columnMeanings(), reset, skip(), tables),
      section("Which value of a parameter favours which ranking?", sweepChoice, sweepBody),
      topics,
      strip,
    );
    rankField.value = page.rank;
  }

  const MEANINGS = [
    ["see it (V)", "share of the users who see this rank"],
    ["stop there (L)", "share of the users who stop here; with those who never stop, these shares add up to 1"],
    ["go on (C)", "share of those who see this rank who go on to the next"],
    ["share of attention (W)", "V divided by the number of documents that a user sees on average; 0 or none if that is infinite"],
    ["discount", "what a gain of 1 at this rank adds to the score while users behave the same"],
    ["value if stopping (A)", "what a user who stops here counts for in the score, after a mean effort has been divided out"],
    ["adds to score", "gain times discount; the column and what lies below the list add up to the score"],
  ];

  function columnMeanings() {
    const rows = MEANINGS.map(([name, says]) => element("div", {}, element("dt", {}, name), element("dd", {}, says)));
    return element("details", {}, element("summary", {}, "What do the columns mean?"), element("dl", { class: "cwla-meanings" }, rows));
  }

  /* Each row has three buttons: a way past them for the keyboard. */
  function skip() {
    const past = () => (sweepChoice.querySelector("select") || topics.querySelector("button") || text).focus();
    return element("button", { type: "button", class: "cwla-skip", onclick: past }, "Skip the documents");
  }

  /* A list of the topics, which on a page with computed answers are pairs of rankings. */
  function topicField() {
    if (!start.topics || start.topics.error) return "";
    topicList.append(...start.topics.rows.map(({ topic }) => element("option", { value: topic }, topic)));
    return element("p", { class: "cwla-field" }, element("label", { for: topicList.id }, live ? "Topic" : "Rankings"), topicList);
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
    edits = { ...edits, grades: {}, orders: {} };
    change({});
    tables.querySelector("button, [tabindex]").focus(); // this button disappears
  }

  /* Show an error below the control that was changed, or else below the text of the measure. */
  function showError(text, path) {
    const box = (text && path && boxOf(path)) || choice.parentElement;
    if (message.parentElement !== box) box.append(message);
    message.textContent = text || "";
  }

  function show() {
    const { state } = page;
    users.replaceChildren(...state.measure.sentences.map((sentence) => element("li", {}, sentence)));
    showControls();
    about.textContent = state.about;
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
    const typing = root.getRootNode().activeElement === text && message.textContent;
    if (!typing) text.value = measure.text;
    const kind = JSON.stringify(controls.map((one) => [one.path, one.kind, one.label, one.options]));
    if (kind !== shownControls) {
      shownControls = kind;
      keepingFocus(buildControls);
    }
    controls.forEach(setField);
  }

  function buildControls() {
    const of = (group) => page.state.controls.filter((one) => one.group === group);
    choice.replaceChildren(...of("measure").map(field));
    sliders.replaceChildren(...of("parameters").map(field));
    if (!of("parameters").length) sliders.append(element("p", {}, "This measure has no parameters."));
    choices.replaceChildren(...of("choices").map(field));
    choices.parentElement.hidden = !of("choices").length;
  }

  function boxOf(path) {
    return [...root.querySelectorAll("[data-path]")].find((node) => node.dataset.path === path);
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
    const box = boxOf(one.path);
    if (!box) return;
    const moving = waiting && one.path in waiting.set; // the user has moved it further already
    const shown = one.value === "" ? "none" : one.value;
    if (one.kind === "number") {
      const [range, exact] = box.querySelectorAll("input");
      range.max = one.steps.length - 1;
      if (!moving) range.value = one.at;
      range.setAttribute("aria-valuetext", shown);
      if (!moving) exact.value = one.value;
      exact.placeholder = "none";
    } else if (!moving) {
      box.querySelector("select, input").value = one.value;
    }
    const range = one.range ? `${inWords(one.range)}. ` : "";
    box.querySelector(".cwla-small").textContent = (one.says ? `${one.says} ` : "") + range;
  }

  /* "[0, 1)" as "Numbers from 0, below 1", for readers who do not know intervals. */
  function inWords(range) {
    const found = /^(whole number in )?([[(])(.+), (.+)([\])])$/.exec(range);
    if (!found) return `Range: ${range}`;
    const [, whole, opens, low, high, closes] = found;
    const from = opens === "[" ? `from ${low}` : `above ${low}`;
    const endless = high === "∞" || high === "10¹⁵";
    const to = endless ? (opens === "[" ? " up" : "") : closes === "]" ? `, up to ${high}` : `, below ${high}`;
    return `${whole ? "Whole numbers" : "Numbers"} ${from}${to}`;
  }

  // ---- scores

  let shownScores = "";
  let scoresTimer = 0;

  function showScores() {
    const { rankings } = page.state;
    const kind = JSON.stringify(rankings.map((one) => [one.name, one.totals.map((total) => total.label)]));
    if (kind !== shownScores) {
      shownScores = kind;
      scores.replaceChildren(...rankings.map(score));
    }
    const highest = Math.max(...rankings.flatMap((one) => [number(one.score), number(one.upper)]).filter(Number.isFinite), 0);
    const end = highest > 0.25 && highest <= 1 ? 1 : highest || 1;
    rankings.forEach((one, at) => setScore(scores.children[at], one, end));
    difference.textContent = page.state.difference ? page.state.difference.sentence : "";
    const brief = (one, at) => [mark(at), element("bdi", {}, short(one.name, 18)), " ", element("b", {}, one.score)];
    strip.replaceChildren(...rankings.map((one, at) => element("span", {}, brief(one, at))));
    const words = `${rankings.map((one) => `${one.name}: ${one.score}`).join("; ")}. ${difference.textContent}`;
    clearTimeout(scoresTimer); // while a slider moves, nothing is read out
    scoresTimer = setTimeout(() => { if (spokenScores.textContent !== words) spokenScores.textContent = words; }, 300);
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
    const beyond = [
      number(one.beyond) ? `${one.beyond} of the score comes from below the last document (rank ${one.ranks}).` : "",
      parseFloat(one.seen_beyond) ? `${one.seen_beyond} of the users go on below the last document (rank ${one.ranks}).` : "",
    ];
    say(".cwla-beyond", beyond.join(" ").trim());
    box.querySelectorAll("dd").forEach((cell, i) => (cell.textContent = one.totals[i].value));
  }

  function mark(at) {
    const line = drawn("line", { x1: 0, x2: 22, y1: 6, y2: 6, class: `cwla-line${at}` });
    return drawn("svg", { viewBox: "0 0 22 12", class: "cwla-mark", "aria-hidden": "true" }, line);
  }

  // ---- charts

  let width = root.clientWidth; // asked for again only if it changes, since the browser computes the layout for it

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

  /* Ranks that a chart shows: those that at least 2 % of the users see, at least 10. */
  function depth() {
    const seen = page.state.rankings.map((one) => {
      const last = one.columns.V.findLastIndex((V) => number(V) >= 0.02) + 1;
      return Math.min(one.shown, Math.max(10, last));
    });
    return Math.max(...seen);
  }

  function showCharts() {
    const last = depth();
    const byTime = page.axis === "effort";
    const { rankings, unit, timed } = page.state;
    const cut = (one, name) => one.columns[name].slice(0, last).map(number);
    const series = (name, kind, x) =>
      rankings.map((one, at) => ({ name: one.name, at, kind, xs: cut(one, x), ys: cut(one, name) }));
    const before = byTime ? ["T", `${unit} before the document`] : ["rank", "rank"];
    const after = byTime ? ["end", `${unit} after the document`] : ["rank", "rank"];
    const drawings = [
      chart("Who sees each rank? (V)", before, series("V", "line", before[0]), { highest: 1, percent: true }),
      chart("Who stops there? (L)", before, series("L", "bars", before[0]), { percent: true }),
      chart("What does each rank add to the score?", before, series("adds", "bars", before[0]), {}),
      chart("Gain of a user who reads so far (G)", after, series("G", "line", after[0]), {}),
    ];
    if (timed) drawings.push(chart(`${unit[0].toUpperCase()}${unit.slice(1)} before each rank (T)`, ["rank", "rank"], series("T", "line", "rank"), {}));
    if (rankings.some((one) => one.columns.discount.some((value) => value !== null))) {
      drawings.push(chart("Weight of a gain at each rank (discount)", before, series("discount", "line", before[0]), {}));
    }
    charts.replaceChildren(...drawings);
    markRank();
  }

  function chart(title, [column, xLabel], series, { highest, percent }) {
    const points = series.flatMap((one) => one.xs.map((x, i) => [x, one.ys[i]])).filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y));
    const frame = frameOf(points, series.some((one) => one.kind === "bars"), highest);
    const name = `${title}, by ${xLabel}. ${spokenSeries(series)}`;
    const svg = drawn("svg", { viewBox: `0 0 ${frame.width} ${frame.height}`, role: "img", "aria-label": name });
    const at = column === "rank" ? [...new Set([1, ...ticks(frame.x, 5)])].filter((tick) => Number.isInteger(tick) && tick > 0) : ticks(frame.x, 5);
    axes(svg, frame, xLabel, at.map((tick) => [tick, label(tick)]), percent);
    series.forEach((one) => (one.kind === "bars" ? bars(svg, frame, one, series.length) : line(svg, frame, one)));
    if (series.length > 1) names(svg, frame, series);
    if (column === "rank") rankLine(svg, frame);
    return element("figure", {}, element("figcaption", {}, title), svg);
  }

  /* A line at the chosen rank; a click on the chart chooses another. */
  function rankLine(svg, frame) {
    const marked = drawn("line", { y1: frame.top, y2: frame.height - frame.bottom, class: "cwla-now" });
    svg.append(marked);
    svg.markRank = () => {
      marked.setAttribute("visibility", page.rank >= frame.x[0] && page.rank <= frame.x[1] ? "visible" : "hidden");
      marked.setAttribute("x1", frame.sx(page.rank) || 0);
      marked.setAttribute("x2", frame.sx(page.rank) || 0);
    };
    svg.classList.add("cwla-picks");
    svg.addEventListener("click", (event) => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * frame.width;
      const rank = frame.x[0] + ((x - frame.left) / (frame.width - frame.right - frame.left)) * (frame.x[1] - frame.x[0]);
      pick(Math.max(1, Math.min(Math.floor(frame.x[1]), Math.round(rank))));
    });
  }

  function markRank() {
    for (const svg of charts.querySelectorAll(".cwla-picks")) svg.markRank();
  }

  function spokenSeries(series) {
    return series.map((one) => `${one.name}: ${one.ys.slice(0, 5).join(", ")} …`).join(" ");
  }

  function frameOf(points, isBars, highest, top = 26) {
    const wide = Math.max(280, Math.min(460, width - 40 || 460));
    const frame = { width: wide, height: 230, left: 48, right: 14, top, bottom: 40 };
    const xs = points.map(([x]) => x);
    const ys = points.map(([, y]) => y);
    frame.x = spread(isBars ? Math.min(0.5, ...xs) : Math.min(...xs), isBars ? Math.max(...xs) + 0.5 : Math.max(...xs));
    frame.y = spread(Math.min(0, ...ys), highest || Math.max(0, ...ys));
    if (!highest) frame.y = frame.y.map((end, i) => upToTick(end, tickStep(frame.y, 4), i ? Math.ceil : Math.floor));
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

  function bars(svg, frame, { xs, ys, at }, of) {
    const gaps = xs.slice(1).map((x, i) => x - xs[i]).filter((gap) => gap > 0);
    const room = frame.sx(frame.x[0] + Math.min(1e9, ...gaps, frame.x[1] - frame.x[0])) - frame.left;
    const width = Math.max(1, Math.min(16, (0.85 * room) / of));
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
    if (rank === page.rank) return;
    page.rank = rank;
    showRank();
    markRank();
    spokenRank.textContent = page.state.rankings.map((one) => `${one.name}: ${saysOf(one)}`).join(" ");
  }

  function pick(rank) {
    rankField.value = rank;
    selectRank(rank);
  }

  function saysOf(one) {
    const known = Number.isInteger(page.rank) && page.rank >= 1 && page.rank <= one.shown;
    return known ? one.says[page.rank - 1] : `Choose a rank from 1 to ${one.shown}.`;
  }

  function showRank() {
    const { rankings } = page.state;
    rankField.max = Math.max(...rankings.map((one) => one.shown));
    const sentence = (one, at) => element("p", {}, mark(at), element("b", {}, element("bdi", {}, one.name), ": "), saysOf(one));
    rankAnswer.replaceChildren(...rankings.map(sentence));
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
    const kind = JSON.stringify([page.state.unit, page.state.timed, rankings.map((one) => [one.name, one.ranks, one.columns.id])]);
    if (kind !== shownTables) {
      shownTables = kind;
      const scrolled = [...tables.querySelectorAll(".cwla-scrolls")].map((frame) => frame.scrollTop);
      keepingFocus(() => {
        tables.replaceChildren(...rankings.map(table));
        tables.querySelectorAll(".cwla-scrolls").forEach((frame, at) => (frame.scrollTop = scrolled[at] || 0));
      });
    }
    rankings.forEach((one, at) => setCells(tables.children[at], one));
  }

  function columns() {
    return COLUMNS.filter(([name]) => name !== "T" || page.state.timed);
  }

  function table(one, at) {
    const names = ["rank", "document", "grade", ...(live ? ["move"] : [])];
    const heads = names.map((name) => element("th", { scope: "col" }, name));
    const values = columns().map(([name, head]) =>
      element("th", { scope: "col", class: "cwla-value" }, name === "T" ? `${page.state.unit} ${head}` : head));
    const rows = one.columns.id.map((id, i) => row(one, at, id, i));
    const caption = element("caption", {}, mark(at), element("bdi", {}, one.name));
    const list = element("table", {}, caption, element("thead", {}, element("tr", {}, heads, values)), element("tbody", {}, rows));
    const more = `The first ${one.shown} of ${one.ranks} documents are shown; all of them count.`;
    return element(
      "div", { class: "cwla-table" },
      scrolling(`Documents of ${one.name}`, `${ids}documents-${at}`, list),
      one.ranks > one.shown ? element("p", { class: "cwla-small" }, more) : null,
    );
  }

  /* A frame in which a table can be scrolled, also with the keyboard. */
  function scrolling(name, id, shown) {
    return element("div", { class: "cwla-scrolls", id, tabindex: 0, role: "region", "aria-label": name }, shown);
  }

  function row(one, at, id, i) {
    const text = one.columns.text ? one.columns.text[i] : "";
    const given = text ? element("span", { class: "cwla-small cwla-snippet", title: text }, text) : null;
    const button = { type: "button", id: `${ids}grade-${at}-${id}`, class: "cwla-grade", onclick: () => nextGrade(at, i) };
    const grade = live ? element("button", button) : element("span", { class: "cwla-grade" });
    const chosen = () => pick(i + 1);
    const reached = (event) => event.target.matches(":focus-visible") && chosen(); // by the keyboard: a click chooses later
    const made = element(
      "tr", { "data-rank": i + 1, draggable: live ? "true" : false, onclick: chosen, onfocusin: reached },
      element("th", { scope: "row" }, String(i + 1)),
      element("td", { class: given ? "cwla-wide" : null }, element("bdi", { class: "cwla-id" }, id), given),
      element("td", {}, grade),
      live ? element("td", { class: "cwla-move" }, mover(at, i, -1), mover(at, i, 1)) : null,
      columns().map(([name]) => element("td", { class: "cwla-value", "data-name": name })),
    );
    if (live) makeDraggable(made, at, i);
    return made;
  }

  /* A button that moves a document; its id is that of the document, so that the focus moves along. */
  function mover(at, i, by) {
    const { name, columns: { id } } = page.state.rankings[at];
    const [way, arrow] = by < 0 ? ["up", "↑"] : ["down", "↓"];
    const none = i + by < 0 || i + by >= id.length;
    return element("button", {
      type: "button", id: `${ids}${way}-${at}-${id[i]}`, "data-way": way, "aria-label": `Move ${id[i]} ${way} in ${name}`,
      "aria-disabled": none ? "true" : null, onclick: () => none || moveDocument(at, id[i], (place) => place + by),
    }, arrow);
  }

  function makeDraggable(made, at, i) {
    const { id } = page.state.rankings[at].columns;
    made.addEventListener("dragstart", (event) => {
      event.dataTransfer.setData("text/plain", `${ids}${at} ${i}`);
      event.dataTransfer.effectAllowed = "move";
    });
    made.addEventListener("dragover", (event) => {
      event.preventDefault();
      made.classList.add("cwla-over");
    });
    made.addEventListener("dragleave", () => made.classList.remove("cwla-over"));
    made.addEventListener("drop", (event) => {
      event.preventDefault();
      made.classList.remove("cwla-over");
      const [from, place] = event.dataTransfer.getData("text/plain").split(" ");
      if (from === `${ids}${at}`) moveDocument(at, id[place], (_, order) => order.indexOf(id[i]));
    });
  }

  /* Move a document to a place that is computed from its place and the order, which may still be on its way. */
  function moveDocument(at, id, toPlace) {
    const { name, columns } = page.state.rankings[at];
    const stored = edits.orders[name] || [];
    const shown = new Set(columns.id); // a cutoff or judged_only hides documents, which keep their places
    const all = [...stored, ...columns.id.filter((one) => !stored.includes(one))];
    const order = all.filter((one) => shown.has(one));
    const from = order.indexOf(id);
    if (from < 0) return;
    const to = Math.max(0, Math.min(order.length - 1, toPlace(from, order)));
    order.splice(to, 0, ...order.splice(from, 1));
    const next = order.values();
    edits = { ...edits, orders: { ...edits.orders, [name]: all.map((one) => (shown.has(one) ? next.next().value : one)) } };
    pick(to + 1);
    change({});
  }

  function nextGrade(at, i) {
    const { columns } = page.state.rankings[at];
    const id = columns.id[i];
    const steps = [...page.state.grades.map(Number), null];
    const now = id in edits.grades ? edits.grades[id] : columns.grade[i] === null ? null : Number(columns.grade[i]);
    edits = { ...edits, grades: { ...edits.grades, [id]: steps[(steps.indexOf(now) + 1) % steps.length] } };
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
    const paths = page.state.controls.filter((one) => one.sweep);
    sweepChoice.parentElement.hidden = !paths.length || !page.sweep;
    if (sweepChoice.parentElement.hidden) return;
    const kind = JSON.stringify(paths.map((one) => [one.path, one.label]));
    if (sweepChoice.dataset.kind !== kind) {
      sweepChoice.dataset.kind = kind;
      keepingFocus(() => buildSweepChoice(paths));
    }
    sweepChoice.querySelector("select").value = sweepPath || page.sweep.path;
    sweepBody.classList.toggle("cwla-old", sweepIsOld);
    if (page.sweep.error) sweepBody.replaceChildren(element("p", { class: "cwla-error" }, page.sweep.error));
    else if (page.sweep.scores.length === page.state.rankings.length) sweepBody.replaceChildren(...sweepParts(page.sweep));
  }

  function buildSweepChoice(paths) {
    const id = `${ids}sweep`;
    const options = paths.map((one) => element("option", { value: one.path }, one.label));
    const list = element("select", { id, onchange: () => { sweepPath = list.value; sweepIsOld = true; pump(); } }, options);
    sweepChoice.replaceChildren(element("label", { for: id }, "Parameter "), list);
  }

  function sweepParts(sweep) {
    const both = page.state.rankings.map((one, at) => ({ name: one.name, at, ys: sweep.scores[at].map(number) }));
    const drawings = [sweepChart("Score", sweep, both)];
    if (sweep.difference) {
      const [first, second] = both.map((one) => short(one.name, 18));
      const gap = { name: "difference", at: 2, ys: sweep.difference.map(number), above: second, below: first };
      drawings.push(sweepChart(`Difference: ${second} minus ${first}`, sweep, [gap]));
    }
    const flips = sweep.flips.length > 1 ? sweep.flips.slice(0, 12) : [];
    const more = sweep.flips.length > 12 ? [`… and ${sweep.flips.length - 12} more.`] : [];
    if (sweepWins.textContent !== sweep.sentence) sweepWins.textContent = sweep.sentence;
    return [
      sweepWins,
      flips.length ? element("ul", { class: "cwla-small" }, [...flips.map((flip) => flip.sentence), ...more].map((says) => element("li", {}, says))) : "",
      element("div", { class: "cwla-charts" }, drawings),
    ];
  }

  /* Values of the parameter stand at equal distances, as on its slider. */
  function sweepChart(title, sweep, series) {
    const xs = sweep.values.map((_, i) => i);
    const ys = series.flatMap((one) => one.ys).filter(Number.isFinite);
    const frame = frameOf(xs.map((x) => [x, 0]).concat(ys.map((y) => [0, y])), false, undefined, 42);
    const name = `${title} by ${sweep.label}. ${sweep.sentence}`;
    const svg = drawn("svg", { viewBox: `0 0 ${frame.width} ${frame.height}`, role: "img", "aria-label": name });
    const last = xs.length - 1;
    const at = [...new Set([0, 0.25, 0.5, 0.75, 1].map((part) => Math.round(part * last)))];
    axes(svg, frame, sweep.label, at.map((i) => [i, sweep.values[i]]));
    if (series[0].above) winners(svg, frame, series[0], xs);
    series.forEach((one) => line(svg, frame, { ...one, xs }));
    if (series.length > 1) names(svg, frame, series);
    const now = placeOf(sweep.now, sweep.values);
    if (sweep.now !== "") {
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

  /* Place of a value between those of the slider. */
  function placeOf(value, values) {
    const wanted = parseFloat(value);
    const above = values.findIndex((one) => Number(one) >= wanted);
    if (above <= 0) return above < 0 ? values.length - 1 : 0;
    const [low, high] = [Number(values[above - 1]), Number(values[above])];
    return above - 1 + (wanted - low) / (high - low);
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
    const numbers = [...start.runs, answer.rows.some((one) => one.difference) ? "difference" : null].filter(Boolean);
    const heads = numbers.map((name) => element("th", { scope: "col", class: "cwla-value" }, element("bdi", { title: name }, short(name))));
    const head = element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "topic"), heads));
    const list = element("table", {}, head, element("tbody", {}, answer.rows.map(topicRow)));
    const order = start.runs.length > 1 ? " Topics with the largest differences come first; your changes of grades and order are left out." : "";
    topics.replaceChildren(
      element("h2", {}, "Topics"),
      element("p", {}, answer.sentence + (live ? order : "")),
      scrolling("Topics", `${ids}list`, list));
    markTopic(edits.topic);
  }

  function topicRow({ topic, about, scores, difference }) {
    const button = { type: "button", id: `${ids}topic-${topic}`, "data-topic": topic, onclick: () => openTopic(topic) };
    const text = about ? element("span", { class: "cwla-small cwla-snippet" }, about) : null;
    const value = (shown) => element("td", { class: "cwla-value" }, shown);
    return element(
      "tr", {},
      element("th", { scope: "row" }, element("button", button, element("bdi", {}, topic)), text),
      scores.map(value), difference ? value(difference) : null,
    );
  }

  function openTopic(topic) {
    edits = { topic, grades: {}, orders: {} };
    markTopic(topic);
    change({});
  }

  function markTopic(topic) {
    topicList.value = topic;
    for (const row of topics.querySelectorAll("tbody tr")) {
      const button = row.querySelector("button");
      row.classList.toggle("cwla-chosen", button.dataset.topic === topic);
      if (button.dataset.topic === topic) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
  }

  build();
  show();
  showTopics();
  const measure = new URLSearchParams((wanted || "").slice(1)).get("measure");
  if (measure) change(live ? { measure } : { set: { measure } });
  const onWidth = new ResizeObserver(() => {
    if (Math.abs(root.clientWidth - width) < 20) return;
    width = root.clientWidth;
    showCharts();
    showSweep();
  });
  const onScroll = new IntersectionObserver(([seen]) => (strip.hidden = seen.isIntersecting));
  onWidth.observe(root);
  onScroll.observe(scores);
  return () => [onWidth, onScroll].forEach((one) => one.disconnect());
}
