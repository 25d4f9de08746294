
"use strict";
const rows = [...document.querySelectorAll("tbody tr")];
const filter = document.getElementById("filter");
const choices = [...document.querySelectorAll("[data-verdict]")];
let verdict = "";

function show() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const text = row.dataset.search.toLowerCase();
    row.hidden = (verdict !== "" && !row.classList.contains(verdict)) || !words.every((word) => text.includes(word));
    if (!row.hidden) shown++;
  }
  document.getElementById("shown").textContent = shown === rows.length ? "" : shown + " of " + rows.length;
  document.getElementById("nothing").hidden = shown > 0;
}

if (filter) {
  filter.addEventListener("input", show);
  for (const button of choices) {
    button.addEventListener("click", () => {
      verdict = button.dataset.verdict;
      for (const other of choices) other.setAttribute("aria-pressed", String(other === button));
      show();
    });
  }
  show(); // a reloaded page keeps what was typed
}

for (const button of document.querySelectorAll(".copy")) {
  button.addEventListener("click", async () => {
    const source = button.dataset.copy ? document.getElementById(button.dataset.copy) : button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch { // browsers may refuse the clipboard to a local file
      getSelection().selectAllChildren(source);
      button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
}
