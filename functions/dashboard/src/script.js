// What scripts add to pages that work without them: texts are copied by a button, the browser's time zone is proposed,
// candidates are dragged between the columns of a board, and keys press what a page offers.
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

// Somebody who has not chosen a time zone yet gets that of the browser, if the service knows it.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
for (const select of document.querySelectorAll("select[data-zone]")) {
  const isKnown = [...select.options].some((option) => option.value === zone);
  if (isKnown && ["", "UTC"].includes(select.value)) {
    select.value = zone;
  }
}
for (const form of document.querySelectorAll("[data-zone-proposal]")) {
  form.querySelector("strong").textContent = zone;
  form.querySelector("[name=time_zone]").value = zone;
  form.hidden = !zone?.includes("/") || zone.startsWith("Etc/");
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

for (const opener of document.querySelectorAll("[data-opens]")) {
  opener.hidden = false;
  opener.addEventListener("click", () => document.getElementById(opener.dataset.opens).showModal());
}

// A key presses the button or follows the link that names it, so it does nothing that a click cannot do, and acts on the person
// on this page. Nothing else names a key on the pages of members who have turned the shortcuts off.
const reasons = document.querySelector("details.reasons");
let isLeaving = false;

addEventListener("pageshow", () => {
  isLeaving = false;
});

addEventListener("keydown", (event) => {
  if (isLeaving || event.repeat || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  if (event.target.closest?.("input, select, textarea, dialog, [contenteditable]")) {
    return;
  }
  if (event.key === "Escape" && reasons?.open) {
    reasons.open = false;
    reasons.querySelector("summary").focus();
    return;
  }
  // CSS.escape makes "/" and "?" safe.
  const named = document.querySelectorAll(`[aria-keyshortcuts="${CSS.escape(event.key)}"]`);
  const target = [...named].find((one) => !one.closest("details:not([open]) > :not(summary), [hidden]"));
  if (!target) {
    return;
  }
  event.preventDefault();
  if (target.matches("input, textarea")) {
    target.focus();
    return;
  }
  // A second key must not send the form of a page that is being left.
  isLeaving = target.matches("a, button:not([type=button])");
  target.click();
  if (target.matches("summary")) {
    target.parentElement.querySelector("button").focus();
  }
});

// A click with the shift key ticks every box between this one and the one before.
const boxes = [...document.querySelectorAll(".several [name=id]")];
let lastBox = null;

for (const box of boxes) {
  box.addEventListener("click", (event) => {
    if (event.shiftKey && lastBox) {
      const [from, to] = [boxes.indexOf(lastBox), boxes.indexOf(box)].sort((one, other) => one - other);
      boxes.slice(from, to + 1).forEach((between) => (between.checked = box.checked));
    }
    lastBox = box;
  });
}
