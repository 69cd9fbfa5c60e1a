"""Execution plans and configurations, of Rubick, AITurbo and others: rules, value, bound, optimum."""
