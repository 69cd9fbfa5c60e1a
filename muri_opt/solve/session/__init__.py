"""A cluster from round to round: what happens to it is told as it happens, and every decision starts from the last."""
