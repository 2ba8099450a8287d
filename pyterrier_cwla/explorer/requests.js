/* Requests of the page, one at a time: of the waiting ones only the newest is sent. A page has a state (the answer that
   it shows), edits (changes of grades and orders, replaced as a whole by each change), beside (the text of a second
   measure, drawn for one ranking, that of the number `compared`) and past (what the last changes replaced). */

function cwlaRequests(page, ask, show) {
  let busy = false;
  let waiting = null; // {set, measure}: changes that are not sent yet
  let shown = wholeOf(page); // what the state on the screen was asked with
  let last = { path: "", time: 0 }; // the last change that was kept, for undo
  const later = { sweep: { old: false, timer: 0, wait: 120 }, topics: { old: false, timer: 0, wait: 300 } };

  function wholeOf({ state, edits, beside, compared }) {
    return { measure: state.measure.text, edits, beside, compared };
  }

  function change(what) {
    waiting = waiting || { set: {} };
    if (what.measure !== undefined) waiting = { set: {}, measure: what.measure };
    Object.assign(waiting.set, what.set);
    waiting.undoing = Boolean(what.undoing);
    pump();
  }

  async function pump() {
    if (busy) return;
    busy = true;
    try {
      if (waiting) await updateState();
      else if (later.sweep.old && !later.sweep.timer) await updateSweep();
      else if (later.topics.old && !later.topics.timer) await updateTopics();
      else return;
    } catch (error) {
      show.error(`This page failed: ${error.message || error}.`, "");
    } finally {
      busy = false;
    }
    pump();
  }

  /* Ask for a sweep or for topics when the user has changed nothing for a moment. */
  function soon(what) {
    what.old = true;
    clearTimeout(what.timer);
    what.timer = setTimeout(() => { what.timer = 0; pump(); }, what.wait);
  }

  async function answered(request) {
    try {
      return await ask({ measure: page.state.measure.text, ...page.edits, ...request });
    } catch (error) {
      return { error: `No answer: ${error.message || error}. Is the program that started this page still running?` };
    }
  }

  async function updateState() {
    const { set, measure, undoing } = waiting;
    waiting = null;
    const [before, asked, path] = [page.state, wholeOf(page), Object.keys(set).join()];
    const answer = await answered({ want: "state", shown: true, set, ...(measure === undefined ? {} : { measure }) });
    const other = !answer.error && asked.beside ? await answered({ want: "state", measure: asked.beside }) : null;
    const error = answer.error || (other && other.error);
    show.error(error, path);
    if (error) {
      if (!waiting) refuse();
      return;
    }
    page.state = other ? sideBySide(answer, other, asked.compared) : answer;
    keep(shown, path, undoing);
    const onlyThisParameter = path === page.sweepPath && asked.edits === shown.edits && measure === undefined;
    if (onlyThisParameter && page.sweep && !later.sweep.old) {
      page.sweep.now = page.state.controls.find((one) => one.path === page.sweepPath).value;
    } else soon(later.sweep);
    if (page.topics && before.measure.text !== answer.measure.text) soon(later.topics);
    if (before.measure.name !== answer.measure.name) page.firstSigns = null;
    shown = { ...asked, measure: answer.measure.text };
    show.state();
  }

  /* Keep what a change replaced; the steps of one slider are one change. */
  function keep(replaced, path, undoing) {
    const sameSlider = path && path === last.path && Date.now() - last.time < 1500;
    last = { path, time: Date.now() };
    if (!undoing && !sameSlider) page.past.push(replaced);
  }

  function undo() {
    const before = page.past.pop();
    if (!before) return;
    Object.assign(page, { edits: before.edits, beside: before.beside, compared: before.compared });
    last = { path: "", time: 0 };
    change({ measure: before.measure, undoing: true });
  }

  /* One ranking under two measures, drawn as two rankings; a sentence says which ranking wins by each. */
  function sideBySide(state, other, compared) {
    const of = (one) => ({ ...one.rankings[compared], name: one.measure.title, run: one.rankings[compared].name });
    const sentences = [state, other].map(({ measure, rankings: [first, second] }) => second && winner(measure.title, first, second));
    const difference = state.rankings.length > 1 ? { sentence: sentences.join(" ") } : null;
    const sameUnit = state.unit === other.unit && state.timed === other.timed;
    const besideName = other.controls.find((one) => one.path === "measure").value;
    return { ...state, rankings: [of(state), of(other)], difference, beside: other.measure.text, besideName, timed: state.timed && sameUnit };
  }

  function winner(measure, first, second) {
    const gap = number(first.score) - number(second.score);
    if (!gap) return `By ${measure}, both have ${first.score}.`;
    const [high, low] = gap > 0 ? [first, second] : [second, first];
    return `By ${measure}, ${high.name} scores higher than ${low.name} (${high.score} and ${low.score}).`;
  }

  /* Take back changes that Python refused: the page shows the last state that it has. */
  function refuse() {
    Object.assign(page, { edits: shown.edits, beside: shown.beside, compared: shown.compared });
    show.refused();
  }

  async function updateSweep() {
    later.sweep.old = false;
    const paths = page.state.controls.filter((one) => one.sweep).map((one) => one.path);
    if (!paths.includes(page.sweepPath)) page.sweepPath = paths[0] || null;
    const answer = page.sweepPath ? await answered({ want: "sweep", sweep: page.sweepPath }) : null;
    if (waiting) later.sweep.old = true; // something has changed since
    else page.sweep = answer;
    show.sweep();
  }

  async function updateTopics() {
    later.topics.old = false;
    page.topics = await answered({ want: "topics" });
    show.topics();
  }

  return {
    change, undo, answered,
    isWaiting: (path) => Boolean(waiting) && path in waiting.set, // the user has moved it further already
    sweepIsOld: () => later.sweep.old,
    sweepNow: () => { later.sweep.old = true; pump(); },
  };
}
