/* What the user takes away: the measure, Python code, a picture with a caption, and an address that restores the page. */

function cwlaKeep(page, requests, hasAddress) {
  const said = element("span", { class: "cwla-small", role: "status" });
  const shown = element("textarea", { class: "cwla-code", rows: 6, readonly: true, hidden: true, "aria-label": "To copy" });

  async function copy(what, text) {
    try {
      await navigator.clipboard.writeText(text);
      shown.hidden = true;
      said.textContent = `${what} copied.`;
    } catch { // the browser does not let pages write to the clipboard
      shown.hidden = false;
      shown.value = text;
      shown.select();
      said.textContent = "Press Ctrl+C to copy.";
    }
  }

  async function copyCode() {
    const answer = await requests.answered({ want: "code", beside: page.state.beside || null });
    if (answer.error) said.textContent = answer.error;
    else await copy("Python code", answer.code);
  }

  function address() {
    const { state, edits, beside, compared, rank } = page;
    const changed = Object.keys(edits.grades).length || Object.keys(edits.orders).length;
    const parts = { measure: state.measure.text, topic: edits.topic, rank: String(rank) };
    if (beside) Object.assign(parts, { beside, compared: String(compared) });
    if (changed) parts.edits = JSON.stringify({ grades: edits.grades, orders: edits.orders });
    return `${location.href.split("#")[0]}#${new URLSearchParams(parts)}`;
  }

  function copyAddress() {
    history.replaceState(null, "", address());
    copy("Address", address());
  }

  function caption() {
    const { state } = page;
    const scores = state.rankings.map((one) => `${one.name} ${one.score}`).join(", ");
    const measure = state.beside ? `${state.measure.text} beside ${state.beside}, for ${state.rankings[0].run}` : state.measure.text;
    return [measure, `Topic ${state.topic}${state.edited ? ", with changed grades or order" : ""}. Scores: ${scores}.`];
  }

  /* The charts as one picture, in the colours of the page, with the caption below them. */
  function picture() {
    const figures = [...page.root.querySelectorAll("figure")].filter((one) => one.checkVisibility()); // and of the sweep
    const [wide, high, apart, head] = [440, 210, 16, 20];
    const columns = Math.min(2, figures.length);
    const rows = Math.ceil(figures.length / columns);
    const style = getComputedStyle(page.root);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const width = columns * (wide + apart) + apart;
    const lines = caption().flatMap((says) => inLines(says, Math.floor((width - 2 * apart) / 7)));
    const height = rows * (high + head + apart) + 18 * lines.length + apart;
    const rules = `text{font:13px system-ui,sans-serif;fill:${colour("ink")}}.cwla-grid,.cwla-zero{stroke:${colour("line")}}`
      + `.cwla-line0,.cwla-line1,.cwla-line2{fill:none;stroke-width:2.5;stroke:${colour("first")}}.cwla-line1{stroke:${colour("second")};stroke-dasharray:6 6}.cwla-line2{stroke:${colour("third")}}.cwla-flip{stroke:${colour("ink")}}`
      + `.cwla-fill0{fill:${colour("first")}}.cwla-fill1{fill:${colour("second")}}.cwla-faint{opacity:.45}.cwla-now{stroke:${colour("grey")};stroke-dasharray:2 3}`;
    const svg = drawn("svg", { xmlns: SVG, viewBox: `0 0 ${width} ${height}`, width, height },
      drawn("style", {}, rules), drawn("rect", { width, height, fill: colour("page") }));
    figures.forEach((one, i) => {
      const [x, y] = [apart + (i % columns) * (wide + apart), Math.floor(i / columns) * (high + head + apart)];
      const chart = one.querySelector("svg").cloneNode(true);
      for (const [name, value] of Object.entries({ x, y: y + head, width: wide, height: high })) chart.setAttribute(name, value);
      svg.append(drawn("text", { x, y: y + 15, "font-weight": 600 }, one.querySelector("figcaption").textContent), chart);
    });
    lines.forEach((says, i) => svg.append(drawn("text", { x: apart, y: rows * (high + head + apart) + 18 * (i + 1) }, says)));
    return { svg, width, height };
  }

  function inLines(text, most) {
    return text.match(new RegExp(`.{1,${most}}(\\s|$)|.{1,${most}}`, "gu")).map((one) => one.trim());
  }

  function save(blob, ending) {
    if (!blob) {
      said.textContent = "This browser cannot draw the picture. Save it as SVG.";
      return;
    }
    const link = element("a", { href: URL.createObjectURL(blob), download: `${page.state.measure.name}.${ending}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    said.textContent = `${link.download} saved.`;
  }

  function saveSvg() {
    save(new Blob([new XMLSerializer().serializeToString(picture().svg)], { type: "image/svg+xml" }), "svg");
  }

  function savePng() {
    const { svg, width, height } = picture();
    const image = new Image();
    image.onload = () => {
      const canvas = element("canvas", { width: 2 * width, height: 2 * height });
      const context = canvas.getContext("2d");
      context.scale(2, 2);
      context.drawImage(image, 0, 0);
      canvas.toBlob((blob) => save(blob, "png"));
      URL.revokeObjectURL(image.src);
    };
    image.onerror = () => save(null, "png");
    image.src = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" }));
  }

  const button = (name, act) => element("button", { type: "button", onclick: act }, name);
  const buttons = [
    button("Copy the measure", () => copy("Measure", page.state.measure.text)),
    button("Copy Python code", copyCode),
    ...(hasAddress ? [button("Copy a link to this", copyAddress)] : []),
    button("Save as SVG", saveSvg),
    button("Save as PNG", savePng),
  ];
  return { box: element("div", { class: "cwla-keep" }, buttons, said, shown) };
}
