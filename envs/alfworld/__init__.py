"""ALFWorld: household tasks in text, as a native engine and through the original stack."""
