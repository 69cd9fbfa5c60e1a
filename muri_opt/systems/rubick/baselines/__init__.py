"""What Rubick is compared with: Synergy, AntMan, Sia, equal shares."""
