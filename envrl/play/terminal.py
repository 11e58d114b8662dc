"""The terminal face of a `Session`: shows the game with rich, reads actions and ``:commands``, loops."""

from collections.abc import Callable
from dataclasses import dataclass

from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from envrl.play.reading import Reader
from envrl.play.session import Session

_RECENT = 8
_AFTERWARDS = ":restart plays it again, :new starts another, :undo takes the last step back, :quit leaves."


@dataclass
class Terminal:
    """Plays a session to its end.

    Args:
        session: the game; already begun.
        reader: where lines come from.
        console: where the game is shown.
        on_game_end: called once for each game that ends or is left, before its turns are forgotten.
    """

    session: Session
    reader: Reader
    console: Console
    on_game_end: Callable[[], None] = lambda: None

    def loop(self) -> None:
        """Play until ``:quit`` or the end of input."""
        self.console.print("Type an action, or :help. Tab completes.", style="dim", highlight=False)
        self._show_start()
        try:
            while (line := self._read()) is not None:
                if line.startswith(":") or line == "?":
                    if not self._command(line.lstrip(":")):
                        break
                elif line:
                    self._act(line)
        finally:
            self._leave_game()

    # ---- actions and commands --------------------------------------------------------------------------

    def _read(self) -> str | None:
        try:
            return self.reader.read(self.session).strip()
        except EOFError:
            return None

    def _act(self, action: str) -> None:
        session = self.session
        if session.over:
            self._say(f"The game is over. {_AFTERWARDS}")
            return
        status = session.act(action).next_info["action_status"]
        self._show_observation()
        if status in ("malformed", "inadmissible"):
            self._say(f"({status}; :actions lists what is possible)")
        if session.over:
            self._show_end()

    def _command(self, word: str) -> bool:
        """Carry out a command; False ends the loop."""
        session = self.session
        match word:
            case "quit" | "q":
                return False
            case "help" | "h" | "?":
                self._show_help()
            case "actions" | "a":
                self._show_actions()
            case "goal":
                self._say(session.info["goal"])
            case "history":
                self._show_history()
            case "hint":
                hint = session.hint()
                self._say(f"The expert would do: {hint}" if hint else "No expert knows a way from here.")
            case "undo" | "u":
                if session.undo():
                    self._say("Taken back.")
                    self._show_observation()
                else:
                    self._say("Nothing to take back.")
            case "restart" | "new":
                self._leave_game()
                if word == "restart":
                    session.restart()
                else:
                    session.begin()
                self._show_start()
            case _:
                self._say(f"Unknown command :{word}. :help lists the commands.")
        return True

    def _leave_game(self) -> None:
        if self.session.turns:
            self.on_game_end()
            self.session.turns.clear()  # so that no game is handed over twice

    # ---- what is shown ---------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        self.console.print(Text(text, style="dim"))

    def _show_start(self) -> None:
        info = self.session.info
        title = Text.assemble("goal", style="bold")
        body = Text.assemble((info["goal"], "bold"), "\n", (info["task_id"], "dim"))
        self.console.print(Panel(body, title=title, title_align="left"))
        self._show_observation()

    def _show_observation(self) -> None:
        self.console.print(Text(self.session.observation))

    def _show_end(self) -> None:
        session = self.session
        if session.info["is_success"]:
            style = "bold green"
        elif session.info["fault"] is not None:
            style = "bold red"
        else:
            style = "bold yellow"
        self.console.print(Text(session.outcome(), style=style))
        self._say(
            ":restart plays it again, :new starts another, :undo takes the last step back, :quit leaves."
        )

    def _show_actions(self) -> None:
        info = self.session.info
        actions = [Text(a) for a in (*info["admissible_actions"], *info["action_templates"])]
        if self.console.is_terminal:
            self.console.print(Columns(actions, equal=True, column_first=True, padding=(0, 3)))
        else:
            for action in actions:
                self.console.print(action)

    def _show_history(self) -> None:
        turns = self.session.turns
        first = max(0, len(turns) - _RECENT)
        for number, turn in enumerate(turns[first:], first + 1):
            reward = f"  [{turn.reward:+g}]" if turn.reward else ""
            self.console.print(
                Text.assemble((f"{number:>3} > {turn.action}{reward}\n", "bold"), turn.next_observation)
            )
        if not turns:
            self._say("Nothing done yet.")

    def _show_help(self) -> None:
        rows = (
            (":actions", "what is possible now"),
            (":hint", "what the expert would do (F2)"),
            (":undo", "take the last step back (F3)"),
            (":history", f"the last {_RECENT} steps"),
            (":goal", "the goal once more"),
            (":restart", "the same task from its beginning"),
            (":new", "another task"),
            (":quit", "leave (Ctrl-D)"),
        )
        for name, meaning in rows:
            self.console.print(Text.assemble((f"  {name:<10}", "bold"), meaning))
