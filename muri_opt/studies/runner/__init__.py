"""What every study needs: where runs are done, how they are kept so that a kill loses nothing, and their tables."""
