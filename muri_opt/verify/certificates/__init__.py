"""Proofs that stand on their own: matchings, rankings, knapsacks, the elastic optimum."""
