"""Who made a plugin: keys, signatures in minisign's form, and whom the user trusts."""
