// What the theme leaves open for screen readers: levels of headings in the list of pages, names of both sides.
document.addEventListener("DOMContentLoaded", () => {
  for (const heading of document.querySelectorAll("[role=heading]:not([aria-level])")) heading.setAttribute("aria-level", "2");
  for (const [side, name] of [["sidebar-drawer", "All pages"], ["toc-drawer", "On this page"]])
    document.querySelector(`aside.${side}`)?.setAttribute("aria-label", name);
});
