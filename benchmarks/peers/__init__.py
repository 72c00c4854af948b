"""What runs in a Python of the peers: it imports numpy and the peer, and nothing of ours."""
