"""Shapes of models that are often trained, as their public configurations have them, for planning without a network."""

from typing import Any

_QWEN2 = {
    "model_type": "qwen2",
    "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-6,
    "bos_token_id": 151643,
    "eos_token_id": 151645,
}


def _qwen2(
    hidden: int, intermediate: int, layers: int, heads: int, kv: int, tied: bool, vocabulary: int = 151936
) -> dict[str, Any]:
    return {
        **_QWEN2,
        "vocab_size": vocabulary,
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "tie_word_embeddings": tied,
    }


#: hub name -> what its config.json says of the shape
KNOWN_MODELS: dict[str, dict[str, Any]] = {
    "Qwen/Qwen2.5-0.5B-Instruct": _qwen2(896, 4864, 24, 14, 2, tied=True),
    "Qwen/Qwen2.5-1.5B-Instruct": _qwen2(1536, 8960, 28, 12, 2, tied=True),
    "Qwen/Qwen2.5-3B-Instruct": _qwen2(2048, 11008, 36, 16, 2, tied=True),
    "Qwen/Qwen2.5-7B-Instruct": _qwen2(3584, 18944, 28, 28, 4, tied=False, vocabulary=152064),
}
