/* Answers of the explorer's page on the site: all of them were computed when the site was built (explorer_page.py).
   `packed` is their JSON, compressed with gzip and written in base64. */

function answersOfPresets(packed) {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const unpacked = new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();

  /* Return the name of a measure and the number of its slider's value. */
  function chosen(known, request) {
    const place = known.texts[request.measure];
    let [name, at] = place || [null, -1];
    for (const [path, value] of Object.entries(request.set || {})) {
      if (path === "measure") [name, at] = [value, known.measures[value] ? known.measures[value].start : -1];
      else if (name !== null) at = known.measures[name].path === path ? known.measures[name].values.indexOf(value) : -1;
    }
    return [name, at];
  }

  return async (request) => {
    const known = await unpacked;
    if (request.want === "code") {
      const measures = [request.measure, request.beside].filter(Boolean).map((text) => JSON.stringify(text)).join(", ");
      return { code: known.code[request.topic].replace("'TBG'", measures) };
    }
    const [name, at] = chosen(known, request);
    const answers = known.answers[request.topic];
    if (at < 0 || !answers || !answers[name]) return { error: known.unknown, measure: { text: request.measure } };
    if (request.want === "topics") return structuredClone(known.topics[name][at]);
    const { states, sweep } = answers[name];
    if (request.want === "state") return structuredClone(states[at]);
    const { value } = states[at].controls.find((one) => one.path === request.sweep);
    return { ...structuredClone(sweep), now: value };
  };
}
