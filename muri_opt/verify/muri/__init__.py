"""Groups that share GPUs: rules, periods, value, bound."""
