"""The endpoint policy: a server with the OpenAI interface writes responses to prompts given as token ids.

For training: ids go in, ids and their log-probabilities come out, as vLLM does it (``return_token_ids``, or
``return_tokens_as_token_ids``). What a request comes to costs no other episode: a server that is down, too slow or
talks rubbish makes a `Fault`.
"""

import math
import os
import shutil
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from envrl.agents.models import LanguageModel
from envrl.agents.policies.generate import GeneratePolicy, Response
from envrl.agents.policies.model_policy import Session
from envrl.agents.prompts import ActionMenu, EpisodeFormat, Offer
from envrl.agents.transcripts import Choice, Context
from envrl.envs.errors import EnvRLError, MissingExtra
from envrl.wrappers.faults import Fault


class EndpointError(Exception):
    """A request that came to nothing."""


class Endpoint:
    """A server with the OpenAI interface. The environment variable OPENAI_API_KEY, where set, is sent as the key.

    Args:
        url: base URL, as in ``http://localhost:8000/v1``.
        model: name of the model there.
        timeout: seconds for one request.
        tries: how often a request is sent before it counts as failed.
        parallel: requests at once.
    """

    def __init__(
        self, url: str, model: str, timeout: float = 120.0, tries: int = 3, parallel: int = 32
    ) -> None:
        try:
            import httpx
        except ImportError as error:
            raise MissingExtra(
                "endpoints need httpx; install it with: pip install 'envrl[endpoints]'"
            ) from error
        if not url or not model:
            raise EnvRLError(
                "an endpoint needs its base URL and the model's name: --endpoint and --endpoint-model"
            )
        key = os.environ.get("OPENAI_API_KEY")
        self.model, self._url, self._tries = model, url.rstrip("/"), tries
        self._client = httpx.Client(
            timeout=timeout, headers={"Authorization": f"Bearer {key}"} if key else {}
        )
        self._pool = ThreadPoolExecutor(parallel, thread_name_prefix="endpoint")
        self._failures: tuple[type[Exception], ...] = (httpx.HTTPError, httpx.InvalidURL)

    def post(self, path: str, payload: dict[str, Any]) -> Any:
        """The JSON answer to a request.

        Raises:
            EndpointError: no good answer, in all tries.
        """
        reason = ""
        for number in range(self._tries):
            if number:
                time.sleep(0.25 * 2**number)
            try:
                answer = self._client.post(f"{self._url}/{path}", json=payload)
                if answer.status_code < 400:
                    return answer.json() if answer.text.startswith(("{", "[")) else {}
                reason = f"{answer.status_code} {answer.text[:200]}"
                if answer.status_code < 500 and answer.status_code != 429:
                    break  # the request is wrong; again would be no better
            except self._failures as error:
                reason = f"{type(error).__name__}: {error}"
            except ValueError as error:
                reason = f"no JSON: {error}"
        raise EndpointError(f"{self._url}/{path}: {' '.join(reason.split())}")

    def post_all(self, path: str, payloads: Sequence[dict[str, Any]]) -> list[Any | Fault]:
        """Answers to requests sent at once; a `Fault` for each that failed."""

        def one(payload: dict[str, Any]) -> Any | Fault:
            try:
                return self.post(path, payload)
            except EndpointError as error:
                return Fault(f"endpoint: {error}")

        return list(self._pool.map(one, payloads))


class EndpointPolicy(GeneratePolicy):
    """Responses that a server writes instead of the model here, in token ids; a `ModelPolicy`.

    Args:
        endpoint: the server.
        lm: the model that learns; its tokenizer must be the server's.
        format: tokens of an episode.
        menu: which admissible actions prompts list.
        temperature: of the server's softmax. Servers report log-probabilities at temperature 1, so training needs 1.
        context: what a prompt shows.
        longest: most tokens of a response.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        lm: LanguageModel,
        format: EpisodeFormat,
        menu: ActionMenu | None = None,
        temperature: float = 1.0,
        context: Context | None = None,
        longest: int = 512,
    ) -> None:
        super().__init__(lm, format, menu, temperature, context, longest)
        self.endpoint = endpoint
        self._stale: str | None = None
        self._published: str | None = None

    def begin(self, rngs: Sequence[np.random.Generator]) -> Session:
        """Start one episode for each generator, which seeds its requests."""
        return EndpointSession(self, rngs, self._stale)

    def publish(self, folder: Path, name: str) -> None:
        """Have the server load the adapter of the model that learns (vLLM: runtime LoRA updating must be on).

        Until that works, episodes are faulted: another policy's responses would be taken for this one's.

        Args:
            folder: where adapters are written, on a file system that the server sees; the last version stays.
            name: the adapter's, new for each version.
        """
        own = folder / name
        self.lm.save(own)
        before = self.endpoint.model
        try:
            self.endpoint.post("load_lora_adapter", {"lora_name": name, "lora_path": str(own.resolve())})
        except EndpointError as error:
            self._stale = f"endpoint: {error}"
            return
        if before == self._published:
            self.endpoint.post_all("unload_lora_adapter", [{"lora_name": before}])
            shutil.rmtree(folder / before, ignore_errors=True)
        self.endpoint.model, self._published, self._stale = name, name, None


class EndpointSession:
    """Episodes in flight; the server keeps what it has computed of their prompts."""

    def __init__(
        self, policy: EndpointPolicy, rngs: Sequence[np.random.Generator], stale: str | None
    ) -> None:
        self._policy, self._rngs, self._stale = policy, list(rngs), stale

    def keep(self, rows: list[int]) -> None:
        """Drop all rows but these."""
        self._rngs = [self._rngs[row] for row in rows]

    def choose(
        self, prompts: Sequence[Sequence[int]], offers: Sequence[Offer | None]
    ) -> list[Choice | Fault | None]:
        """One response for each row that acts; see `envrl.agents.policies.model_policy.Session`."""
        acting = [row for row, offer in enumerate(offers) if offer is not None]
        out: list[Choice | Fault | None] = [None] * len(offers)
        if self._stale is not None:
            for row in acting:
                out[row] = Fault(self._stale)
            return out
        answers = self._policy.endpoint.post_all(
            "completions", [self._request(row, prompts[row]) for row in acting]
        )
        for row, answer in zip(acting, answers, strict=True):
            out[row] = answer if isinstance(answer, Fault) else self._read(answer)
        return out

    def _request(self, row: int, prompt: Sequence[int]) -> dict[str, Any]:
        policy = self._policy
        stops = {policy.format.stop, policy.lm.tokenizer.eos_token_id} - {None}
        return {
            "model": policy.endpoint.model,
            "prompt": list(prompt),
            "max_tokens": policy.longest,
            "temperature": policy.temperature,
            # a server's own defaults (vLLM: the model's generation_config.json) would sample another distribution
            "top_p": 1.0,
            "top_k": -1,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "seed": int(self._rngs[row].integers(2**31)),
            "logprobs": 1,
            "return_token_ids": True,
            "return_tokens_as_token_ids": True,
            "skip_special_tokens": False,
            "stop_token_ids": sorted(stops),
            "stop": ["</action>"],
            "include_stop_str_in_output": True,
        }

    def _read(self, answer: Any) -> Choice | Fault:
        try:
            ids, logprobs = read_completion(answer, self._policy.lm.vocabulary)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            return Fault(f"endpoint: unusable answer ({type(error).__name__}: {error})")
        response = Response(self._policy)
        for token, logprob in zip(ids, logprobs, strict=True):
            response.take(token, logprob)
            if response.done:
                break
        return response.choice()


def read_completion(answer: Any, vocabulary: int) -> tuple[list[int], list[float]]:
    """The ids and log-probabilities of a completion.

    Args:
        answer: JSON of ``/v1/completions``.
        vocabulary: ids are below it.

    Raises:
        KeyError, IndexError, TypeError, ValueError: it is not what was asked for.
    """
    choice = answer["choices"][0]
    listed = choice["logprobs"]
    ids = choice.get("token_ids")
    if ids is None:
        ids = [int(token.removeprefix("token_id:")) for token in listed["tokens"]]
    logprobs = [float(value) for value in listed["token_logprobs"]]
    if not ids or len(ids) != len(logprobs):
        raise ValueError(f"{len(ids)} token ids and {len(logprobs)} log-probabilities")
    for token, logprob in zip(ids, logprobs, strict=True):
        if type(token) is not int or not 0 <= token < vocabulary:
            raise ValueError(f"{token!r} is no id of the model")
        if not math.isfinite(logprob) or logprob > 1e-3:
            raise ValueError(f"{logprob!r} is no log-probability")
    return ids, logprobs
