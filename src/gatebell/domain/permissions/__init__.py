"""Tool calls and the rules about them."""
