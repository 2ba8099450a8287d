"""Document ids and document lengths in the files of a PISA index, without the package pyterrier-pisa."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import BadParameter, MalformedFile
from .memory_limit import open_file


def read_pisa_index(folder: Path) -> pa.Table:
    """Return the columns doc_id and doc_length (words) of a PISA index.

    ``inv.sizes`` has the number of documents and their lengths as unsigned integers of 32 bits, ``fwd.documents`` a
    document id per line. The forward index ``fwd`` is missing if the index was made from token weights.

    Raises
    ------
    BadParameter
        If the index was made from token weights.
    MalformedFile
        If a file is missing, or if the files do not fit together.
    """
    try:
        with open_file(folder / "inv.sizes") as lengths, open_file(folder / "fwd.documents") as documents:
            sizes = np.fromfile(lengths, "<u4")
            text = pa.array([documents.read().decode()], pa.large_string())
    except (OSError, UnicodeDecodeError) as error:
        raise MalformedFile(f"{folder}: this PISA index is not built, or is damaged ({error}).") from error
    ids = pc.split_pattern(text, "\n").flatten()[:-1]
    if len(sizes) != 1 + len(ids) or sizes[0] != len(ids):
        raise MalformedFile(
            f"{folder}: inv.sizes has {max(len(sizes) - 1, 0):,} lengths of documents, and fwd.documents has"
            f" {len(ids):,} ids. Build the index again."
        )
    if not (folder / "fwd").exists():
        raise BadParameter(
            f"{folder}: this PISA index has no forward index, so it was made from token weights, whose sums are not"
            " words. Count the words of the texts with lengths_of_texts."
        )
    return pa.table({"doc_id": ids, "doc_length": sizes[1:].astype(float)})
