// Each link is opened as an address is, without leaving the page.
links => links.map(link => {
  readAddress(link);
  show();
  const texts = (id) => [...document.querySelectorAll(`#${id} [data-text]`)];
  const seen = (id) => texts(id).map(item => item.textContent);
  const terms = [...document.querySelectorAll("[data-term]:not([hidden])")];
  const { dataset, textContent } = document.getElementById("time");
  const fault = document.getElementById("fault").textContent;
  const found = fault ? null : computed(choiceOfForm().gpu, choiceOfForm());
  // A table says the errors, which are a note of the command.
  const notes = found ? sentencesOf(found, "note") : [];
  const shown = notes.filter(text => !text.startsWith("held-out error: "));
  if (found && shown.join() !== seen("notes").join()) throw new Error(`shown: ${seen("notes").join()}`);
  return { fault, shown: textContent, ...dataset,
    cost: found ? found.values.cost : null, notes,
    warnings: seen("warnings"), shares: terms.map(row => Number(row.dataset.seconds)) };
})
