// Cookies know no ports: every server on this machine that the browser visits is handed ours. So a
// login is sealed with a secret that only pages of this very address can read, and each form that
// changes something carries it.

const NAME = "gatebell-seal";

function make() {
  const made = [...crypto.getRandomValues(new Uint8Array(32))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  localStorage.setItem(NAME, made);
  return made;
}

let seal = "";
try {
  seal = localStorage.getItem(NAME) ?? make();
} catch {
  // No storage here: the login is not sealed, and works by its cookie alone.
}
// Only into bodies: a form that is not posted puts its fields into the address. The attribute is
// read, because a field called "method" would replace the property.
const isPosted = (form) => form.getAttribute("method")?.toLowerCase() === "post";
document.addEventListener("formdata", ({ target, formData }) => { if (seal && isPosted(target)) formData.set("seal", seal); });
