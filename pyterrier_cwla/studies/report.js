"use strict";
// Sorts a table by the column whose header is clicked; rows without a value stay at the bottom.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement, column = head.cellIndex;
    const body = head.closest("table").tBodies[0];
    const rising = head.getAttribute("aria-sort") !== "ascending";
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", rising ? "ascending" : "descending");
    const keyed = Array.from(body.rows, row => [row.cells[column].dataset.key, row]);
    const numbers = keyed.every(([key, row]) => key === "" || row.cells[column].classList.contains("number"));
    const value = key => numbers ? (key === "inf" ? Infinity : key === "-inf" ? -Infinity : Number(key)) : key;
    keyed.sort(([a], [b]) => {
      if (a === "" || b === "") return (a === "") - (b === "");
      const x = value(a), y = value(b);
      const order = numbers ? (x < y ? -1 : x > y ? 1 : 0) : x.localeCompare(y, undefined, { numeric: true });
      return rising ? order : -order;
    });
    body.append(...keyed.map(([, row]) => row));
  });
}
