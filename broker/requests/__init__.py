"""From a request's bytes to its response's: decoding, dispatch, errors, and what handlers share."""
