package httpapi

// decisionsPath is the one path whose errors have Shape B.
const decisionsPath = "/v1/systemone"
