"""What moves and keeps the bytes: sockets, the simulator, and the client on top of them."""
