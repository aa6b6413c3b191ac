"""What an audit finds, beside other methods on the same pictures."""
