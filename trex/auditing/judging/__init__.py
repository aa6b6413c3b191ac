"""What other scenes say of the families: which are confirmed, how often they fail, where the mistakes stay."""
