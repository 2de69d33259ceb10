package config

import "os"

// writers says nothing: access lists are not in the mode bits, and the file lies in the user's profile.
func writers(os.FileInfo) (warning, refuse string) { return "", "" }
