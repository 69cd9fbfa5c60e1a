"""The command line: parse, call, print. A command imports what it needs when it runs, so that help is quick."""
