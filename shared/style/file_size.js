// Leaves out a file that is too large before the form is sent, and says so in the place of the field's other problems. The
// gateway would answer such a form itself, and what was typed would be gone. Without this script everything else works.
"use strict";

for (const input of document.querySelectorAll("input[type=file][data-largest]")) {
  const id = `${input.id}-problem`;
  const described = (input.getAttribute("aria-describedby") ?? "").split(" ").filter((known) => known !== id);
  const leaveOut = () => {
    const file = input.files[0];
    if (!file) return false;
    document.getElementById(id)?.remove();
    const isTooLarge = file.size > Number(input.dataset.largest);
    if (isTooLarge) {
      const problem = document.createElement("p");
      problem.id = id;
      problem.className = "problem";
      problem.role = "alert";
      problem.textContent = input.dataset.tooLarge;
      input.before(problem);
      input.value = "";
      input.setAttribute("aria-invalid", "true");
    } else {
      input.removeAttribute("aria-invalid");
    }
    input.setAttribute("aria-describedby", [...described, ...(isTooLarge ? [id] : [])].join(" "));
    return isTooLarge;
  };
  input.addEventListener("change", leaveOut);
  // A browser that has kept the chosen file, as after Back, reports no change.
  input.form.addEventListener("submit", (event) => {
    if (leaveOut()) {
      event.preventDefault();
      input.focus();
    }
  });
}
