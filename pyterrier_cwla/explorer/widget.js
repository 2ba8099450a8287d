/* The explorer's page as a widget of notebooks: appended to explorer.js, sends the page's requests to the kernel. */

export default {
  render({ model, el }) {
    const view = Math.random().toString(36);
    const waiting = new Map();
    let sent = 0;
    const ask = (request) => new Promise((resolve, reject) => {
      const number = ++sent;
      const late = () => waiting.delete(number) && reject(new Error("the kernel does not answer"));
      waiting.set(number, { resolve, timer: setTimeout(late, 30_000) });
      model.send({ view, number, request });
    });
    const answered = (message) => {
      if (message.view !== view || !waiting.has(message.number)) return;
      const { resolve, timer } = waiting.get(message.number);
      clearTimeout(timer);
      waiting.delete(message.number);
      resolve(message.answer);
    };
    model.on("msg:custom", answered);
    const root = document.createElement("div");
    // Keys are for the page: JupyterLab would move to another cell at the arrow keys of a slider.
    root.addEventListener("keydown", (event) => event.stopPropagation());
    el.append(root);
    // JupyterLab says on its body which theme it has; elsewhere the page follows the browser.
    const follow = () => {
      const { jpThemeLight } = document.body.dataset;
      if (jpThemeLight) root.dataset.theme = jpThemeLight === "true" ? "light" : "dark";
    };
    const themes = new MutationObserver(follow);
    themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
    follow();
    const stop = cwlaExplorer(root, model.get("start"), ask);
    return () => {
      model.off("msg:custom", answered);
      themes.disconnect();
      for (const { timer } of waiting.values()) clearTimeout(timer);
      stop();
    };
  },
};
