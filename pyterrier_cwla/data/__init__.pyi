from .document_tables import without_files as without_files
from .duplicates import (
    Duplicates as Duplicates,
    find_duplicates as find_duplicates,
    register_duplicates as register_duplicates,
)
from .intents import IntentWeights as IntentWeights, register_intent_weights as register_intent_weights
from .lengths import (
    Lengths as Lengths,
    lengths_of_index as lengths_of_index,
    lengths_of_texts as lengths_of_texts,
    register_lengths as register_lengths,
)
