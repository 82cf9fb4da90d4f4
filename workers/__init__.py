"""What follows the log and works on its own: the Git archive and the embeddings."""
