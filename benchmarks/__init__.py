"""What Interlace costs, measured beside the raw engine or a peer in the same run."""
