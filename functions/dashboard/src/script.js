// What scripts add to pages that work without them: texts are copied by a button, and candidates are dragged between the
// columns of a board.
"use strict";

for (const copy of document.querySelectorAll("[data-copy]")) {
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    const source = document.getElementById(copy.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.value ?? source.textContent.trim());
      copy.textContent = "Copied";
    } catch {
      // The browser does not allow it, so the text is selected for the keyboard.
      getSelection().selectAllChildren(source);
      source.select?.();
    }
  });
}

// A drop presses the button of the card's menu that names the column, so dragging does nothing that the menu cannot do.
const board = document.getElementById("board");
let card = null;

const button = (column) => card?.querySelector(`button[value$=".${column.dataset.stage}"]`);

for (const item of document.querySelectorAll("#board [data-card]")) {
  item.draggable = true;
  item.addEventListener("dragstart", (event) => {
    card = item;
    item.classList.add("is-dragged");
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", item.dataset.card);
  });
  item.addEventListener("dragend", () => {
    item.classList.remove("is-dragged");
    card = null;
  });
}

for (const column of document.querySelectorAll("#board [data-stage]")) {
  column.addEventListener("dragover", (event) => {
    if (button(column)) {
      event.preventDefault();
      column.classList.add("is-target");
    }
  });
  column.addEventListener("dragleave", (event) => {
    if (!column.contains(event.relatedTarget)) {
      column.classList.remove("is-target");
    }
  });
  column.addEventListener("drop", (event) => {
    const pressed = button(column);
    column.classList.remove("is-target");
    if (pressed) {
      event.preventDefault();
      board.requestSubmit(pressed);
    }
  });
}
