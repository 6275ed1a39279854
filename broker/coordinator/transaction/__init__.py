"""Transaction coordinator: transactional ids, their transactions and end markers, stored in ``__transaction_state``."""
