/* The topics that all runs answer: a list above the measure, and a table with the scores of each. */

function cwlaTopics(page, start, requests) {
  const table = element("section", { class: "cwla-topics", hidden: !start.topics });
  const list = element("select", { id: `${page.ids}topics`, onchange: () => open(list.value) });

  /* On a page with computed answers, topics are pairs of rankings. */
  function field() {
    if (!start.topics || start.topics.error) return "";
    list.append(...start.topics.rows.map(({ topic }) => element("option", { value: topic }, topic)));
    return element("p", { class: "cwla-field" }, element("label", { for: list.id }, page.live ? "Topic" : "Rankings"), list);
  }

  function show() {
    if (!start.topics) return;
    const answer = page.topics;
    table.hidden = false;
    if (answer.error) {
      table.replaceChildren(element("h2", {}, "Topics"), element("p", { class: "cwla-error" }, answer.error));
      return;
    }
    const signs = new Map(answer.rows.map((one) => [one.topic, signOf(one.difference)]));
    page.firstSigns = page.firstSigns || signs; // of the measure as it was chosen
    const changed = answer.rows.filter(({ topic }) => page.firstSigns.get(topic) !== signs.get(topic)).length;
    const heads = [...start.runs, answer.rows.some((one) => one.difference) ? "difference" : null].filter(Boolean);
    const cells = heads.map((name) => element("th", { scope: "col", class: "cwla-value" }, element("bdi", { title: name }, short(name))));
    const head = element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "topic"), cells));
    const rows = element("table", {}, head, element("tbody", {}, answer.rows.map((one) => topicRow(one, signs))));
    const order = start.runs.length > 1 ? " Topics with the largest differences come first; your changes of grades and order are left out." : "";
    const many = changed === 1 ? "one topic has changed its order" : `${changed} topics have changed their order`;
    const since = changed ? ` Since you chose this measure, ${many} (⇄).` : "";
    table.replaceChildren(
      element("h2", {}, "Topics"),
      element("p", {}, answer.sentence + (page.live ? order : "") + since),
      scrolling("Topics", `${page.ids}list`, rows));
    select(page.edits.topic);
  }

  function signOf(shownDifference) {
    return shownDifference ? (/[1-9]/.test(shownDifference) ? shownDifference[0] : "0") : "";
  }

  function topicRow({ topic, about: says, scores: values, difference: gap }, signs) {
    const button = { type: "button", id: `${page.ids}topic-${topic}`, "data-topic": topic, onclick: () => open(topic) };
    const given = says ? element("span", { class: "cwla-small cwla-snippet" }, says) : null;
    const value = (shown) => element("td", { class: "cwla-value" }, shown);
    const changed = page.firstSigns.get(topic) !== signs.get(topic) ? " ⇄" : "";
    return element(
      "tr", {},
      element("th", { scope: "row" }, element("button", button, element("bdi", {}, topic)), given),
      values.map(value), gap ? value(gap + changed) : null,
    );
  }

  function open(topic) {
    page.edits = { topic, grades: {}, orders: {} };
    select(topic);
    requests.change({});
  }

  function select(topic) {
    list.value = topic;
    for (const row of table.querySelectorAll("tbody tr")) {
      const button = row.querySelector("button");
      row.classList.toggle("cwla-chosen", button.dataset.topic === topic);
      if (button.dataset.topic === topic) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
  }

  return { table, field, show, select };
}
