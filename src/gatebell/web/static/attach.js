// Adds images that a person pastes into the answer to its files.
"use strict";

{
  const input = document.getElementById("attachment");
  document.getElementById("paste-hint").hidden = false;
  input.form.addEventListener("paste", (event) => {
    const pasted = [...event.clipboardData.files];
    if (!pasted.length) return;
    event.preventDefault();
    const all = new DataTransfer();
    for (const one of [...input.files, ...pasted]) all.items.add(one);
    input.files = all.files;
    input.closest("details").open = true;
  });
}
