"""HTTP layers that every request passes: limits, headers, validation, timing slots, the access log, problem details."""
