"""Meaning as numbers: a static model that lies in a wheel, read with numpy and tokenizers. Nothing is downloaded.

A word is one vector; a text is the mean of its words. The extra `signoff[embedding]` brings the files; without it
`load()` gives None and the memory goes by words alone.
"""

import importlib
import importlib.util
import json
import struct
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

_AT_ONCE = 512  # texts that are added up together
MOST_TOKENS = 128  # of a text; the rest of it is left to the words
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


class Embedding:
    """Arrays are numpy's; whoever has no numpy has no Embedding. Nothing is loaded before the first text: most runs begin
    with a memory that has nothing to say."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def numpy(self) -> Any:
        return importlib.import_module("numpy")

    @cached_property
    def _tokenizer(self) -> Any:
        tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(str(self._folder / _TOKENIZER))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    @cached_property
    def _weights(self) -> Any:
        return _matrix(self.numpy, (self._folder / _WEIGHTS).read_bytes())

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        return [code.ids[:MOST_TOKENS] for code in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def means(self, tokens: Sequence[Sequence[int]]) -> Any:
        """The direction of each text, a row each; zero for a text without words."""
        numpy = self.numpy
        result = numpy.zeros((len(tokens), self._weights.shape[1]), numpy.float32)
        for start in range(0, len(tokens), _AT_ONCE):
            part = tokens[start : start + _AT_ONCE]
            filled = [place for place, numbers in enumerate(part, start) if numbers]
            flat = numpy.array([number for numbers in part for number in numbers], dtype=numpy.int64)
            if filled:
                starts = numpy.cumsum([0, *(len(numbers) for numbers in part if numbers)])[:-1]
                result[filled] = numpy.add.reduceat(self._weights[flat].astype(numpy.float32), starts, axis=0)
        return self.unit(result)

    def words(self, words: Sequence[str]) -> Any:
        """One direction for each word."""
        return self.means(self.tokens(words))

    def each(self, tokens: Any) -> Any:
        """One direction for each token."""
        return self.unit(self._weights[tokens].astype(self.numpy.float32))

    def unit(self, vector: Any) -> Any:
        return vector / (self.numpy.linalg.norm(vector, axis=-1, keepdims=True) + 1e-9)


@lru_cache(maxsize=1)
def load() -> Embedding | None:
    """The model, or None where the extra is not installed. The wheel's own code is not run: only its files are read."""
    found = importlib.util.find_spec("wordllama")
    if found is None or not found.submodule_search_locations:
        return None
    folder = Path(found.submodule_search_locations[0])
    installed = all(importlib.util.find_spec(name) for name in ("numpy", "tokenizers"))
    there = all((folder / name).is_file() for name in (_WEIGHTS, _TOKENIZER))
    return Embedding(folder) if installed and there else None


def _matrix(numpy: Any, data: bytes) -> Any:
    """The one matrix of a safetensors file."""
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    (entry,) = (value for name, value in header.items() if name != "__metadata__")
    if entry["dtype"] != "F16":
        raise ValueError(f"unexpected kind of number {entry['dtype']}")
    start, end = entry["data_offsets"]
    return numpy.frombuffer(data[8 + size + start : 8 + size + end], dtype=numpy.float16).reshape(entry["shape"])
