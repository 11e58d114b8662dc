// The list of episodes and what narrows it down.
const OUTCOMES = [["all", "All"], ["solved", "Solved"], ["failed", "Failed"], ["faulted", "Faulted"]];
const filter = { outcome: "all", kind: "", text: "" };
let listed = [];
let pressOutcome = () => {};

function showEpisodes() {
  const all = DATA.episodes;
  const notes = DATA.notes;
  by("episodes-hint").textContent = [
    notes.recorded ? `${all.length} of ${whole(notes.recorded)} recorded episodes.` : "",
    notes.model ? `Probabilities and predictions are those of checkpoint ${notes.model}.` : "",
    notes.model_missing ?? "",
  ].filter(Boolean).join(" ");
  all.forEach((episode) => {
    episode.haystack = [episode.goal, episode.task, ...episode.turns.map((turn) => turn.action)].join("\n").toLowerCase();
  });
  const there = new Set(all.map((episode) => episode.outcome));
  const options = OUTCOMES.filter(([outcome]) => outcome !== "faulted" || there.has("faulted"));
  pressOutcome = segments(by("outcome"), options, "all", (outcome) => narrow({ outcome }));
  const kinds = [...new Set(all.map((episode) => episode.kind))].filter(Boolean).sort();
  by("kind").append(el("option", { value: "" }, "All kinds of task"), ...kinds.map((kind) => el("option", { value: kind }, words(kind))));
  by("kind").hidden = !kinds.length;
  by("kind").addEventListener("change", (event) => narrow({ kind: event.target.value }));
  by("search").addEventListener("input", (event) => narrow({ text: event.target.value.trim().toLowerCase() }));
  narrow({});
}

function narrow(change) {
  Object.assign(filter, change);
  listed = DATA.episodes.filter((episode) =>
    (filter.outcome === "all" || episode.outcome === filter.outcome) &&
    (!filter.kind || episode.kind === filter.kind) && episode.haystack.includes(filter.text));
  by("count").textContent = plural(listed.length, "episode");
  by("episode-list").replaceChildren(...listed.map((episode) => el("li", {},
    el("button", { type: "button", onclick: () => open(episode) }, mark(episode.outcome),
      el("span", { class: "goal" }, episode.goal || episode.task),
      el("small", {}, [plural(episode.turns.length, "step"), episode.update ? `update ${episode.update}` : "", words(episode.kind)].filter(Boolean).join(" · "))))));
  by("episode-list").hidden = !listed.length;
  open(listed.includes(current.episode) ? current.episode : listed[0] ?? null);
}

function open(episode) {
  [...by("episode-list").querySelectorAll("button")].forEach((button, number) => {
    if (listed[number] === episode) {
      button.setAttribute("aria-current", "true");
      const list = by("episode-list"), item = button.parentElement;
      if (item.offsetTop < list.scrollTop || item.offsetTop + item.offsetHeight > list.scrollTop + list.clientHeight)
        list.scrollTop = item.offsetTop - list.clientHeight / 2;
    } else button.removeAttribute("aria-current");
  });
  if (episode !== current.episode || !by("episode").hasChildNodes()) showEpisode(episode);
}

function moveEpisode(by_) {
  if (!listed.length) return;
  open(listed[Math.min(listed.length - 1, Math.max(0, listed.indexOf(current.episode) + by_))]);
}
function nextOutcome() {
  const names = [...by("outcome").querySelectorAll("button")].map((button) => button.dataset.value);
  pressOutcome(names[(names.indexOf(filter.outcome) + 1) % names.length]);
}
