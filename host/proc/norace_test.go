//go:build !race

package proc

// raceDetector says that memory and times are not what they are.
const raceDetector = false
