//go:build !race

package mysql

const raceDetector = false
