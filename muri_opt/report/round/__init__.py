"""A round and its decision as a picture."""
