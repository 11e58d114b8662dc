// One episode, turn by turn.
const SIGNS = { solved: "✓", failed: "✕", faulted: "!" };
const mark = (outcome) => el("span", { class: `mark ${outcome}`, title: outcome, "aria-label": outcome }, SIGNS[outcome]);
const current = { episode: null, turn: -1, choices: false };

function showEpisode(episode) {
  current.episode = episode;
  current.turn = -1;
  const box = by("episode");
  if (!episode) {
    box.replaceChildren(el("p", { class: "empty card" }, DATA.episodes.length ? "No episode matches." : "No recorded episodes."));
    return;
  }
  const fact = (label, value) => (known(value) && value !== "" ? el("span", {}, `${label} `, el("b", {}, value)) : null);
  const surprise = mean(episode.turns.map((turn) => turn.surprise));
  const exact = episode.turns.filter((turn) => turn.prediction);
  box.replaceChildren(
    el("div", { class: "card" },
      el("div", { class: "title" }, mark(episode.outcome), el("h3", {}, episode.goal || episode.task || "An episode")),
      el("div", { class: "facts" },
        fact("task", episode.task), fact("kind", words(episode.kind)),
        fact("update", episode.update || null), fact("λ", known(episode.lambda) ? short(episode.lambda) : null),
        fact("steps", whole(episode.turns.length)), fact("return", short(episode.return)),
        exact.length ? fact("replies foreseen", `${exact.filter(foreseen).length} of ${exact.length}`) : null,
        known(surprise) ? fact("surprise", `${surprise.toFixed(2)} nats a token`) : null),
      episode.fault ? el("p", { class: "chip warn", style: { "margin-top": ".6rem", "white-space": "normal" } }, `fault: ${episode.fault}`) : null,
      strip(episode),
      episode.start ? el("div", { class: "start" }, el("span", { class: "label" }, "At the start"), el("div", { class: "prose long" }, episode.start)) : null),
    el("ol", { class: "turns" }, episode.turns.map((turn, number) => turnCard(turn, number))));
}

const mean = (values) => {
  const some = values.filter(known);
  return some.length ? some.reduce((a, b) => a + b, 0) / some.length : null;
};
const foreseen = (turn) => turn.prediction.every(([kind]) => kind === "=" || kind === "~");

// Advantages as bars up and down; without them, probabilities of the actions taken.
function strip(episode) {
  const advantages = episode.turns.some((turn) => known(turn.advantage));
  const chances = episode.turns.some((turn) => known(turn.probability));
  if (!advantages && !chances) return null;
  const most = Math.max(...episode.turns.map((turn) => Math.abs(turn.advantage ?? 0)), 1e-9);
  const bars = episode.turns.map((turn, number) => {
    const label = [`turn ${number + 1}: ${turn.action}`];
    let bar = null;
    if (advantages && known(turn.advantage)) {
      label.push(`advantage ${signed(turn.advantage)}`);
      bar = el("i", { class: turn.advantage < 0 ? "down" : "up", style: { height: `${(50 * Math.abs(turn.advantage)) / most}%` } });
    } else if (!advantages && known(turn.probability)) {
      bar = el("i", { style: { bottom: 0, height: `${100 * turn.probability}%`, "--bar": "var(--accent)" } });
    }
    if (known(turn.probability)) label.push(`probability ${percent(turn.probability)}`);
    return el("button", { type: "button", title: label.join("\n"), "aria-label": label.join(", "), onclick: () => goToTurn(number) }, bar);
  });
  return el("div", {}, el("div", { class: advantages ? "strip signed" : "strip" }, bars),
    el("div", { class: "legend" }, el("span", {}, advantages ? "advantage of each action: better up, worse down" : "probability of each action taken")));
}

function turnCard(turn, number) {
  const chips = [];
  if (known(turn.advantage)) {
    const tone = Math.abs(turn.advantage) < 0.005 ? "" : turn.advantage > 0 ? " good" : " bad";
    chips.push(el("span", { class: `chip${tone}`, title: "advantage of this action in the update that learned from it" }, `A ${signed(turn.advantage)}`));
  }
  if (known(turn.value)) chips.push(el("span", { class: "chip", title: "value of the state before the action, by the critic" }, `V ${signed(turn.value)}`));
  if (turn.reward) chips.push(el("span", { class: `chip ${turn.reward > 0 ? "good" : "bad"}` }, `reward ${short(turn.reward)}`));
  if (turn.status && turn.status !== "ok") chips.push(el("span", { class: "chip warn" }, words(turn.status)));
  if (turn.fault) chips.push(el("span", { class: "chip warn", style: { "white-space": "normal" } }, `fault: ${turn.fault}`));
  return el("li", { class: "turn", id: `turn-${number + 1}`, onclick: () => selectTurn(number) },
    el("span", { class: "number" }, String(number + 1)),
    el("div", {},
      el("div", { class: "act" }, el("code", {}, turn.action), chance(turn), chips),
      turn.choices ? choiceTable(turn) : null,
      reply(turn)));
}

function chance(turn) {
  if (!known(turn.probability)) return null;
  const button = el("button", {
    type: "button", class: "chip chance", "aria-expanded": String(current.choices), style: { "--share": percent(turn.probability).replace(" ", "") },
    title: `${turn.rank}. of ${turn.offered} actions in the newest model; show the others`,
    onclick: () => {
      const table = button.closest(".turn").querySelector(".choices");
      table.hidden = !table.hidden;
      button.setAttribute("aria-expanded", String(!table.hidden));
    },
  }, el("i", {}), el("b", {}, percent(turn.probability)), `${turn.rank} of ${turn.offered}`);
  return button;
}

function choiceTable(turn) {
  const rest = 1 - turn.choices.reduce((sum, [, share]) => sum + share, 0);
  const others = turn.offered - turn.choices.length;
  return el("table", { class: "choices", hidden: !current.choices },
    turn.choices.map(([action, share]) => el("tr", { class: action === turn.action ? "taken" : "" },
      el("td", {}, meter(share, 1)), el("td", {}, el("code", {}, action)))),
    others > 0 ? el("tr", {}, el("td", {}, meter(Math.max(rest, 0), 1)), el("td", { class: "hint" }, `${others} more`)) : null);
}

function reply(turn) {
  const real = (children) => el("div", { class: "prose long" }, children);
  if (!turn.prediction) {
    return turn.observation ? el("div", { class: "pair same" }, el("div", {}, el("span", { class: "label" }, "Reply"), real(turn.observation))) : null;
  }
  const nats = known(turn.surprise) ? ` · ${turn.surprise.toFixed(2)} nats a token` : "";
  if (foreseen(turn)) {
    return el("div", { class: "pair same" }, el("div", {},
      el("span", { class: "label" }, `Reply, foreseen word by word${nats}`),
      real(turn.prediction.map(([kind, text]) => (kind === "~" ? el("span", { class: "beyond" }, text) : text)))));
  }
  const side = (without, tone) => turn.prediction.filter(([kind]) => kind !== without).map(([kind, text]) => {
    if (kind === "=") return text;
    return kind === "~" ? (without === "+" ? null : el("span", { class: "beyond", title: "longer than what is predicted" }, text)) : el("mark", { class: tone }, text);
  });
  return el("div", { class: "pair" },
    el("div", { class: "predicted" }, el("span", { class: "label" }, "Predicted"), real(side("+", "wrong"))),
    el("div", { class: "real" }, el("span", { class: "label" }, `Real${nats}`), real(side("-", "missed"))));
}

function selectTurn(number) {
  current.turn = number;
  by("episode").querySelectorAll(".turn, .strip button").forEach((node) => node.removeAttribute("aria-current"));
  by(`turn-${number + 1}`)?.setAttribute("aria-current", "true");
  by("episode").querySelectorAll(".strip button")[number]?.setAttribute("aria-current", "true");
}
function goToTurn(number) {
  const last = (current.episode?.turns.length ?? 0) - 1;
  if (last < 0) return;
  selectTurn(Math.min(last, Math.max(0, number)));
  by(`turn-${current.turn + 1}`).scrollIntoView({ block: "nearest", behavior: "instant" });
}
function toggleChoices() {
  current.choices = !current.choices;
  by("episode").querySelectorAll(".choices").forEach((table) => (table.hidden = !current.choices));
  by("episode").querySelectorAll(".chance").forEach((button) => button.setAttribute("aria-expanded", String(current.choices)));
}
