/* Tables of documents, in which grades and the order of documents can be changed. */

const COLUMNS = [
  ["V", "see it (V)", "share of the users who see this rank"],
  ["L", "stop there (L)", "share of the users who stop here; with those who never stop, these shares add up to 1"],
  ["A", "value if stopping (A)", "what a user who stops here counts for in the score, after a mean effort has been divided out"],
  ["adds", "adds to score", "gain times discount; the column and what lies below the list add up to the score"],
  ["gain", "gain", "what the grade is worth"],
  ["T", "before it (T)", "effort before this rank"],
  ["C", "go on (C)", "share of those who see this rank who go on to the next"],
  ["W", "share of attention (W)", "V divided by the number of documents that a user sees on average; 0 or none if that is infinite"],
  ["discount", "discount", "what a gain of 1 at this rank adds to the score while users behave the same"],
];

function cwlaDocuments(page, requests, pick) {
  const { root, ids, live } = page;
  const tables = element("div", { class: "cwla-tables" });
  let shownTables = "";

  function meanings() {
    const rows = COLUMNS.map(([, name, says]) => element("div", {}, element("dt", {}, name), element("dd", {}, says)));
    return element("details", {}, element("summary", {}, "What do the columns mean?"), element("dl", { class: "cwla-meanings" }, rows));
  }

  function show() {
    const { rankings, unit, timed } = page.state;
    const kind = JSON.stringify([unit, timed, rankings.map((one) => [one.name, one.ranks, one.columns.id])]);
    if (kind !== shownTables) {
      shownTables = kind;
      const scrolled = [...tables.querySelectorAll(".cwla-scrolls")].map((frame) => frame.scrollTop);
      keepingFocus(root, () => {
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
    const heads = ["rank", "document", "grade", ...(live ? ["move"] : [])].map((name) => element("th", { scope: "col" }, name));
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
    const { name, run = name, columns: { id: listed } } = page.state.rankings[at];
    const stored = Object.hasOwn(page.edits.orders, run) ? page.edits.orders[run] : [];
    const shown = new Set(listed); // a cutoff or judged_only hides documents, which keep their places
    const all = [...stored, ...listed.filter((one) => !stored.includes(one))];
    const order = all.filter((one) => shown.has(one));
    const from = order.indexOf(id);
    if (from < 0) return;
    const to = Math.max(0, Math.min(order.length - 1, toPlace(from, order)));
    order.splice(to, 0, ...order.splice(from, 1));
    const next = order.values();
    const moved = all.map((one) => (shown.has(one) ? next.next().value : one));
    page.edits = { ...page.edits, orders: { ...page.edits.orders, [run]: moved } };
    pick(to + 1);
    requests.change({});
  }

  function nextGrade(at, i) {
    const { columns: { id: listed, grade } } = page.state.rankings[at];
    const { grades } = page.edits;
    const id = listed[i];
    const steps = [...page.state.grades.map(Number), null];
    const now = Object.hasOwn(grades, id) ? grades[id] : grade[i] === null ? null : Number(grade[i]);
    page.edits = { ...page.edits, grades: { ...grades, [id]: steps[(steps.indexOf(now) + 1) % steps.length] } };
    requests.change({});
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

  function markRank() {
    for (const row of tables.querySelectorAll("tbody tr")) row.classList.toggle("cwla-chosen", Number(row.dataset.rank) === page.rank);
  }

  return { tables, meanings, show, markRank };
}
