// Equations: KaTeX draws the LaTeX that stands in the page.
document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll(".tex")) {
    katex.render(place.textContent, place, {displayMode: place.tagName === "DIV", throwOnError: false});
  }
});
