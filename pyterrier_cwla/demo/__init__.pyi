from .experiment import (
    BM25 as BM25,
    Collection as Collection,
    PreferShort as PreferShort,
    collection as collection,
    compare as compare,
    measures as measures,
    remark as remark,
    run as run,
    systems as systems,
)
