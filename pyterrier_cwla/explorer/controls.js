/* Controls of the measure: its name, its parameters as sliders, its choices. */

function cwlaControls(page, requests) {
  const { root, ids, live } = page;
  const choice = element("div", { class: "cwla-measure" });
  const sliders = element("div", { class: "cwla-sliders" });
  const choices = element("div", { class: "cwla-choices" });
  const five = element("details", { class: "cwla-five" }, element("summary", {}, "The choices of the measure"), choices);
  let shownControls = "";

  function control(path) {
    return page.state.controls.find((one) => one.path === path);
  }

  function boxOf(path) {
    return [...root.querySelectorAll("[data-path]")].find((node) => node.dataset.path === path);
  }

  function set(path, value) {
    requests.change({ set: { [path]: value } });
  }

  function show() {
    const { controls } = page.state;
    const kind = JSON.stringify(controls.map((one) => [one.path, one.kind, one.label, one.options]));
    if (kind !== shownControls) {
      shownControls = kind;
      keepingFocus(root, build);
    }
    controls.forEach(setField);
    showFlips();
  }

  function build() {
    const of = (group) => page.state.controls.filter((one) => one.group === group);
    choice.replaceChildren(...of("measure").map(field));
    sliders.replaceChildren(...of("parameters").map(field));
    if (!of("parameters").length) sliders.append(element("p", {}, "This measure has no parameters."));
    choices.replaceChildren(...of("choices").map(field));
    five.hidden = !of("choices").length;
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
    const marks = element("span", { class: "cwla-flips", "aria-hidden": "true" }); // the list below the sweep says the same
    return element("div", { class: "cwla-range" }, element("span", { class: "cwla-track" }, range, marks), exact);
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

  function setField(one) {
    const box = boxOf(one.path);
    if (!box) return;
    const moving = requests.isWaiting(one.path);
    if (one.kind === "number") {
      const [range, exact] = box.querySelectorAll("input");
      range.max = one.steps.length - 1;
      if (!moving) range.value = one.at;
      range.setAttribute("aria-valuetext", one.value === "" ? "none" : one.value);
      if (!moving) exact.value = one.value;
      exact.placeholder = "none";
    } else if (!moving) {
      box.querySelector("select, input").value = one.value;
    }
    const range = one.range ? `${inWords(one.range)}. ` : "";
    box.querySelector(".cwla-small").textContent = (one.says ? `${one.says} ` : "") + range;
  }

  /* Marks on a slider at the values where the order of the rankings changes. */
  function showFlips() {
    const { sweep, state } = page;
    for (const marks of root.querySelectorAll(".cwla-flips")) {
      const { path } = marks.closest("[data-path]").dataset;
      const { steps } = control(path) || { steps: [] };
      const flips = sweep && !sweep.error && !state.beside && sweep.path === path ? sweep.flips : [];
      marks.replaceChildren(...flips.slice(0, 12).map((flip) => {
        const share = placeOf(flip.value, steps) / Math.max(1, steps.length - 1);
        const place = element("span", { title: flip.sentence });
        place.style.left = `calc(8px + ${share} * (100% - 16px))`;
        return place;
      }));
    }
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

  return { choice, sliders, five, boxOf, show, showFlips };
}
