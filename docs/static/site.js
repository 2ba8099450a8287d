/* Blocks that are wider than the page scroll; the keyboard reaches them, and screen readers name them. */
(() => {
  const blocks = "pre, [style*=overflow-x], .table-wrapper, .cell_output, .cell_output .output, .output_html, .cwla-scroll, div.math";
  const mark = () => document.querySelectorAll(blocks).forEach((block) => {
    const scrolls = block.scrollWidth > block.clientWidth + 1;
    block.classList.toggle("cwla-scrolls", scrolls);
    if (scrolls) {
      block.tabIndex = 0;
      if (!block.hasAttribute("role")) {
        block.setAttribute("role", "group");
        block.setAttribute("aria-label", block.matches("pre") ? "Code, scrolls" : "Table or picture, scrolls");
      }
    } else if (block.getAttribute("aria-label")?.endsWith(", scrolls")) {
      block.removeAttribute("tabindex");
    }
  });
  addEventListener("load", mark);
  addEventListener("load", () => document.querySelectorAll("p.caption[role=heading]").forEach((caption) => {
    caption.setAttribute("aria-level", "2");
  }));
  addEventListener("resize", mark);
  addEventListener("load", () => { // the page that is read is in view in the sidebar
    const here = document.querySelector(".sidebar-tree .current-page"), sidebar = document.querySelector(".sidebar-scroll");
    const below = here && sidebar ? here.getBoundingClientRect().bottom - sidebar.getBoundingClientRect().bottom : 0;
    if (below > 0) sidebar.scrollTop += below + sidebar.clientHeight / 2;
  });
  addEventListener("load", () => {
    const found = document.querySelector("#search-results");
    if (found && !new URLSearchParams(location.search).get("q")) { // otherwise Sphinx writes here what it found
      found.innerHTML = "<h1>Search</h1><p>Write words or a name into the search field, and press Enter.</p>";
    }
  });
})();
