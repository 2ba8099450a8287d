from .abstention import Abstention as Abstention
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
from .result_pages import (
    read_element_costs as read_element_costs,
    read_element_gains as read_element_gains,
    read_result_pages as read_result_pages,
    with_element_costs as with_element_costs,
    with_element_gains as with_element_gains,
)
from .lengths import Costs as Costs, register_costs as register_costs
from .resources import without_files as without_files
