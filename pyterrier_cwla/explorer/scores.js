/* Scores of the rankings, as numbers, bars and sentences. */

function cwlaScores(page) {
  const scores = element("div", { class: "cwla-scores" });
  const spoken = element("p", { class: "cwla-unseen", "aria-live": "polite" });
  const strip = element("p", { class: "cwla-strip", "aria-hidden": "true" }); // scores beside whatever the user changes
  const difference = element("p", { class: "cwla-difference" });
  let shownScores = "";
  let scoresTimer = 0;

  function show() {
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
    scoresTimer = setTimeout(() => { if (spoken.textContent !== words) spoken.textContent = words; }, 300);
  }

  function score(one, at) {
    const bar = drawn(
      "svg", { viewBox: "0 0 300 14", class: "cwla-bar", "aria-hidden": "true", preserveAspectRatio: "none" },
      drawn("rect", { width: 300, height: 14, class: "cwla-empty" }),
      drawn("rect", { height: 14, class: `cwla-fill${at} cwla-faint` }),
      drawn("rect", { height: 14, class: `cwla-fill${at}` }),
    );
    const totals = one.totals.map((total) => element("div", {}, element("dt", {}, total.label), element("dd", {})));
    const of = (kind) => element("p", { class: kind });
    return element(
      "div", { class: "cwla-score" },
      element("h3", {}, mark(at), element("bdi", {}, one.name), " ", element("span", { class: "cwla-number", "data-score": at })),
      bar, of("cwla-mean"),
      element("details", {}, element("summary", {}, "More about this score"), of("cwla-small cwla-upper"), of("cwla-small cwla-beyond"), element("dl", {}, totals)),
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

  return { scores, spoken, strip, difference, show };
}
