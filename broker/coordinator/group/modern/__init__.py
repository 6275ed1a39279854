"""Parts of the groups of KIP-848 and later that know no type of group."""
