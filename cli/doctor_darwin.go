package cli

const killText = "process group and marker: a process that leaves both outlives a kill"
