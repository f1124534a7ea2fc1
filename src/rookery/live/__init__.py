"""What moves and keeps the bytes: sockets, disks, and the clients on top of them."""
