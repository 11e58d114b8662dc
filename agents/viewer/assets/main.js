// Puts the parts together, and the keyboard over all of them.
function dark() {
  const set = document.documentElement.dataset.theme;
  return set ? set === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
function showTheme() {
  by("theme").textContent = dark() ? "☀" : "☾";
}
function toggleTheme() {
  document.documentElement.dataset.theme = dark() ? "light" : "dark";
  showTheme();
}
function goToSection(id) {
  by(id).scrollIntoView();
  by(id).focus({ preventScroll: true });
}

const KEYS = {
  j: () => goToTurn(current.turn + 1),
  k: () => goToTurn(current.turn - 1),
  n: () => moveEpisode(1),
  p: () => moveEpisode(-1),
  a: toggleChoices,
  f: nextOutcome,
  t: toggleTheme,
  "?": () => by("help").showModal(),
  "/": () => { by("search").focus(); by("search").select(); },
  1: () => goToSection("curves"),
  2: () => goToSection("evaluations"),
  3: () => goToSection("episodes"),
  4: () => goToSection("settings"),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || by("help").open) return;
  if (event.target.matches("input, select, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const action = KEYS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});
by("theme").addEventListener("click", toggleTheme);
by("help-open").addEventListener("click", KEYS["?"]);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);

showTheme();
showHead();
showCharts();
showEvaluations();
showEpisodes();
showSettings();
document.body.dataset.ready = "yes";
