"""Types and small tools that every other package uses. They import none of them."""
