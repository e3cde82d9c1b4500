"""The kinds of resources that Steward keeps, one folder each, with the same verbs: observe, plan (pure), act."""
