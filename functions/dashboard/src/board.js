// Lets candidates be dragged between the columns of a board. A drop presses the button of the card's menu that names the
// column, so dragging does nothing that the menu cannot do.
"use strict";

const board = document.getElementById("board");
let card = null;

const button = (column) => card?.querySelector(`button[value$=".${column.dataset.stage}"]`);

for (const item of board.querySelectorAll("[data-card]")) {
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

for (const column of board.querySelectorAll("[data-stage]")) {
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
