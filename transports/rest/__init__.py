"""REST: decode a request, call the service, encode its answer."""
