"""The interest-oriented overlay of seed 002: peers with content subscriptions and no broker.

One rule to understand it: *every cell's audience is a double ring*. Each peer keeps, for each cell it wants, who comes
next and who came before on the circle of random IDs. An event enters at any peer that wants its cell and runs along
those links, so it meets all who want the cell and nobody else.
"""
