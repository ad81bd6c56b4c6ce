// Files that are dropped or chosen. They are parsed and checked; nothing in them is ever run.
const MOST_BYTES = 1e6;
const READERS = { custom: readCustom, runs: readRuns };
const readFile = async (id, file) => {
  const said = field(`${id}-said`);
  try {
    if (file.size > MOST_BYTES) throw new RangeError(`expected at most 1 MB, got ${shown(file.size / 1e6)} MB`);
    said.textContent = READERS[id](await file.text(), file.name);
    said.classList.remove("fault");
  } catch (fault) {
    said.textContent = `${file.name}: ${fault instanceof RangeError ? fault.message : "the file cannot be read"}.`;
    said.classList.add("fault");
  }
};
const startFiles = () => {
  for (const id of Object.keys(READERS))
    field(id).addEventListener("change", async () => {
      for (const file of field(id).files) await readFile(id, file);
      field(id).value = "";
    });
  for (const kind of ["dragover", "dragleave", "drop"])
    document.addEventListener(kind, (event) => {
      event.preventDefault();
      document.body.classList.toggle("dropping", kind === "dragover");
    });
  document.addEventListener("drop", async ({ dataTransfer }) => {
    for (const file of dataTransfer.files) await readFile(/\.csv$/i.test(file.name) ? "runs" : "custom", file);
  });
};
