/* The explorer's page: controls on the left, charts on the right, documents and topics below. `wanted` is the end of the
   page's address, which may say what it shows; widgets of notebooks have none. */

function cwlaExplorer(root, start, ask, wanted) {
  const live = start.mode === "live";
  const page = {
    root, live, ids: `cwla${Math.floor(Math.random() * 1e9)}-`, // several explorers may be on one page
    state: start.state, sweep: start.sweep, topics: start.topics, axis: "rank",
    rank: Math.min(10, ...start.state.rankings.map((one) => one.shown)),
    edits: { topic: start.state.topic, grades: {}, orders: {} }, beside: "", compared: 0, past: [], firstSigns: null,
    sweepPath: start.sweep ? start.sweep.path : null,
  };
  const { ids } = page;
  const requests = cwlaRequests(page, ask, {
    state: show, error: showError, sweep: showSweep,
    topics: () => keepingFocus(root, topics.show),
    refused: () => { controls.show(); if (page.topics) topics.select(page.edits.topic); },
  });
  const { change } = requests;
  const controls = cwlaControls(page, requests);
  const documents = cwlaDocuments(page, requests, pick);
  const scores = cwlaScores(page);
  const topics = cwlaTopics(page, start, requests);
  const charts = element("div", { class: "cwla-charts" });
  const keep = cwlaKeep(page, requests, wanted !== undefined);

  // ---- the page

  const users = element("ul", { class: "cwla-users" });
  const message = element("p", { class: "cwla-error", role: "alert" });
  const text = element("input", {
    type: "text", id: `${ids}text`, class: "cwla-text", spellcheck: "false", autocomplete: "off", readonly: !live,
    onkeydown: (event) => event.key === "Enter" && useText(text.value),
  });
  const beside = element("select", { id: `${ids}beside`, onchange: () => chooseBeside(beside.value) });
  const compared = element("select", { id: `${ids}compared`, onchange: () => { page.compared = Number(compared.value); change({}); } });
  const spokenRank = element("p", { class: "cwla-unseen", "aria-live": "polite" });
  const notes = element("ul", { class: "cwla-notes" });
  const about = element("p", { class: "cwla-about" });
  const rankAnswer = element("div", { class: "cwla-answer" });
  const rankField = element("input", { type: "number", id: `${ids}rank`, min: 1, step: 1, oninput: () => selectRank(Number(rankField.value)) });
  const axis = element("div", { class: "cwla-axis" });
  const sweepChoice = element("div", { class: "cwla-measure" });
  const sweepWins = element("p", { class: "cwla-wins", "aria-live": "polite" });
  const sweepBody = element("div", { class: "cwla-sweep" });
  const undo = element("button", { type: "button", disabled: true, onclick: requests.undo }, "Undo");
  const reset = element("button", { type: "button", hidden: true, onclick: undoEdits }, "Undo all changes of grades and order");
  const lesson = element("p", { class: "cwla-lesson", "aria-live": "polite", hidden: true });

  function section(title, ...children) {
    return element("section", {}, element("h2", {}, title), ...children);
  }

  function build() {
    root.classList.add("cwla-explorer");
    const rank = element("p", { class: "cwla-field" }, element("label", { for: `${ids}rank` }, "Rank "), rankField);
    const how = "Click a grade to change it. Drag a row, or use its arrows, to move a document.";
    const side = element("div", { class: "cwla-side" },
      section("Measure", topics.field(), about, controls.choice, measureText(), message, controls.sliders, undo, controls.five, besideField()),
      section("Who is the user?", users),
      section("Keep it", keep.box),
      start.note ? section("Your own runs", element("p", { class: "cwla-note" }, start.note)) : "");
    const main = element("div", { class: "cwla-main" },
      section("Scores", scores.scores, scores.difference, scores.spoken, notes),
      section("Users, rank by rank", axis, charts),
      section("What happens at one rank?", rank, rankAnswer, spokenRank),
      section("Which value of a parameter favours which ranking?", sweepChoice, sweepBody));
    const below = element("div", { class: "cwla-below" },
      section("Documents", live ? element("p", { class: "cwla-small" }, how) : "", documents.meanings(), reset, skip(), documents.tables),
      topics.table);
    root.replaceChildren(
      lessonsOf(), element("div", { class: "cwla-columns" }, side, main), below, scores.strip);
    rankField.value = page.rank;
  }

  function lessonsOf() {
    const buttons = (start.lessons || []).map((one) => element("button", { type: "button", onclick: () => teach(one) }, one.title));
    return buttons.length ? element("div", { class: "cwla-lessons" }, element("span", {}, "Begin with a question: "), buttons, lesson) : "";
  }

  function teach(one) {
    lesson.hidden = false;
    lesson.textContent = one.text;
    page.edits = { topic: one.topic || page.edits.topic, grades: {}, orders: {} };
    Object.assign(page, { beside: one.beside, compared: 0 });
    pick(Math.min(one.rank, ...page.state.rankings.map((ranking) => ranking.shown)));
    useText(one.measure);
  }

  /* Each row has three buttons: a way past them for the keyboard. */
  function skip() {
    const past = () => (topics.table.querySelector("button") || text).focus();
    return element("button", { type: "button", class: "cwla-skip", onclick: past }, "Skip the documents");
  }

  function measureText() {
    const use = live ? element("button", { type: "button", onclick: () => useText(text.value) }, "Use") : null;
    return element("p", { class: "cwla-field" }, element("label", { for: text.id }, live ? "As text" : "Text"), text, use);
  }

  /* Another measure beside this one, for one of the rankings. */
  function besideField() {
    const { options } = page.state.controls.find((one) => one.path === "measure");
    beside.replaceChildren(element("option", { value: "" }, "no other measure"), ...options.map((one) => element("option", { value: one.value }, one.label)));
    compared.replaceChildren(...page.state.rankings.map((one, at) => element("option", { value: at }, one.name)));
    const of = page.state.rankings.length > 1 ? [element("label", { for: compared.id }, "for"), compared] : [];
    return element("p", { class: "cwla-field cwla-beside" }, element("label", { for: beside.id }, "Beside it"), beside, of);
  }

  async function chooseBeside(name) {
    const answer = name ? await requests.answered({ want: "state", set: { measure: name } }) : null;
    if (answer && answer.error) {
      showError(answer.error, "");
      beside.value = "";
      return;
    }
    page.beside = answer ? answer.measure.text : "";
    change({});
  }

  /* A name of the list does what the list does; other texts are measures. */
  function useText(wantedText) {
    const known = page.state.controls.find((one) => one.path === "measure").options.some((one) => one.value === wantedText.trim());
    if (known) change({ set: { measure: wantedText.trim() } });
    else change({ measure: wantedText });
  }

  function undoEdits() {
    page.edits = { ...page.edits, grades: {}, orders: {} };
    change({});
    documents.tables.querySelector("button, [tabindex]").focus(); // this button disappears
  }

  /* Show an error below the control that was changed, or else below the text of the measure. */
  function showError(says, path) {
    const box = (says && path && controls.boxOf(path)) || controls.choice.parentElement;
    if (message.parentElement !== box) box.append(message);
    message.textContent = says || "";
    if (says) message.scrollIntoView({ block: "nearest" });
  }

  function show() {
    const { state } = page;
    const typing = root.getRootNode().activeElement === text && message.textContent;
    if (!typing) text.value = state.measure.text;
    users.replaceChildren(...state.measure.sentences.map((sentence) => element("li", {}, sentence)));
    controls.show();
    about.textContent = state.about;
    reset.hidden = !state.edited;
    undo.disabled = !page.past.length;
    beside.value = state.beside ? state.besideName : "";
    compared.value = String(page.compared);
    compared.disabled = !state.beside;
    if (page.topics) topics.select(page.edits.topic);
    scores.show();
    notes.replaceChildren(...state.notes.map((note) => element("li", {}, note)));
    showAxis();
    showCharts();
    documents.show();
    showRank();
    showSweep();
  }

  // ---- charts

  let width = 0; // asked for again only if it changes, since the browser computes the layout for it

  function showAxis() {
    axis.hidden = !page.state.timed;
    if (!page.state.timed) page.axis = "rank";
    const named = { rank: "ranks", effort: page.state.unit };
    const radios = Object.entries(named).map(([value, name]) => {
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

  /* Whether the discount of each ranking is its V, up to a factor: one chart then shows both. */
  function discountIsV(rankings) {
    return rankings.every(({ columns: { V, discount } }) =>
      discount.every((value, i) => value !== null && Math.abs(number(value) / number(discount[0]) - number(V[i])) < 0.002));
  }

  const room = () => charts.clientWidth || root.clientWidth; // narrow pages have no box around the charts

  function chartWidth() {
    width = width || room();
    return Math.max(240, Math.min(460, width >= 440 ? (width - 16) / 2 : width));
  }

  function showCharts() {
    const last = depth();
    const byTime = page.axis === "effort";
    const { rankings, unit, timed } = page.state;
    const wide = chartWidth();
    const cut = (one, name) => one.columns[name].slice(0, last).map(number);
    const picks = { rank: () => page.rank, pick };
    const chart = (title, name, kind, x, xLabel, options = {}) => {
      const series = rankings.map((one, at) => ({ name: one.name, at, kind, xs: cut(one, x), ys: cut(one, name) }));
      const xTicks = x === "rank" ? rankTicks : (range) => ticks(range, 5);
      return chartOf(title, xLabel, xTicks, series, { wide, picks: x === "rank" ? picks : null, ...options });
    };
    const before = byTime ? ["T", `${unit} before the document`] : ["rank", "rank"];
    const after = byTime ? ["end", `${unit} after the document`] : ["rank", "rank"];
    const [same, some] = [discountIsV(rankings), rankings.some((one) => one.columns.discount.some((value) => value !== null))];
    const seen = same ? "Who sees each rank? (V; weight of a gain)" : "Who sees each rank? (V)";
    charts.replaceChildren(
      chart(seen, "V", "line", ...before, { highest: 1, percent: true }),
      chart("Who stops there? (L)", "L", "bars", ...before, { percent: true }),
      chart("What do those who stop there take home? (A)", "A", "line", ...before),
      chart("What does each rank add to the score?", "adds", "bars", ...before),
      chart("Gain of a user who reads so far (G)", "G", "line", ...after),
      ...(some && !same ? [chart("Weight of a gain at each rank (discount)", "discount", "line", ...before)] : []),
      ...(timed ? [chart(`${unit[0].toUpperCase()}${unit.slice(1)} before each rank (T)`, "T", "line", "rank", "rank")] : []),
    );
    markRank();
  }

  function markRank() {
    for (const svg of charts.querySelectorAll(".cwla-picks")) svg.markRank();
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
    documents.markRank();
  }

  // ---- the sweep over a parameter

  function showSweep() {
    const paths = page.state.controls.filter((one) => one.sweep);
    controls.showFlips();
    sweepChoice.parentElement.hidden = !paths.length || !page.sweep || Boolean(page.state.beside);
    if (sweepChoice.parentElement.hidden) return;
    const kind = JSON.stringify(paths.map((one) => [one.path, one.label]));
    if (sweepChoice.dataset.kind !== kind) {
      sweepChoice.dataset.kind = kind;
      keepingFocus(root, () => buildSweepChoice(paths));
    }
    sweepChoice.querySelector("select").value = page.sweepPath || page.sweep.path;
    sweepBody.classList.toggle("cwla-old", requests.sweepIsOld());
    if (page.sweep.error) sweepBody.replaceChildren(element("p", { class: "cwla-error" }, page.sweep.error));
    else if (page.sweep.scores.length === page.state.rankings.length) sweepBody.replaceChildren(...sweepParts(page.sweep));
  }

  function buildSweepChoice(paths) {
    const id = `${ids}sweep`;
    const options = paths.map((one) => element("option", { value: one.path }, one.label));
    const list = element("select", { id, onchange: () => { page.sweepPath = list.value; requests.sweepNow(); } }, options);
    sweepChoice.replaceChildren(element("label", { for: id }, "Parameter "), list);
  }

  function sweepParts(sweep) {
    const both = page.state.rankings.map((one, at) => ({ name: one.name, at, ys: sweep.scores[at].map(number) }));
    const wide = chartWidth();
    const drawings = [sweepChart("Score", sweep, both, wide)];
    if (sweep.difference) {
      const [first, second] = both.map((one) => short(one.name, 18));
      const gap = { name: "difference", at: 2, ys: sweep.difference.map(number), above: second, below: first };
      drawings.push(sweepChart(`Difference: ${second} minus ${first}`, sweep, [gap], wide));
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

  /* Show what an address says. */
  function restore(parts) {
    const { grades = {}, orders = {} } = JSON.parse(parts.get("edits") || "{}");
    page.edits = { topic: parts.get("topic") || page.edits.topic, grades, orders };
    const compared = [...page.state.rankings.keys()].find((at) => String(at) === parts.get("compared")) || 0;
    Object.assign(page, { beside: parts.get("beside") || "", compared });
    if (Number(parts.get("rank")) > 0) pick(Number(parts.get("rank")));
    useText(parts.get("measure") || page.state.measure.text);
  }

  build();
  show();
  topics.show();
  const readAddress = (hash) => {
    try {
      if (hash) restore(new URLSearchParams(hash.slice(1)));
    } catch {
      showError("This address does not say what to show; the page begins anew.", "");
    }
  };
  const onAddress = () => readAddress(location.hash);
  if (wanted !== undefined) addEventListener("hashchange", onAddress);
  readAddress(wanted);
  const onWidth = new ResizeObserver(() => {
    if (Math.abs(room() - width) < 20) return;
    width = room();
    showCharts();
    showSweep();
  });
  const onScroll = new IntersectionObserver(([seen]) => (scores.strip.hidden = seen.isIntersecting));
  onWidth.observe(root);
  onScroll.observe(scores.scores);
  return () => {
    [onWidth, onScroll].forEach((one) => one.disconnect());
    removeEventListener("hashchange", onAddress);
  };
}
