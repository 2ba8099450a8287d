/* Send a request to the local server that sent the page. */
async (request) => {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch("ask" + location.search, { method: "POST", headers, body: JSON.stringify(request) });
  return response.json();
}
