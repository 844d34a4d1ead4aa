package storage

// TrimEntries removes old publish entries.
func TrimEntries(e *Engine) error { return e.trimEntries() }
