// The head of the page, the tiles below it, and all settings at its end.
function showHead() {
  const s = DATA.settings;
  by("name").textContent = DATA.name;
  by("subtitle").textContent = [s.env, s.model && String(s.model), s.algorithm, s.policy && `${s.policy} policy`, known(s.seed) ? `seed ${s.seed}` : ""]
    .filter(Boolean).join(" · ");
  const last = DATA.evaluations.at(-1);
  const metric = (key) => (DATA.metrics[key] ?? []).at(-1);
  const faulted = (DATA.metrics["rollout/faulted"] ?? []).reduce((a, b) => a + (b ?? 0), 0);
  const tiles = [
    last && ["Held-out success", percent(last.success_rate), `${percent(last.low)} to ${percent(last.high)}, ${last.stage}`],
    ["Updates", known(s.updates) ? `${whole(DATA.update)} of ${whole(s.updates)}` : null, DATA.stage && `stage: ${DATA.stage}`],
    ["Training success", percent(metric("train/success_rate")), "in the last update"],
    ["Environment steps", short(metric("env_steps")), "demonstrations included"],
    ["Time", duration(metric("wall_s")), known(metric("env_steps")) ? `${short(metric("env_steps") / metric("wall_s"))} steps a second` : ""],
    ["Faulted episodes", DATA.update ? whole(faulted) : null, "masked, not learned from"],
  ].filter((tile) => tile && tile[1] && tile[1] !== "–");
  by("summary").append(...tiles.map(([label, value, more]) => el("dl", { class: "tile" }, el("dt", {}, label), el("dd", {}, value, el("small", {}, more ?? "")))));
}

function showSettings() {
  const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  by("settings-table").append(
    el("dl", { class: "columns" }, Object.entries(DATA.settings).map(([name, value]) =>
      el("div", { class: "setting" }, el("dt", {}, name), el("dd", {}, text(value))))),
    el("p", { class: "hint", style: { "margin-top": "1rem" } }, `Made by envrl ${DATA.version}. This file is complete: it asks nothing of any network.`));
}
