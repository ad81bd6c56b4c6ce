// What the theme leaves open for screen readers: levels of headings in the list of pages, names of both sides.
document.addEventListener("DOMContentLoaded", () => {
  for (const heading of document.querySelectorAll("[role=heading]:not([aria-level])")) heading.setAttribute("aria-level", "2");
  for (const [side, name] of [["sidebar-drawer", "All pages"], ["toc-drawer", "On this page"]])
    document.querySelector(`aside.${side}`)?.setAttribute("aria-label", name);
});

// A page of more than this height, in pixels, on a narrow screen has its sections folded, other than the one asked for.
const TALL = 8000;
const openTarget = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (const folded of document.querySelectorAll("article section > details"))
    folded.open ||= folded.parentElement.contains(target);
  target?.scrollIntoView();
};
const fold = (heading) => {
  const [details, summary] = [document.createElement("details"), document.createElement("summary")];
  details.append(summary, ...[...heading.parentElement.childNodes].filter((node) => node !== heading));
  heading.parentElement.append(details);
  summary.append(heading);
};
window.addEventListener("load", () => {
  if (window.innerWidth > 736 || document.documentElement.scrollHeight <= TALL) return;
  document.querySelectorAll("article section > h2").forEach(fold);
  openTarget();
  window.addEventListener("hashchange", openTarget);
});
