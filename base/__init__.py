"""Types and small tools that every room uses and that depend on none of them."""
