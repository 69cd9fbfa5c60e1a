"""Many rounds: the runner, comparisons, worst cases, the instance library, explanations of gaps."""
