"""A cross-encoder of sentence-transformers with random weights, for tests: nothing is downloaded."""

import re
from pathlib import Path

WORDS = ["users", "read", "time", "words", "gain", "of", "rank", "leave", "a", "user", "leaves"]


def write_model(folder: Path, texts: list[str] = (), seed: int = 0) -> None:
    """Write a BERT with one layer and a vocabulary of whole words to a folder, as ``CrossEncoder(folder)`` reads it."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    words = dict.fromkeys([*WORDS, *re.findall(r"\w+", " ".join(texts).lower())])
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    torch.manual_seed(seed)
    size = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2, "num_hidden_layers": 1}
    config = BertConfig(vocab_size=len(vocabulary), num_labels=1, max_position_embeddings=256, **size)
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=256).save_pretrained(folder)
