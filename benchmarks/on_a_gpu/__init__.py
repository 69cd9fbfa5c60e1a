"""Interleaving on a real GPU: what was measured, against what is predicted, and a script to measure two models."""
