"""A server with the OpenAI interface around a local model in a hundred lines: what vLLM offers and no more.

It answers ``/v1/completions`` (token ids in and out), ``/v1/chat/completions``, ``/v1/load_lora_adapter`` and
``/v1/unload_lora_adapter``. ``trouble`` makes it fail: each entry is what a request is answered with instead.
"""

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch

from envrl.agents.adapters import load_adapter
from envrl.agents.models import LanguageModel, load_model

#: what to do with a request instead of answering it: given (number of the request, its JSON), a status and a body,
#: "hang", or None to answer it
Trouble = Callable[[int, dict[str, Any]], "tuple[int, str] | str | None"]


class Server:
    """A context manager; `url` is the base URL.

    Args:
        lm: the model that is called ``base``.
        trouble: see `Trouble`.
        ids_as_text: token ids come as ``token_id:5`` among the log-probabilities only.
    """

    def __init__(self, lm: LanguageModel, trouble: Trouble | None = None, ids_as_text: bool = False) -> None:
        self.models = {"base": lm}
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self._trouble, self._ids_as_text, self._lock = trouble, ids_as_text, threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, body = outer.answer(self.path.removeprefix("/v1/"), payload)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *args: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> "Server":
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, payload: dict[str, Any]) -> tuple[int, str]:
        with self._lock:
            self.requests.append((path, payload))
            number = len(self.requests) - 1
        trouble = self._trouble(number, payload) if self._trouble else None
        if trouble == "hang":
            time.sleep(5)
        if isinstance(trouble, tuple):
            return trouble
        if path == "load_lora_adapter":
            base, folder = self.models["base"], Path(payload["lora_path"])
            fresh = load_model(base.source)
            with self._lock:
                model = load_adapter(fresh.model, fresh.source, folder)
                self.models[payload["lora_name"]] = LanguageModel(model, base.tokenizer)
            return 200, "Success"
        if path == "unload_lora_adapter":
            del self.models[payload["lora_name"]]
            return 200, "Success"
        lm = self.models.get(payload["model"])
        if lm is None:
            return 404, f"no model {payload['model']}"
        if path == "completions":
            ids, logprobs = self._generate(lm, payload["prompt"], payload)
            listed = {"tokens": [f"token_id:{i}" for i in ids], "token_logprobs": logprobs}
            choice: dict[str, Any] = {"text": lm.decode(ids), "logprobs": listed}
            return 200, json.dumps(
                {"choices": [choice if self._ids_as_text else {**choice, "token_ids": ids}]}
            )
        prompt = lm.tokenizer.apply_chat_template(
            payload["messages"], tokenize=False, add_generation_prompt=True
        )
        prompt_ids = lm.tokenizer(prompt, add_special_tokens=False)["input_ids"]
        ids, _ = self._generate(lm, prompt_ids, payload)
        text = lm.tokenizer.decode(ids, skip_special_tokens=True)
        return 200, json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]})

    @torch.inference_mode()
    def _generate(
        self, lm: LanguageModel, prompt: list[int], payload: dict[str, Any]
    ) -> tuple[list[int], list[float]]:
        generator = torch.Generator().manual_seed(payload["seed"])
        stops = {lm.tokenizer.eos_token_id, *payload.get("stop_token_ids", ())}
        ids: list[int] = []
        logprobs: list[float] = []
        while len(ids) < payload["max_tokens"] and not (ids and ids[-1] in stops):
            logits = lm.logits(lm.hidden(torch.tensor([[*prompt, *ids]])))[0, -1]
            temperature = payload["temperature"]
            if temperature:
                ids.append(int(torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator)))
            else:
                ids.append(int(logits.argmax()))
            logprobs.append(float(logits.log_softmax(-1)[ids[-1]]))
        return ids, logprobs
