from .formats import (
    find_runs as find_runs,
    read_duplicates as read_duplicates,
    read_lengths as read_lengths,
    read_qrels as read_qrels,
    read_run as read_run,
)
